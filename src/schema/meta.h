/* The meta-schemas of draft 2020-12, as JSON text. */
#pragma once
#include "base/str.h"

Str meta_document(Str uri);              /* .at is NULL if the URI is unknown */
