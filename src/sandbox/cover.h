/* Covers folders that a call must not see, in a process with private mounts. */
#pragma once
#include "base/error.h"

bool cover_folder(const char *path, Error *err);       /* an existing folder */
/* Folders inside `home`, which the call may write. Creates missing ones, so that no other process can, and makes the
 * folders above them mounts, so that none can be renamed. Covers each under every name that other mounts give it. */
bool cover_inside(const char *home, const char *const *paths, Error *err);
