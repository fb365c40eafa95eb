/* The one pipeline that every call goes through (docs: tools.md, eleven steps). */
#pragma once
#include "tool/runtime.h"

typedef struct Call {
    Str id;                              /* of the model's call; empty: one is made */
    Str name;                            /* canonical or alias */
    Str arguments;                       /* JSON text as it came; empty: {} */
    Str agent, parent;                   /* whose call it is; empty: the top level */
    int depth;
    const Str *agents; size_t n_agents;  /* the agents around it, outermost first */
    const Str *tools; size_t n_tools;    /* an agent's own list; NULL: all of the run's */
    const Str *removed; size_t n_removed;/* what a completion.pre hook took away for this turn */
    bool from_model;                     /* injected names are refused */
    bool nested;                         /* on its caller's thread: takes no slot and no lock */
    bool wait;                           /* a background tool is waited for (harness call) */
    int64_t timeout_ms;                  /* lower than the tool's own; 0: none */
    /* --trace: each step as it ends. */
    void (*trace)(void *ctx, const char *step, int64_t elapsed_ns, Str detail);
    void *trace_ctx;
} Call;

/* Runs `call` through the whole pipeline. Blocks; `cancel` ends it early. Fails only on internal faults (a journal that
 * cannot be written): a tool's own failure is a result, not an Error. Any thread. */
bool tool_call(Run *run, const Call *call, Cancel *cancel, Result *out, Error *err);

/* All calls of one model turn: concurrently up to limits.max_concurrency, mutating ones that are not parallel-safe one at a
 * time, results in call order. */
bool tool_call_all(Run *run, const Call *calls, size_t n, Cancel *cancel, Result *out, Error *err);
