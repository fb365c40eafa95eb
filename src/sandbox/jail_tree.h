/* What writing, copying and removing share; behind jail.h. */
#pragma once
#include "base/cancel.h"
#include "sandbox/walk.h"

/* Makes the folders that the walk found missing, all but the last name, and goes there. */
bool jail_make_parents(Walk *w, Str path, Error *err);

/* Removes the target with all below, never through a link; the walk is then in the folder that held it. */
bool jail_remove_target(Walk *w, Str path, Cancel *cancel, Error *err);

/* Copies the target of `from` (file, folder or link) to that of `to`; a folder appears whole or not at all. */
bool jail_copy_target(Walk *from, Walk *to, Str path, Cancel *cancel, Error *err);
