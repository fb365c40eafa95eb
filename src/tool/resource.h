/* What MCP clients may read of a project, beside what its calls leave: files by their names, and what scripts give. A script is
 * called as the tool "resource:NAME" through the whole pipeline; only a call that looks in TOOL_RESOURCES finds it. */
#pragma once
#include "tool/call.h"

#define TOOL_RESOURCES STR(":resources")

/* Registers the scripted resources of the project. While the runtime is opened. */
bool tool_resources_register(Runtime *rt, Error *err);

/* A call of read(uri, params). `params`: a dict of the template's variables; arguments are made in `text`, which must stay. */
bool tool_resource_call(const ResourceDef *r, Str uri, Value params, Buf *text, Buf *name, Call *out, Error *err);

/* Reads a file of the project, below its root and through no link that leads out; up to JAIL_FILE_MAX bytes. Sensitive names never;
 * with `listed` (a file that harness.md names) protected files neither: ERR_POLICY. */
bool tool_resource_file(Runtime *rt, Str path, bool listed, Buf *out, Error *err);
/* The same for a file of a folder, which it must really be in. */
bool tool_resource_below(Runtime *rt, Str folder, Str path, Buf *out, Error *err);

/* What is in a folder of the project, by name: files and folders; nothing hidden, sensitive or linked. In `arena`. */
typedef struct ResourceEntry { Str name; bool folder; int64_t size; } ResourceEntry;
enum { TOOL_RESOURCE_ENTRIES_MAX = 4096 };
bool tool_resource_list(Runtime *rt, Str folder, Arena *arena, ResourceEntry **out, size_t *n, Error *err);
bool tool_resource_stat(Runtime *rt, Str path, bool listed, int64_t *size, Error *err);
