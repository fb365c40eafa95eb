/* Names of the built-in tools (builtin_names.def). */
#pragma once
#include "base/str.h"

bool builtin_names_has(Str name);                    /* any of them */
const Str *builtin_names_list(size_t *n);            /* those that builtin_tools may list */
