/* Walks a path one name at a time, as the kernel does, and calls `each` for every folder and link on the way. Reads and follows
 * links itself, so that no link is followed before the caller has seen it. */
#pragma once
#include <limits.h>
#include "base/error.h"

typedef struct PathStep {
    const char *at;                     /* the entry: absolute, no links before it */
    char kind;                          /* 'd' folder, 'l' link, 'f' regular file, 'o' other, '-' missing */
    bool last;                          /* no name comes after it, unless it is a link */
} PathStep;
/* False with *err ends the walk. */
typedef bool PathEach(void *ctx, const PathStep *step, Error *err);

typedef struct PathEnd { int folder; char name[NAME_MAX + 1]; } PathEnd;      /* the folder (O_PATH) that holds the last name, and that name */

/* `path` is absolute, or relative to the current folder. On success out->folder is open; its name is "." if the path ends in "..", "." or "/".
 * A missing name before the last one is ERR_IO with errno ENOENT. Messages do not name the path. */
bool path_walk(const char *path, PathEach *each, void *ctx, PathEnd *out, Error *err);
