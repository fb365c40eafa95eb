/* Built-in tools as data. Each builtin_X.c describes its tools in one constant table; builtin.c registers what a project asks
 * for. To add a tool: a row in its file's table, and the table in builtin.c's list. */
#pragma once
#include "tool/kind.h"

typedef struct BuiltinDef {
    const char *name, *title, *description;
    const char *parameters;              /* JSON Schema, as text */
    const char *output;                  /* the same for its value; NULL: none */
    int64_t timeout_ms;
    ToolExecute *execute;
    ToolInspect *inspect;                /* NULL: none */
    ToolService service;                        /* always there, but only shown when something needs it */
    bool parallel_safe;                  /* changes something, and may still run beside other calls */
} BuiltinDef;

/* Tables, each ending with a NULL name. What a tool can do stands in policy/safety_builtin.def. */
extern const BuiltinDef builtin_bash[], builtin_read[], builtin_write[], builtin_find[], builtin_list[];
extern const BuiltinDef builtin_services[];          /* builtin_service.c: tasks and artifacts */

/* Appends the definitions of the built-in tools that a project asks for to its own, for showing them: nothing is compiled.
 * Values are in `heap`, which outlives the project. */
bool builtin_append(Project *p, Heap *heap, Error *err);

/* ---- for executors ---- */

Value builtin_arg(const ToolCallFrame *f, const char *key);                  /* GONE: not given */
Str builtin_arg_text(const ToolCallFrame *f, const char *key, Str fallback);
int64_t builtin_arg_int(const ToolCallFrame *f, const char *key, int64_t fallback);
bool builtin_arg_flag(const ToolCallFrame *f, const char *key);              /* false: not given */

/* How results name a file: relative to the workspace, or absolute when it lies in another root. */
Str builtin_name(const ToolCallFrame *f, Str absolute);

/* Where a search starts: an open root, the place below it, and what stands in front of the paths that are found. */
typedef struct BuiltinStart {
    int root;                            /* -1: not open */
    Str start;                           /* "" or "a/b" */
    Str prefix;                          /* "" or "/other/root/" */
    const Jail *careful;                 /* every path must be asked for: a process file system lies below; NULL: no need */
} BuiltinStart;
bool builtin_start_open(const ToolCallFrame *f, Arena *arena, BuiltinStart *out, Error *err);   /* the argument `path`, or the workspace */
void builtin_start_close(BuiltinStart *s);
bool builtin_may_see(void *start, Str path, bool folder);                    /* for walk.h */

/* What an executor returns. A missing file, or one that cannot be opened, is the caller's to repair: no reason to try again. */
bool builtin_end(ToolCallFrame *f, bool ok, Error *err);

bool builtin_put_text(Heap *h, Dict *d, const char *key, Str text, Error *err);
