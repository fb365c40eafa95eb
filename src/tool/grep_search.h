/* One file's text, searched. */
#pragma once
#include "tool/grep.h"
#include "tool/grep_pattern.h"

/* What one file gave: matches without paths, in an arena of their own, so that it can be dropped alone. */
typedef struct GrepFile { Arena arena; Str path; GrepMatch *match; size_t n; } GrepFile;

enum { GREP_SNIFF = 8192 };             /* a NUL byte within these makes a file binary */

/* Up to `limit` matching lines of `text`, with `context` lines around each; none when the text turns out to be binary.
 * Fails as regex_find does. */
bool grep_search(const GrepPattern *p, Str text, size_t context, size_t limit, Cancel *cancel, GrepFile *out, Error *err);
