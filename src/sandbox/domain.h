/* The program's own Landlock domain: after loading, harness itself may write only the workspace, its state, write roots
 * and temp. Irreversible, for the whole process: all its threads, or before any is started. Not for embedders. */
#pragma once
#include "base/error.h"

/* Absolute paths, NULL-terminated; ones that do not exist are left out. Also makes the process non-dumpable. Succeeds,
 * doing what can be done, on a kernel without Landlock. */
bool domain_restrict(const char *const *writable, Error *err);
