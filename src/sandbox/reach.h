/* Checks whether what a call can reach overlaps with what it must never reach. Used by sandbox_reach() and the
 * covers. */
#pragma once
#include <limits.h>
#include <stdbool.h>

/* Resolves links and dots; for a missing path: of its existing part, with the rest appended. */
bool reach_resolve(const char *path, char out[PATH_MAX]);
bool reach_is_below(const char *path, const char *folder);       /* or the same; both resolved */
/* Does one of the folders in `roots` (up to NULL; NULL: none) hold `path` strictly inside, by any name that the mounts give it? `path` is resolved. *which: the folder. */
bool reach_holds(const char *const *roots, const char *path, const char **which);
/* Every path under which the mounts of this process show `path` (resolved), itself first. Ends early when `each` says false; returns
 * what `each` said last. */
typedef bool ReachEach(void *ctx, const char *path);
bool reach_names(const char *path, ReachEach *each, void *ctx);
