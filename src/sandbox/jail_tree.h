/* What writing, copying and removing share; behind jail.h. */
#pragma once
#include "base/cancel.h"
#include "sandbox/walk.h"

/* Removes the target with all below, never through a link; the walk is then in the folder that held it. */
bool jail_remove_target(Walk *w, Str path, Cancel *cancel, Error *err);
