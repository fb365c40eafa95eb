/* Protected paths as read-only mounts, in a process with private mounts.
 *
 * A path is mounted read-only onto itself with everything mounted below it. The folders that lead to it, from the
 * outermost writable place down, are mounted onto themselves, because a folder that is a mount point cannot be renamed.
 * A link cannot be mounted: its target is, and so are the folders that lead to the link. Missing paths get no mount.
 *
 * A mount belongs to the file, not to the name. When a process outside replaces the file by rename(), or removes it,
 * the mount is gone. */
#pragma once
#include "base/arena.h"
#include "base/error.h"

/* `write`: the real paths of the writable places, already mounted. Protected paths elsewhere are read-only anyway. */
bool shield_all(const char *const *write, const char *const *protect, Arena *arena, Error *err);
/* True if `path` is on a read-only mount, in the file system whose root is open as `root`. False if it is missing or
 * contains a link. */
bool shield_stands(int root, const char *path);
