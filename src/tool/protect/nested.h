/* Finds repositories below the workspace. A call may create one, and git run inside it obeys its configuration, so new
 * ones are reported. Searches the first NESTED_FOLDERS_MAX folders, breadth first. */
#pragma once
#include "base/str.h"
#include "base/table.h"

enum { NESTED_FOLDERS_MAX = 100 };

/* Adds the path (relative to the workspace) of every repository to `known`. Appends new ones to `fresh`, one per line;
 * `fresh` may be NULL. */
void nested_look(const char *workspace, Table *known, Buf *fresh);
void nested_clear(Table *known);
