/* Implements the built-in tool `grep`: lines of files that match a regular expression, searched by several threads, in
 * path order. */
#pragma once
#include "base/arena.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/str.h"

enum {
    GREP_MATCHES_MAX = 1000,
    GREP_CONTEXT_MAX = 100,             /* lines */
    GREP_TEXT_MAX = 2048,               /* limit of the text kept of one line */
    GREP_LINE_MAX = 1 << 20,            /* a longer line is searched in parts of this size, each treated as a line */
    GREP_SNIFF = 8192,                  /* a NUL byte within these makes a file binary */
};

typedef struct GrepInput {
    int root;                           /* an open folder (the workspace, or a read root); owned by the caller */
    Str start;                          /* folder or regular file: "" or "a/b" below the root, resolved */
    Str pattern;                        /* PCRE2 syntax; matches are within one line */
    Str type;                           /* "" or a name of grep_types, or a file extension ("tsx", ".tsx") */
    Str glob;                           /* "" or a pattern (base/glob.h) on the path below `start`, or on the name if it has no "/" */
    size_t context;                     /* lines before and after, at most GREP_CONTEXT_MAX */
    bool hidden, no_ignore, ignore_case;
    size_t limit;                       /* 0: GREP_MATCHES_MAX */
    unsigned threads;                   /* 0: as walk.h */
    bool (*may_see)(void *state, Str path, bool folder);   /* as walk.h; may be NULL */
    void *state;
} GrepInput;

typedef struct GrepMatch {
    Str path;                           /* relative to the root */
    uint64_t line;                      /* from 1 */
    uint64_t column;                    /* of the match's first byte, from 1 */
    Str text;                           /* without its line break; invalid UTF-8 becomes U+FFFD; a long line is cut
                                         * around the match, marked with "…" */
    Str *before, *after;                /* context lines, in file order */
    size_t before_n, after_n;
} GrepMatch;

typedef struct GrepResult {
    GrepMatch *matches;                 /* one per matching line, by path (bytes), then line */
    size_t n;
    bool truncated;                     /* more lines matched: these are the first */
    size_t unreadable;                  /* files and folders skipped: no permission, removed */
} GrepResult;

/* `out` lives in `arena`. Fails on a bad pattern or glob (ERR_PARSE, ERR_LIMIT, ERR_VALIDATION: an unknown type), a
 * start that cannot be opened (ERR_IO), a search that exceeds the limits of base/regex.h (ERR_LIMIT, naming the file),
 * or as cancel_check does. Skips binary files: those with a NUL byte in their first GREP_SNIFF bytes. A later NUL byte
 * ends the search of a file before the line that contains it; earlier matches count. */
bool grep_files(const GrepInput *in, Cancel *cancel, Arena *arena, GrepResult *out, Error *err);
