/* Names that are nearly those of a project's files: "Harness.md", ".harnes/". The loader reads none of them, and a guard written in one would have no
 * effect, so the loader stops at them; a call may not make one. */
#pragma once
#include "base/str.h"

#define NEARLY_NAMES "*~"               /* in a list of protected paths: matches all such names in its folder */

/* The name in a project's root that was probably meant; empty: the entry is unrelated, or is that name itself. */
Str nearly_project_file(Str name, bool folder);
