/* One file, searched while it is read: memory stays bounded whatever its size. */
#pragma once
#include "tool/grep.h"
#include "tool/grep_pattern.h"

/* What one file gave: matches without paths, in an arena of their own, so that it can be dropped alone. */
typedef struct GrepFile { Arena arena; Str path; GrepMatch *match; size_t n; } GrepFile;

typedef struct GrepSearch {
    const GrepPattern *pattern;
    int fd;                             /* at the beginning of a regular file; stays the caller's */
    size_t context, limit;              /* lines around each match; matching lines */
    size_t piece, line_max;             /* bytes of one read, and of a line; 0: as usual (tests choose small ones) */
    Buf *text;                          /* for its work, used again for the next file */
} GrepSearch;

/* Up to `limit` matching lines, with `context` lines around each; none when a NUL byte is among the first GREP_SNIFF bytes.
 * Fails with ERR_IO when the file cannot be read, else as regex_find and cancel_check do; `out` is to be cleared even then. */
bool grep_search(const GrepSearch *how, Cancel *cancel, GrepFile *out, Error *err);
