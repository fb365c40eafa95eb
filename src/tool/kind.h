/* What an executor gets, and the executors there are, one file per kind: kind_starlark.c, kind_command.c, kind_argv.c,
 * builtin_*.c, and from rooms below mcp and delegate. */
#pragma once
#include "tool/call.h"

typedef struct ToolCallFrame {
    Runtime *runtime;
    Run *run;
    const Call *call;
    const ToolEntry *entry;
    Heap *heap;                          /* args and value live here */
    Value args;                          /* validated, after hooks */
    Str raw;                             /* the model's own text; empty when something changed the arguments */
    Str idempotency_key;
    Value injected;                      /* dict of hidden values; empty dict when none */
    Cancel *cancel;                      /* with the tool's deadline */
    Host *host;
    Worker *worker;

    /* Filled by the executor. */
    Value value;                         /* the result; a dict with a non-empty string `error` is an error */
    Value content;                       /* typed blocks; GONE: none */
    bool is_error, retryable, timed_out;
    Str provider;
} ToolCallFrame;

ToolExecute kind_starlark, kind_command, kind_argv;
/* The built-in tools of builtin_names.def; the definitions are made once per registry. */
bool tool_builtins_register(Registry *r, const Project *p, bool all, const StrList *names, Error *err);
