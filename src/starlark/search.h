/* Finding text in text, in linear time whatever the input, interruptibly. */
#pragma once
#include "starlark/work.h"

/* *at is the offset of the first (last) place where needle stands in hay, or -1. An empty needle
 * stands at 0 (at hay.n). */
bool search_first(Work *w, Str hay, Str needle, ptrdiff_t *at, Error *err);
bool search_last(Work *w, Str hay, Str needle, ptrdiff_t *at, Error *err);

/* How often needle (not empty) stands in hay, without overlap, from the left. */
bool search_count(Work *w, Str hay, Str needle, size_t *count, Error *err);

/* Characters of s; an invalid byte counts as one. */
bool search_characters(Work *w, Str s, size_t *count, Error *err);
