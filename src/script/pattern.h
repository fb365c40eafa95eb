/* Cache of compiled regular expressions, kept by a worker between calls. One thread at a time. */
#pragma once
#include "base/regex.h"

enum { PATTERN_KEPT = 64, PATTERN_KEPT_MAX = 4096 /* bytes of a pattern worth caching */ };

/* Initialize with zeros. The hash of a pattern selects its slot and replaces the pattern there. */
typedef struct Pattern { char *text; size_t n; unsigned flags; Regex *re; } Pattern;
typedef struct Patterns { Pattern slot[PATTERN_KEPT]; } Patterns;

/* Returns the compiled pattern, valid until the next call of this function; NULL on failure. If `patterns` is NULL or
 * the pattern is long, sets *own, which the caller must free (regex_free of *own is correct in any case). */
const Regex *pattern_get(Patterns *patterns, Str pattern, unsigned flags, Regex **own, Error *err);
void pattern_clear(Patterns *patterns);
