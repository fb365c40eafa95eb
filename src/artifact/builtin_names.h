/* Names of the built-in tools (builtin_names.def). */
#pragma once
#include "base/str.h"

bool builtin_names_has(Str name);                    /* any of them */
/* True if a tool of the project may not have this name. `builtin_tools`: the names that the project lists. */
bool builtin_names_taken(Str name, const Str *builtin_tools, size_t n);
const Str *builtin_names_list(size_t *n);            /* those that builtin_tools may list */
