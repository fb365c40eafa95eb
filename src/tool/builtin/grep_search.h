/* Searches one file while reading it, in bounded memory. */
#pragma once
#include "tool/builtin/grep.h"
#include "tool/builtin/grep_pattern.h"

/* Result of one file: matches without paths, in their own arena, so that they can be dropped separately. */
typedef struct GrepFile { Arena arena; Str path; GrepMatch *match; size_t n; } GrepFile;

typedef struct GrepSearch {
    const GrepPattern *pattern;
    int fd;                             /* at the start of a regular file; owned by the caller */
    size_t context, limit;              /* lines around each match; matching lines */
    size_t piece, line_max;             /* bytes per read, and of a line; 0: defaults (tests use small ones) */
    Buf *text;                          /* work buffer, reused for the next file */
} GrepSearch;

/* Up to `limit` matching lines, each with `context` lines around it; none if a NUL byte is among the first GREP_SNIFF
 * bytes. Fails with ERR_IO when the file cannot be read, else as regex_find and cancel_check do; the caller clears
 * `out` in every case. */
bool grep_search(const GrepSearch *how, Cancel *cancel, GrepFile *out, Error *err);
