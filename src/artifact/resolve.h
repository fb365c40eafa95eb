/* What can only be checked, or done, once everything is loaded. */
#pragma once
#include "artifact/loader.h"

/* Overrides take their places; then names must be unique and references lead somewhere. Reports; adds hints. */
void resolve_project(Loader *l);
