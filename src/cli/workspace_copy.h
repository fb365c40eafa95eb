/* A copy of a project's folder, for one test or for a queued run. */
#pragma once
#include <sys/types.h>
#include "base/cancel.h"

enum { WORKSPACE_COPY_ENTRIES = 200000, WORKSPACE_COPY_DEPTH = 100 };
#define WORKSPACE_COPY_BYTES ((uint64_t)2 << 30)

/* Copies everything below the folder `from` into the folder `to`, both open: files with their modes and times, links as
 * links. Skips anything that is not a file, folder or link, and the folder (`device`, `inode`), in which copies are made. ERR_LIMIT when it exceeds the
 * limits above. git: copies repositories, too; but not a .git at the top that is a file or a link, because it names a repository elsewhere, and not
 * the lock of an index. Else skips every .git. */
typedef struct WorkspaceCopy { dev_t device; ino_t inode; bool git; Cancel *cancel; } WorkspaceCopy;     /* cancel may be NULL */
bool workspace_copy(int from, int to, const WorkspaceCopy *how, Error *err);
