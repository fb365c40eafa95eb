/* The private folder of a call: HOME and TMPDIR of the program, gone when it ends. */
#pragma once
#include "base/error.h"

enum { SCRATCH_PATH_MAX = 160 };

/* A folder, mode 0700, for the folders of calls. Locked while `*fd` is open; ones that earlier processes
 * of this user left behind unlocked are removed. */
bool scratch_base(char path[SCRATCH_PATH_MAX], int *fd, Error *err);
/* Removes everything in the folder `fd`, whatever modes and depths were made there, without following links. False when
 * `until_ns` (monotonic; INT64_MAX: never) came first or something resists: call again. */
bool scratch_empty(int fd, int64_t until_ns);
