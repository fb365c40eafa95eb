/* The private folder of a call: HOME and TMPDIR of the program, removed when it ends. */
#pragma once
#include "base/error.h"

enum { SCRATCH_PATH_MAX = 160 };

/* A folder, mode 0700, for the folders of calls. Locked while `*fd` is open; removes unlocked ones that earlier
 * processes of this user left behind. */
bool scratch_base(char path[SCRATCH_PATH_MAX], int *fd, Error *err);
/* Removes everything in the folder `fd`, whatever its modes and depth, without following links. False when `until_ns`
 * (monotonic; INT64_MAX: never) has passed or something cannot be removed: call again. */
bool scratch_empty(int fd, int64_t until_ns);
