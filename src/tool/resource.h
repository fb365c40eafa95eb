/* The part of a project that MCP clients may read, besides artifacts: files by name, and script resources. A script is called as the tool
 * "resource:NAME" through the whole pipeline; only a call with the scope TOOL_RESOURCES finds it. */
#pragma once
#include "tool/pipeline/call.h"

#define TOOL_RESOURCES STR(":resources")

/* Registers the script resources of the project. Called while the runtime is opened. */
bool tool_resources_register(Runtime *rt, Error *err);

/* Prepares a call of read(uri, params). `params`: a dict of the template's variables; the arguments are written to
 * `text`, which must stay valid. */
bool tool_resource_call(const ResourceDef *r, Str uri, Value params, Buf *text, Buf *name, Call *out, Error *err);

/* Reads a file of the project, below its root and through no link that leads out; up to JAIL_FILE_MAX bytes. Refuses
 * sensitive names, and with `listed` (a file named in harness.md) also protected files: ERR_POLICY. */
bool tool_resource_file(Runtime *rt, Str path, bool listed, Buf *out, Error *err);
/* The same for a file that must be inside `folder` after resolving links. */
bool tool_resource_below(Runtime *rt, Str folder, Str path, Buf *out, Error *err);

/* The content of a folder of the project, sorted: files and folders, without hidden, sensitive and linked ones. In
 * `arena`. */
typedef struct ResourceEntry { Str name; bool folder; int64_t size; } ResourceEntry;
enum { TOOL_RESOURCE_ENTRIES_MAX = 4096 };
bool tool_resource_list(Runtime *rt, Str folder, Arena *arena, ResourceEntry **out, size_t *n, Error *err);
bool tool_resource_stat(Runtime *rt, Str path, bool listed, int64_t *size, Error *err);
