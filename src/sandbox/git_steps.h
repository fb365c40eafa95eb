/* Files that git keeps while an operation of several steps (rebase, cherry-pick, am) waits to be continued. A call may begin, continue and
 * end such an operation, so these files may change and be removed. But `git rebase --continue` runs commands from some of their lines, so a
 * call may not add such a line. They are compared after a call and never mounted read-only. */
#pragma once
#include "base/str.h"

/* `folder` is the name of the folder that holds the file `name`. */
bool git_steps_is(const char *folder, const char *name);
bool git_steps_is_path(const char *path);
/* True if a call may have changed the content `before` (empty: the file did not exist) to `now`. */
bool git_steps_allow(const char *folder, const char *name, Str before, Str now);
