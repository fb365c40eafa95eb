/* Compiled regular expressions that a worker keeps between calls. One thread at a time. */
#pragma once
#include "base/regex.h"

enum { PATTERN_KEPT = 64, PATTERN_KEPT_MAX = 4096 /* bytes of a pattern worth keeping */ };

/* Zero-initialise. `slot` is found by hash; another pattern of the same slot takes its place. */
typedef struct Pattern { char *text; size_t n; unsigned flags; Regex *re; } Pattern;
typedef struct Patterns { Pattern slot[PATTERN_KEPT]; } Patterns;

/* The pattern compiled; NULL on failure. It stays valid until the next call of this; `patterns` NULL or a long pattern: *own is
 * set, and the caller frees it (regex_free of *own is right in any case). */
const Regex *pattern_get(Patterns *patterns, Str pattern, unsigned flags, Regex **own, Error *err);
void pattern_clear(Patterns *patterns);
