/* Finds the project that a folder belongs to. */
#pragma once
#include <limits.h>
#include <stdbool.h>

/* Names that make a folder a project. With a settings file it is also the project of the folders below. Calls may not create these names where the
 * loader looks (tool/protect/protected.c). */
#define PROJECT_SETTINGS "harness.md", "harness.yaml", "harness.yml", ".harness"
#define PROJECT_NAMES PROJECT_SETTINGS, "tools.json", ".mcp.json", "space.manifest.json", "agent/tools", "agent/config.md", "agent/hooks"

/* True if the folder has one of PROJECT_NAMES. */
bool project_here(const char *dir);

/* Looks for a project above `dir`, which has none itself. Stops after a folder with .git, before the user's home folder, before / and at a
 * mount point: a project there is not this folder's. False: there is none. */
bool project_above(const char *dir, char out[static PATH_MAX]);

/* Looks for a project in the folders above `root`, up to and with `folder`; both are real paths, and `folder` holds `root`. `out` is the nearest one. */
bool project_between(const char *root, const char *folder, char out[static PATH_MAX]);
