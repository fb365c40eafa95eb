/* Shared by writing, copying and removing; private to the jail. */
#pragma once
#include "base/cancel.h"
#include "sandbox/walk.h"

/* Removes the target with everything below, never through a link; the walk is then in its parent folder. */
bool jail_remove_target(Walk *w, Str path, Cancel *cancel, Error *err);
