/* The one pipeline that every call goes through: eleven steps, in this order, for every kind of tool and every caller.
 *
 *    1 resolve    resolve.c      the tool by name or alias, among what this caller may see
 *    2 parse      arguments.c    strict JSON, no duplicate keys
 *    3 validate   arguments.c    defaults, schema, no injected names
 *    4 limits     gate.c         calls per run and turn, depth, wall clock, spend, the same failure again
 *    5 policy     gate.c         tools_policy, limits.deny
 *    6 tool.pre   gate.c         hooks
 *    7 confirm    confirm.c      a person, last, about the final arguments
 *    8 execute    execute.c      timeout, retry, protected files
 *    9 tool.post  outcome.c      hooks
 *   10 bound      bound.c        redaction, artifact, head and tail
 *   11 return     call.c                                                                                        */
#pragma once
#include "tool/runtime.h"

typedef struct Call {
    Str id;                              /* of the model's call; empty: one is made */
    Str name;                            /* canonical or alias */
    const ToolEntry *entry;              /* what registry_find has just said of it; NULL: it is asked here */
    Str scope;                           /* where to look for it besides; empty: nowhere. What it calls does not look there */
    Str arguments;                       /* JSON text as it came. Empty: {} for a tool without parameters, else an error. A caller that may leave them out passes {} */
    Value args;                          /* the same, read already, an object: copied. GONE: it is read here */
    Str agent, parent;                   /* whose call it is; empty: the top level */
    Str owner;                           /* id of the delegation whose agent makes it, also through meta.call_tool; empty: the top level */
    int depth;                           /* of delegation */
    int nesting;                         /* of meta.call_tool */
    const Str *agents; size_t n_agents;  /* the agents around it, outermost first */
    const Str *tools; size_t n_tools;    /* an agent's own list; NULL: all of the run's */
    const Str *servers; size_t n_servers;/* MCP servers whose tools it may use, those that come later too; NULL: all */
    const Str *removed; size_t n_removed;/* what a completion.pre hook took away for this turn, and blocked_tools: names and patterns */
    const Str *hooks; size_t n_hooks;    /* hooks added by name (a delegation's) */
    Str key;                             /* the idempotency key of an earlier attempt that nobody knows the end of; empty: a new one */
    bool nested;                         /* on its caller's thread: takes no slot and no lock */
    struct RunLane *lane;                /* where mutating calls wait for each other; NULL: the run's own. An agent that a mutating script waits for
                                            has one of its own: it would wait for the script otherwise */
    bool *once;                          /* set when it, or a call inside it, was executed and must not be repeated; NULL: nobody asks */
    bool media;                          /* a model gets the result: its images and PDFs are kept with the run */
    bool wait;                           /* a background tool is waited for (harness call) */
    const struct ToolRoot *root;         /* what its caller is confined to, and so it too; NULL: nothing */
    const Person *person;                /* who is asked and told about this call and what it calls; NULL: the run's */
    const Person *task_person;           /* the same once it has become a background task; outlives that; NULL: the run's */
    /* The background task it became has ended: `r` is its result, NULL when there is none (`why`: an internal fault; empty: cancelled before
     * it began). On the task's thread, once; may be NULL. */
    void (*task_ended)(void *ctx, const Result *r, Str why);
    void *task_ctx;
    int64_t timeout_ms;                  /* lower than the tool's own; 0: none */
    size_t before;                       /* calls before it in the same reply of the model; 0 for calls from elsewhere */
    /* Both run on the call's thread and may be NULL. */
    void (*begun)(void *ctx, const struct Call *call);   /* tool_call_all starts it */
    void (*ended)(void *ctx, const Result *r);       /* its result is complete */
    void *ended_ctx;                     /* for both */
    /* --trace: each step as it ends. */
    void (*trace)(void *ctx, CallStep step, int64_t elapsed_ns, Str detail);
    void *trace_ctx;
} Call;

/* Runs `call` through the whole pipeline. Blocks; `cancel` (NULL, or a child of run_cancel) ends it early. Fails only on
 * internal faults (a journal that cannot be written): a tool's own failure is a result, not an Error. Any thread. */
bool tool_call(Run *run, const Call *call, Cancel *cancel, Result *out, Error *err);

/* All calls of one reply of the model, with the effect of running them in the order asked for. Neighbours that are read-only or
 * parallel_safe run concurrently, up to limits.max_concurrency. Any other call waits for all calls before it, and all calls
 * after it wait for it. Results are in call order. On failure the rest is not started, and no result is left to clear. */
bool tool_call_all(Run *run, const Call *calls, size_t n, Cancel *cancel, Result *out, Error *err);

/* The tools a caller may see: those of the run's list and of the call's, minus what policy hides. free() *out. */
size_t tool_visible(Run *run, const Call *call, const ToolEntry ***out);
