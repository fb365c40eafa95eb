/* A copy of a project's folder, for one test. */
#pragma once
#include <sys/types.h>
#include "base/error.h"

enum { WORKSPACE_COPY_ENTRIES = 200000, WORKSPACE_COPY_DEPTH = 100 };
#define WORKSPACE_COPY_BYTES ((uint64_t)2 << 30)

/* Copies everything below the folder `from` into the folder `to`, both open: files with their modes and times, links as
 * links. Skips .git, anything that is not a file, folder or link, and the folder (`device`, `inode`), in which copies
 * are made. ERR_LIMIT when it exceeds the limits above. */
bool workspace_copy(int from, int to, dev_t device, ino_t inode, Error *err);
