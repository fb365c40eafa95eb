/* The names scripts may use beside the language: host_names.def lists them, script/ implements
 * them. To load and check a project nothing needs to be implemented, so this makes stand-ins:
 * values of the right shape whose functions fail when they are called. */
#pragma once
#include "starlark/universe.h"

/* `tools` and `hooks` are dicts of name → Value in `heap`, which the caller freezes. json and math are the universe's. */
typedef struct HostNames { Dict *tools, *hooks; } HostNames;
bool host_names_make(Heap *heap, const Universe *universe, HostNames *out, Error *err);
