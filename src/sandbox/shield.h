/* Protected paths as read-only mounts, in a process with private mounts of its own.
 *
 * A path is mounted read-only onto itself with all that is mounted below it. The folders that lead to it, from the outermost place that may
 * be written down, are mounted onto themselves, because a folder that is a mount cannot be renamed. A link cannot be mounted: what it leads
 * to is, and so are the folders that lead to the link. Paths that are missing get no mount.
 *
 * A mount belongs to the file, not to the name. When a process outside replaces the file by rename(), or removes it, the mount is gone. */
#pragma once
#include "base/arena.h"
#include "base/error.h"

/* `write`: what may be written, already mounted as such. What is protected elsewhere is read-only anyway. */
bool shield_all(const char *const *write, const char *const *protect, Arena *arena, Error *err);
/* Is `path` on a read-only mount, in the view of the file system whose root is open as `root`? Not when it is missing or has a link in it. */
bool shield_stands(int root, const char *path);
