/* Writes the script reference as a Markdown page (docs/reference/starlark.md). */
#pragma once
#include "base/error.h"
#include "base/str.h"

bool reference_page(Buf *out, Error *err);
