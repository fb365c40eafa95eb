/* Built-in tools as data. Each file of tool/builtin/ describes its tools in one constant table; builtin.c registers those that a
 * project enables. To add a tool: add a row to its file's table, and the table to builtin.c's list. */
#pragma once
#include "tool/kind/kind.h"

typedef struct BuiltinDef {
    const char *name, *title, *description;
    const char *parameters;              /* JSON Schema, as text */
    const char *output;                  /* schema of its value; may be NULL */
    int64_t timeout_ms;
    ToolExecute *execute;
    ToolInspect *inspect;                /* NULL: none */
    ToolService service;                        /* always registered, but only listed when needed */
    bool parallel_safe;                  /* changes something, but may run concurrently with other calls */
    bool bridge;                         /* of kind bridge: a project must name it; "all" does not include it */
} BuiltinDef;

/* Tables, each ending with a NULL name. policy/safety_builtin.def has each tool's effects. */
extern const BuiltinDef builtin_bash[], builtin_read[], builtin_write[], builtin_find[], builtin_list[];
extern const BuiltinDef builtin_bridge[];            /* tool/builtin/bridge.c: notifications, dialogs, file picker */
extern const BuiltinDef builtin_services[];          /* tool/builtin/service.c: tasks and artifacts */

/* Appends the definitions of the built-in tools that a project enables to its own, for listing: compiles nothing.
 * Values are in `heap`, which outlives the project. */
bool builtin_append(Project *p, Heap *heap, Error *err);

/* ---- for executors ---- */

Value builtin_arg(const ToolCallFrame *f, const char *key);                  /* GONE: not given */
Str builtin_arg_text(const ToolCallFrame *f, const char *key, Str fallback);
int64_t builtin_arg_int(const ToolCallFrame *f, const char *key, int64_t fallback);
bool builtin_arg_flag(const ToolCallFrame *f, const char *key);              /* false if not given */

/* How results name a file: relative to the workspace, or absolute in another root. */
Str builtin_name(const ToolCallFrame *f, Str absolute);

/* Where a search starts: an open root, the path below it, and the prefix of the resulting paths. */
typedef struct BuiltinStart {
    int root;                            /* -1: not open */
    Str start;                           /* "" or "a/b" */
    Str prefix;                          /* "" or "/other/root/" */
    const ToolCallFrame *reads;          /* set if the call shows contents: skips files that rules do not let it read; NULL: shows only names */
    const Jail *careful;                 /* checks every path, because a process file system is below the root; NULL: not needed */
} BuiltinStart;
bool builtin_start_open(const ToolCallFrame *f, Arena *arena, BuiltinStart *out, Error *err);   /* from the argument `path`, or the workspace */
void builtin_start_close(BuiltinStart *s);
bool builtin_may_see(void *start, Str path, bool folder);                    /* for walk.h */

/* Ends an executor. A missing or unreadable file is the caller's mistake: not worth a retry. */
bool builtin_end(ToolCallFrame *f, bool ok, Error *err);

bool builtin_put_text(Heap *h, Dict *d, const char *key, Str text, Error *err);
