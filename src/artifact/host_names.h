/* The names scripts may use beside the language: host_names.def lists them, script/ implements
 * them. To load and check a project nothing needs to be implemented, so this can make stand-ins:
 * values of the right shape whose functions fail when they are called. */
#pragma once
#include "starlark/universe.h"

/* `tools` and `hooks` are dicts of name → Value in `heap`, which the caller freezes. json and math are among them. */
typedef struct HostNames { Dict *tools, *hooks; } HostNames;

/* The function behind a name as it stands in messages ("fs.read", "emit"; a module that can be called: "log"). NULL:
 * there is none, which is ERR_INTERNAL. */
typedef const NativeDef *HostNamesFind(const char *name);
bool host_names_make(Heap *heap, HostNamesFind *find, HostNames *out, Error *err);   /* find NULL: stand-ins */
size_t host_names_count(void);           /* functions in the list: how many a table that implements it must have */
