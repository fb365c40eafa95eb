/* String methods that lib_string.c lists in its table and other files implement. */
#pragma once
#include "starlark/vm/native.h"

/* lib_string_case.c */
NativeFn lib_string_capitalize, lib_string_lower, lib_string_title, lib_string_upper;
NativeFn lib_string_isalnum, lib_string_isalpha, lib_string_isdigit, lib_string_isspace;
NativeFn lib_string_islower, lib_string_istitle, lib_string_isupper;

/* lib_string_split.c */
NativeFn lib_string_partition, lib_string_rpartition, lib_string_split, lib_string_rsplit, lib_string_splitlines;

/* lib_string_strip.c */
NativeFn lib_string_strip, lib_string_lstrip, lib_string_rstrip;
