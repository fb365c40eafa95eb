/* The files of a project that are its policy: what the console shows, and what a draft may replace. */
#pragma once
#include "base/str.h"

extern const char *const policy_files_top[];             /* in the project's folder; NULL ends them */
/* True for one of those, and for a path below .harness/: relative, without ".", ".." and empty parts, at most 1000 bytes. */
bool policy_files_has(Str path);
