/* The names that scripts may use in addition to the language: host_names.def lists them,
 * src/script/ implements them. Loading and checking a project needs no implementation, so this can
 * create placeholders: values of the right type whose functions fail when called. */
#pragma once
#include "base/table.h"
#include "starlark/vm/universe.h"

/* `tools` and `hooks` are dicts of name → Value in `heap`, which the caller freezes. They include json and math. */
typedef struct HostNames { Dict *tools, *hooks; } HostNames;

/* `functions`: a NativeDef for each name that messages use ("fs.read", "emit"; a callable module: "log"); NULL: placeholders. A missing one fails
 * with ERR_INTERNAL. */
bool host_names_make(Heap *heap, const Table *functions, HostNames *out, Error *err);
