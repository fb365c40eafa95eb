/* Covers files and folders that a call must not see, in a process with private mounts. */
#pragma once
#include "base/error.h"

bool cover_folder(const char *path);                   /* an existing folder. False with errno; makes one system call */
/* For root, whose children keep the right to read every file (CAP_DAC_OVERRIDE, needed to work on other users' files in the workspace): files of
 * /etc that only root may read, /etc/ssl/private, and `folders`, the private ones of /etc and /opt. Missing ones are skipped. */
bool cover_secrets(char *const *folders, size_t n, Error *err);
/* Folders inside `home`, which the call may write. Creates missing ones, so that no other process can, and makes the
 * folders above them mounts, so that none can be renamed. Covers each under every name that other mounts give it. */
bool cover_inside(const char *home, const char *const *paths, Error *err);
