/* Implements the built-in tool `glob`: files whose path matches a pattern, newest first. */
#pragma once
#include "base/arena.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/str.h"

enum { GLOB_FILES_MAX = 10000 };

typedef struct GlobFilesInput {
    int root;                           /* an open folder (the workspace, or a read root); owned by the caller */
    Str start;                          /* folder to which the pattern is relative: "" or "a/b" below the root,
                                         * resolved */
    Str pattern;                        /* "**" "/" "*.ts", "src/{a,b}/?.c"; "dir/" matches everything below dir; no
                                         * ".." */
    bool hidden;                        /* wildcards match names with a leading period; .git never */
    bool no_ignore;                     /* include files that ignore files exclude */
    size_t limit;                       /* 0: GLOB_FILES_MAX */
    unsigned threads;                   /* 0: as walk.h */
    bool (*may_see)(void *state, Str path, bool folder);   /* as walk.h; may be NULL */
    void *state;
} GlobFilesInput;

typedef struct GlobFile { Str path; /* relative to the root */ int64_t modified_ns; } GlobFile;
typedef struct GlobFilesResult {
    GlobFile *files;                    /* regular files, newest first, then by path */
    size_t n;
    bool truncated;                     /* more files matched: these are the newest */
    size_t unreadable;                  /* folders skipped */
} GlobFilesResult;

/* `out` lives in `arena`. Fails on a bad pattern (ERR_PARSE, ERR_LIMIT, ERR_VALIDATION), a start folder that cannot be
 * opened (ERR_IO), or as cancel_check does. */
bool glob_files(const GlobFilesInput *in, Cancel *cancel, Arena *arena, GlobFilesResult *out, Error *err);
