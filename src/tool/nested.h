/* Repositories below the workspace. A call may make one, and git run inside it does what its configuration says: so it is told of.
 * Looks at the first NESTED_FOLDERS_MAX folders, nearest first. */
#pragma once
#include "base/str.h"
#include "base/table.h"

enum { NESTED_FOLDERS_MAX = 100 };

/* Adds every repository's path (relative to the workspace) that `known` has not. Those that are new are listed in `fresh`, one a line;
 * NULL: they only become known. */
void nested_look(const char *workspace, Table *known, Buf *fresh);
void nested_clear(Table *known);
