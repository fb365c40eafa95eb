/* Covers folders that a call must not see, in a process with private mounts of its own. */
#pragma once
#include "base/error.h"

bool cover_folder(const char *path, Error *err);       /* an existing folder */
/* Folders inside `home`, which the call may write: each is made when it is missing, so that nobody else makes it, and the folders
 * between become mounts, so that none of them can be renamed. Covered under every name that other mounts give it. */
bool cover_inside(const char *home, const char *const *paths, Error *err);
