/* The names that scripts may use in addition to the language: host_names.def lists them,
 * src/script/ implements them. Loading and checking a project needs no implementation, so this can
 * create placeholders: values of the right type whose functions fail when called. */
#pragma once
#include "starlark/vm/universe.h"

/* `tools` and `hooks` are dicts of name → Value in `heap`, which the caller freezes. They include json and math. */
typedef struct HostNames { Dict *tools, *hooks; } HostNames;

/* Finds a function by the name that messages use ("fs.read", "emit"; a callable module: "log"). NULL fails with
 * ERR_INTERNAL. */
typedef const NativeDef *HostNamesFind(const char *name);
bool host_names_make(Heap *heap, HostNamesFind *find, HostNames *out, Error *err);   /* find NULL: placeholders */
