/* Substring search: linear time for any input, and interruptible. */
#pragma once
#include "starlark/vm/work.h"

/* *at is the offset of the first (last) occurrence of needle in hay, or -1. An empty needle occurs
 * at 0 (at hay.n). */
bool search_first(Work *w, Str hay, Str needle, ptrdiff_t *at, Error *err);
bool search_last(Work *w, Str hay, Str needle, ptrdiff_t *at, Error *err);

/* Counts non-overlapping occurrences of needle (not empty) in hay, from the left. */
bool search_count(Work *w, Str hay, Str needle, size_t *count, Error *err);

/* Counts the characters of s; an invalid byte counts as one. */
bool search_characters(Work *w, Str s, size_t *count, Error *err);
