/* The program's own Landlock domain: after loading, harness itself may write only the workspace, its state, write roots
 * and temp. Irreversible, for all threads of the process, or before any is started. Not for embedders. */
#pragma once
#include "base/error.h"

/* Absolute paths, NULL-terminated; skips missing ones. Also makes the process non-dumpable. On a kernel without
 * Landlock succeeds with what is possible. */
bool domain_restrict(const char *const *writable, Error *err);
