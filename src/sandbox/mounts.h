/* One more layer where the user may have it (root): a private view of the file system in which everything is read-only
 * but the places that may be written, and a /proc that shows the call's own processes alone. It also closes what Landlock
 * leaves open: the mode, owner, times and attributes of files outside. */
#pragma once
#include "base/error.h"

/* For a process that is alone in a new mount and process namespace. `write`: paths that stay as they are, with all mounted
 * below them; `protect`: paths that become read-only whatever is around them. Ones that do not exist are left out. */
bool mounts_enter(const char *const *write, const char *const *protect, Error *err);
/* Could mounts_enter() do its work? For the probe; only system calls. */
bool mounts_try(void);
