/* Hooks: filter by `when` → order by priority, then path → dispatch one after another → compose. Fails closed.
 *
 * One dispatch asks every hook of an event about one payload. allow passes; modify replaces the payload, and every hook
 * ordered before that wants the new payload (its `when` holds now, whether or not it held before) is asked about it, and
 * may then only allow or block; block and delegate end the chain. A modify that changes nothing is an allow.
 *
 * A hook that fails (raises, times out, its `when` raises, returns no valid decision — None is none —, changes what the
 * event's table does not let it change) blocks, unless its definition says on_error: allow. The table of events is
 * artifact/hook_events.def. Each hook gets a copy of the payload: what it changes there counts only through modify(). `when` sees
 * the payload frozen: an expression that tries to change it raises. */
#pragma once
#include "artifact/project.h"
#include "hook/stats.h"
#include "script/host.h"
#include "script/worker.h"

typedef enum {
#define HOOK_EVENT(id, name, decisions, changes, failure) HOOK_##id,
#define HOOK_FAMILY HOOK_EVENT
#include "artifact/hook_events.def"
#undef HOOK_EVENT
#undef HOOK_FAMILY
    HOOK_EVENT_COUNT
} HookEvent;

typedef enum { HOOK_FAILS_BLOCK, HOOK_FAILS_WITHHOLD, HOOK_FAILS_ONCE, HOOK_FAILS_LOG } HookFailure;

const char *hook_event_name(HookEvent e);                    /* "tool.pre"; the custom and meta families: "custom.*", "meta.*" */
bool hook_event_find(Str name, HookEvent *out);              /* "custom.x" and "meta.x" are found as their families */

typedef enum {
#define HOOK_DECISION(id, name) HOOK_##id,
#include "hook/decisions.def"
#undef HOOK_DECISION
    HOOK_DECISION_COUNT
} HookDecision;
const char *hook_decision_name(HookDecision d);
bool hook_decision_find(Str name, HookDecision *out);

/* One decision, for --trace and events. `hook` and `reason` are valid only during the call. A failure that the hook's definition
 * lets pass is HOOK_ALLOW. */
typedef struct HookTrace { Str hook; HookEvent event; HookDecision decision; Str reason; bool failed; bool again; int64_t elapsed_ns; } HookTrace;

typedef struct Hooks Hooks;                                  /* every hook of a project and those registered at run time */

/* `project`, `workers` and `stats` outlive it; `project` and `stats` may be NULL. */
Hooks *hook_list_new(const Project *project, Workers *workers, HookStats *stats);
void hook_list_free(Hooks *h);                               /* no dispatch is under way */
/* A hook registered at run time; the definition is borrowed for good. Any thread; a dispatch under way goes on without it.
 * ERR_CONFIG: unknown event, a name that is taken, a command hook of another event than tool.pre and tool.post. */
bool hook_list_add(Hooks *h, const HookDef *def, Error *err);
bool hook_list_any(Hooks *h, HookEvent event, Str custom);   /* is there a hook for it at all? Cheap: callers skip building payloads */

enum { HOOK_NESTING_MAX = 8, HOOK_REASON_MAX = 512 };

typedef struct HookDispatch {
    HookEvent event;
    Str name;                            /* full name of a custom or meta event; else empty */
    Value payload;                       /* a dict of JSON values; not changed. tool.pre: `arguments` stands for `args` */
    Heap *heap;                          /* where the outcome's payload is made; usually the payload's own */
    const Host *host;                    /* of hooks: read-only jail, the hooks' own cache and ctx; its `cancel` is replaced for
                                            each hook. Command hooks use its sandbox and rules. NULL: none of that */
    Cancel *cancel;
    const Str *agents;                   /* the agents this happens inside, outermost first: their inline hooks take part */
    size_t n_agents;
    const Str *extra;                    /* hooks added by name (a delegation's `hooks`) */
    size_t n_extra;
    Str session, call_id;                /* for command hooks' environment */
    unsigned nesting;                    /* dispatches this one happens inside of (a hook that emits an event); past
                                            HOOK_NESTING_MAX it is a block, or for a fact nothing */
    void (*trace)(void *ctx, const HookTrace *t);
    void *trace_ctx;
} HookDispatch;

typedef struct HookOutcome {
    HookDecision decision;               /* allow, block or delegate; after a modify: allow, and `modified` */
    bool modified;
    Value payload;                       /* after all modifications, in d->heap; d->payload itself when there were none.
                                            tool.pre: `arguments` is regenerated; tool.post: `content` and `result` agree */
    Value request;                       /* HOOK_DELEGATE: the dict given to delegate() */
    Str hook;                            /* that blocked or delegated; borrowed from its definition; empty: the dispatch itself */
    bool failed;                         /* it blocked because it failed */
    unsigned commands;                   /* programs that were started: the caller compares the protected files then */
    char reason[HOOK_REASON_MAX];        /* "hook NAME failed: …" when it failed; "cancelled" when the token fired */
} HookOutcome;

/* How a refusal reads: "DID by hook NAME: REASON", or the reason alone where it names the hook already or no hook decided. Into `out`. */
enum { HOOK_SAID_MAX = HOOK_REASON_MAX + 256 };
const char *hook_outcome_say(const HookOutcome *o, const char *did, char out[HOOK_SAID_MAX]);

/* Never fails: a fault of its own is a block. Any thread. */
void hook_dispatch(Hooks *h, const HookDispatch *d, HookOutcome *out);
