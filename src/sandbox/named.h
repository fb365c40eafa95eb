/* Files that harness writes because the user named them: --events, --record, --junit, --html, /save.
 *
 * Tools write into the workspace, so a path below it may refer to any file by the time harness opens it: a link to ~/.bashrc, a folder that
 * became a link, a FIFO without a reader, a hard link. Inside the places that tools can write no link is followed, and only a regular file
 * with one name is opened. Elsewhere links to folders are followed, because only the user could create them; a link as the last name is
 * never followed. Names of streams (/dev/stdout, /dev/fd/3, /proc/self/fd/3) are opened directly. */
#pragma once
#include <sys/types.h>
#include "base/error.h"

/* `flags`: O_APPEND, O_TRUNC, O_EXCL or 0; the file is opened for writing and made if it is missing. `reach`: absolute paths of the places that
 * tools can write, up to NULL. -1 with *err, whose message does not begin with the path: the caller
 * wraps it; ERR_SANDBOX names the obstacle (a link, a FIFO). Never waits for a reader of a FIFO. */
int named_open(const char *path, int flags, mode_t mode, const char *const *reach, Error *err);
