/* Hooks: filter by `when` → order by priority, then path → ask one after another → combine. Fails closed.
 *
 * One dispatch asks every hook of an event about one payload. allow passes. modify replaces the payload; every hook
 * ordered before whose `when` matches the new payload (whether or not it matched before) is asked again, and may then
 * only allow or block. block and delegate end the chain. A modify that changes nothing is an allow.
 *
 * A hook that fails blocks (it or its `when` raises, it times out, it returns no valid decision, such as None, or it
 * changes what the event's table does not permit), unless its definition says on_error: allow. The table of events is
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

typedef struct Hooks Hooks;                                  /* the hooks of a project and those registered at run time */

/* `project`, `workers` and `stats` must outlive it; `project` and `stats` may be NULL. */
Hooks *hook_list_new(const Project *project, Workers *workers, HookStats *stats);
void hook_list_free(Hooks *h);                               /* no dispatch may be running */
/* Registers a hook at run time; the definition must outlive the list. Thread-safe; a running dispatch does not see it.
 * ERR_CONFIG: unknown event, duplicate name, or a command hook of another event than tool.pre and tool.post. */
bool hook_list_add(Hooks *h, const HookDef *def, Error *err);
bool hook_list_any(Hooks *h, HookEvent event, Str custom);   /* true if the event has hooks; cheap */

enum { HOOK_NESTING_MAX = 8, HOOK_REASON_MAX = 512 };

typedef struct HookDispatch {
    HookEvent event;
    Str name;                            /* full name of a custom or meta event; else empty */
    Value payload;                       /* a dict of JSON values; not modified. tool.pre: `arguments` is the JSON text of `args` */
    Heap *heap;                          /* for the payload of the outcome; usually the payload's own heap */
    const Host *host;                    /* for hooks: read-only jail, separate cache and ctx; `cancel` is replaced for each hook.
                                          * Command hooks use its sandbox and rules. May be NULL */
    Cancel *cancel;
    const Str *agents;                   /* enclosing agents, outermost first: their inline hooks take part */
    size_t n_agents;
    const Str *extra;                    /* hooks added by name (a delegation's `hooks`) */
    size_t n_extra;
    Str session, call_id;                /* for the environment of command hooks */
    unsigned nesting;                    /* number of enclosing dispatches (a hook that emits an event); beyond HOOK_NESTING_MAX it
                                          * blocks, or is dropped if a notification */
    void (*trace)(void *ctx, const HookTrace *t);
    void *trace_ctx;
} HookDispatch;

typedef struct HookOutcome {
    HookDecision decision;               /* allow, block or delegate; after a modify: allow, and `modified` */
    bool modified;
    Value payload;                       /* after all modifications, in d->heap; d->payload itself if there were none. tool.pre:
                                          * `arguments` is regenerated; tool.post: `content` and `result` agree */
    Value request;                       /* HOOK_DELEGATE: the dict given to delegate() */
    Str hook, file;                      /* that blocked or delegated, and its file; borrowed; empty: the dispatch itself */
    bool failed;                         /* blocked because the hook failed */
    unsigned commands;                   /* programs started: the caller must then check the protected files */
    char reason[HOOK_REASON_MAX];        /* "hook NAME failed: …" after a failure; "cancelled" if the token fired */
} HookOutcome;

/* Whether a hook is asked about a call of which only a part of the payload is known. */
typedef enum { HOOK_COVERS_NEVER, HOOK_COVERS_SOMETIMES, HOOK_COVERS_ALWAYS } HookCover;
/* Visits the hooks that are, or may be, asked in this dispatch, in their order. `d->payload` has only the keys that are the same in every call of the
 * tool. SOMETIMES: `when` depends on more. Asks no hook; `when` is pure. Needs event, payload, agents, extra and cancel of `d`. */
void hook_covering(Hooks *h, const HookDispatch *d, void (*each)(void *ctx, const HookDef *def, HookCover cover), void *ctx);

/* Formats a refusal: "DID by hook NAME: REASON", or only the reason if it names the hook already or no hook decided.
 * Writes to `out`. */
enum { HOOK_SAID_MAX = HOOK_REASON_MAX + 256 };
const char *hook_outcome_say(const HookOutcome *o, const char *did, char out[HOOK_SAID_MAX]);

/* Never fails: an internal error blocks. Thread-safe. */
void hook_dispatch(Hooks *h, const HookDispatch *d, HookOutcome *out);
