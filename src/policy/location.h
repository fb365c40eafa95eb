/* Where the runs of a project are stored. */
#pragma once
#include "artifact/project.h"
#include "base/error.h"

/* HARNESS_STATE, else store.url of harness.md, else the state file: what store_open gets (store_location). ERR_POLICY: the project is not
 * trusted, and asks for a database. Overwrites *out. */
bool location_of(const Project *p, Buf *out, Error *err);
/* The same for a project that the caller has checked. `given` counts instead of HARNESS_STATE: a path, a URL or NULL. */
bool location_given(const Project *p, const char *given, Buf *out, Error *err);
