/* The pipeline of every call: eleven steps, in this order, for every kind of tool and every caller.
 *
 *    1 resolve    resolve.c      the tool by name or alias, among those visible to the caller
 *    2 parse      arguments.c    strict JSON, no duplicate keys
 *    3 validate   arguments.c    defaults, schema, no injected names
 *    4 limits     gate.c         calls per run and turn, depth, wall clock, spend, repeated failures
 *    5 policy     gate.c         tools_policy, limits.deny
 *    6 tool.pre   gate.c         hooks
 *    7 confirm    confirm.c      asks the user, last, about the final arguments
 *    8 execute    execute.c      timeout, retry, protected files
 *    9 tool.post  outcome.c      hooks
 *   10 bound      bound.c        redaction, artifact, head and tail
 *   11 return     call.c */
#pragma once
#include "tool/runtime.h"

typedef struct Call {
    Str id;                              /* of the model's call; empty: generate one */
    Str name;                            /* canonical or alias */
    const ToolEntry *entry;              /* from a preceding registry_find; NULL: look it up */
    Str scope;                           /* additional scope for the lookup; empty: none. Not inherited by nested
                                          * calls */
    Str arguments;                       /* JSON text as received. Empty: {} for a tool without parameters, else an
                                          * error. A caller that allows missing arguments passes {} */
    Value args;                          /* the same, already parsed, an object: copied. GONE: parse `arguments` */
    Str agent, parent;                   /* of the caller; empty: the top level */
    Str owner;                           /* id of the delegation whose agent calls, also through meta.call_tool; empty:
                                          * the top level */
    int depth;                           /* of delegation */
    int nesting;                         /* of meta.call_tool */
    const Str *agents; size_t n_agents;  /* the enclosing agents, outermost first */
    const Str *tools; size_t n_tools;    /* the agent's tool list; NULL: all of the run's */
    const Str *servers; size_t n_servers;/* MCP servers whose tools it may use, including later ones; NULL: all */
    const Str *removed; size_t n_removed;/* removed by a completion.pre hook for this turn, and blocked_tools: names and
                                          * patterns */
    const Str *hooks; size_t n_hooks;    /* hooks added by name (a delegation's) */
    Str key;                             /* the idempotency key of an earlier attempt whose outcome is unknown; empty: a new one */
    bool nested;                         /* on its caller's thread: takes no slot and no lock */
    struct RunLane *lane;                /* mutating calls with the same lane run one at a time; NULL: the run's lane. An agent that a mutating
                                          * script waits for needs its own lane, or it would wait for the script */
    bool *once;                          /* set when it, or a call inside it, was executed and must not be repeated; NULL: not wanted */
    bool by_user;                        /* the user of a conversation makes it, not its agent */
    bool media;                          /* a model gets the result: its images and PDFs are kept with the run */
    bool wait;                           /* wait for a background tool (harness call) */
    const struct ToolRoot *root;         /* the folder that the caller, and so this call, is confined to; NULL: none */
    const Person *person;                /* receives questions and notifications of this call and its nested calls; NULL: the run's */
    const Person *task_person;           /* the same for the background task that the call became; must outlive it; NULL: the run's */
    /* Called once, on the task's thread, when the background task that the call became has ended. `r` is its result; NULL: none, because of
     * an internal fault (`why`), or cancelled before it began (`why` empty). May be NULL. */
    void (*task_ended)(void *ctx, const Result *r, Str why);
    void *task_ctx;
    int64_t timeout_ms;                  /* if lower than the tool's; 0: none */
    size_t before;                       /* number of calls before it in the same reply of the model; 0 for other
                                          * callers */
    /* Both run on the call's thread and may be NULL. */
    void (*begun)(void *ctx, const struct Call *call);   /* called when tool_call_all starts the call */
    void (*ended)(void *ctx, const Result *r);       /* called when its result is complete */
    void *ended_ctx;                     /* for both */
    /* --trace: called as each step ends. */
    void (*trace)(void *ctx, CallStep step, int64_t elapsed_ns, Str detail);
    void *trace_ctx;
} Call;

/* Runs `call` through the whole pipeline. Blocks; `cancel` (NULL, or a child of run_cancel) ends it early. Fails only
 * on internal errors (a journal that cannot be written): a tool's own failure is a result, not an Error.
 * Thread-safe. */
bool tool_call(Run *run, const Call *call, Cancel *cancel, Result *out, Error *err);

/* Runs all calls of one reply of the model, with the effect of running them in order. Adjacent calls that are read-only
 * or parallel_safe run concurrently, up to limits.max_concurrency. Any other call waits for all calls before it, and
 * all calls after it wait for it. Results are in call order. On failure the remaining calls are not started, and no
 * result needs clearing. */
bool tool_call_all(Run *run, const Call *calls, size_t n, Cancel *cancel, Result *out, Error *err);

/* The tools visible to a caller: those in the run's list and the call's, without those that policy hides. free()
 * *out. */
size_t tool_visible(Run *run, const Call *call, const ToolEntry ***out);
/* The same with those that policy or the condition of a bundle hides. */
size_t tool_known(Run *run, const Call *call, const ToolEntry ***out);
