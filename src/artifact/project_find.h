/* Finds the project that a folder belongs to. */
#pragma once
#include <limits.h>
#include <stdbool.h>

/* True if the folder has something that a project consists of: harness.md (or .yaml, .yml), .harness/, tools.json, .mcp.json or a space. */
bool project_here(const char *dir);

/* Looks for a project above `dir`, which has none itself. Stops after a folder with .git, before the user's home folder, before / and at a
 * mount point: a project there is not this folder's. False: there is none. */
bool project_above(const char *dir, char out[static PATH_MAX]);
