/* The input of an executor, and the executors, one file per kind: tool/kind/starlark.c, tool/kind/command.c, tool/kind/argv.c,
 * the files of tool/builtin/, and mcp and delegate in other rooms. An embedder's native tool has its own ToolExecute. */
#pragma once
#include "script/host.h"
#include "script/worker.h"
#include "tool/pipeline/call.h"

typedef struct ToolCallFrame {
    Runtime *runtime;
    Run *run;
    const Call *call;
    Str call_id;
    const ToolEntry *entry;
    Heap *heap;                          /* holds args and value */
    Value args;                          /* a dict: validated, after hooks; the executor may modify it */
    Str raw;                             /* the caller's text; empty if the arguments were changed */
    Str idempotency_key;
    Value injected;                      /* dict of injected values; GONE if the tool declares none */
    Cancel *cancel;                      /* with the tool's deadline */
    Host *host;                          /* jail, sandbox, rules, network, cache … of this call */
    Worker *worker;                      /* its machine runs in `heap` */

    /* Set by the executor. */
    Value value;                         /* the result; a dict with a non-empty string `error` is an error */
    Value content;                       /* list of typed blocks; GONE: none */
    bool is_error, retryable, timed_out;
    int exit_code;                       /* exit code of a program, for retry.on_exit; -1: none */
    Str provider;                        /* borrowed from the entry */
} ToolCallFrame;

ToolExecute kind_starlark, kind_command, kind_argv, kind_missing;   /* for a tool without code: fails with "has no implementation" */
ToolInspect kind_command_show;                                       /* renders the command for the confirmation */

/* ---- for executors ---- */

/* Runs one program under the call's sandbox: rules, protected files, proxy, timeout from frame->cancel, and the event
 * sandbox.applied. `env` is "NAME=value", NULL-terminated, in addition to the sandbox's variables. */
bool kind_run_program(ToolCallFrame *f, const SandboxCommand *command, SandboxResult *out, Error *err);
/* Appends HARNESS_ARG_<NAME>=value of the injected values to `env` (strings in `arena`). */
void kind_injected_env(const ToolCallFrame *f, Arena *arena, const char **env, size_t *n);
enum { KIND_INJECTED_MAX = 64 };
/* Variables for the programs of a tool whose program's folder is protected, NULL-terminated; the tool's own variables follow and override them. */
const char *const *kind_protected_env(const ToolDef *def);
enum { KIND_PROTECTED_MAX = 2 };
/* {stdout, stderr, exit_code}, with truncated and timed_out where they apply. */
bool kind_process_value(ToolCallFrame *f, const SandboxResult *r, Error *err);
/* frame->value = {"error": message}. */
bool kind_error_value(ToolCallFrame *f, Str message, Error *err);
/* Output of a program or a file as a string value: invalid UTF-8 becomes U+FFFD. */
bool kind_text_value(Heap *h, Str text, Value *out, Error *err);

/* The built-in tools of builtin_names.def: all, or those in `names`. Definitions are created once, in the runtime's
 * heap, which is then frozen. */
bool tool_builtins_register(Runtime *rt, bool all, const StrList *names, Error *err);
