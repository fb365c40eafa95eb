/* The sections of harness.md, key by key: types, ranges, choices. */
#pragma once
#include "artifact/loader.h"

void settings_check(Loader *l, const LoaderPlace *at);                   /* reports */
/* The LoaderPlace of `map`, which is the value at `key` of at->map. */
LoaderPlace settings_check_below(Loader *l, const LoaderPlace *at, const char *key, Value map);
bool settings_check_number(Value v, double *out);                        /* false if it is not a number */
