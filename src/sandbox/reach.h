/* Checks whether folders that a call can reach overlap with paths that it must never reach. Used by sandbox_reach() and the covers. */
#pragma once
#include <limits.h>
#include <stdbool.h>

/* Resolves links and dots; for a missing path: of its existing part, with the rest appended. */
bool reach_resolve(const char *path, char out[PATH_MAX]);
bool reach_is_below(const char *path, const char *folder);       /* or equal; both resolved */
/* True if one of the folders in `roots` (NULL-terminated; may be NULL) strictly contains `path`, under any name that the mounts give it. `path` is
 * resolved. *which: the folder. */
bool reach_holds(const char *const *roots, const char *path, const char **which);
/* Calls `each` for every path under which the mounts of this process show `path` (resolved), itself first. Stops when `each` returns false;
 * returns the last value of `each`. */
typedef bool ReachEach(void *ctx, const char *path);
bool reach_names(const char *path, ReachEach *each, void *ctx);
