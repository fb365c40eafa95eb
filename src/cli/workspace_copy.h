/* A copy of a project's folder, for one test. */
#pragma once
#include <sys/types.h>
#include "base/error.h"

enum { WORKSPACE_COPY_ENTRIES = 200000, WORKSPACE_COPY_DEPTH = 100 };
#define WORKSPACE_COPY_BYTES ((uint64_t)2 << 30)

/* Copies all below the folder `from` into the folder `to`, both open: files with their modes and times, links as links. Left
 * out: .git, what is neither file, folder nor link, and the folder (`device`, `inode`), which is where copies are made. ERR_LIMIT when
 * it is more than the numbers above. */
bool workspace_copy(int from, int to, dev_t device, ino_t inode, Error *err);
