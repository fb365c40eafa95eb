/* Hooks: filter by `when` → order by priority, then path → dispatch one after another → compose. Fails closed.
 *
 * One dispatch asks every hook of an event about one payload. allow passes; modify replaces the payload, and every hook
 * that had already passed is asked again about the new one, and may then only allow or block; block and delegate end the
 * chain. A hook that fails (raises, times out, its `when` raises, returns no valid decision, changes what the event's table
 * does not let it change) blocks, unless its definition says on_error: allow. The table of events is hook/events.def. */
#pragma once
#include "artifact/project.h"
#include "hook/stats.h"
#include "script/host.h"
#include "script/worker.h"

typedef enum {
#define HOOK_EVENT(id, name, decisions, changes, failure) HOOK_##id,
#include "hook/events.def"
#undef HOOK_EVENT
    HOOK_EVENT_COUNT
} HookEvent;

const char *hook_event_name(HookEvent e);                    /* "tool.pre"; the custom and meta families: "custom.*", "meta.*" */
bool hook_event_find(Str name, HookEvent *out);

typedef enum { HOOK_ALLOW, HOOK_BLOCK, HOOK_DELEGATE } HookDecision;

/* One decision, for --trace and events. `hook` and `reason` are valid only during the call. */
typedef struct HookTrace { Str hook; HookEvent event; const char *decision; Str reason; bool failed; bool again; int64_t elapsed_ns; } HookTrace;

typedef struct Hooks Hooks;                                  /* every hook of a project and those registered at run time */

/* `project` and `workers` outlive it. */
Hooks *hook_list_new(const Project *project, Workers *workers, HookStats *stats);
void hook_list_free(Hooks *h);
/* A hook registered at run time; the definition is borrowed for good. Any thread. */
bool hook_list_add(Hooks *h, const HookDef *def, Error *err);
bool hook_list_any(Hooks *h, HookEvent event, Str custom);   /* is there a hook for it at all? Cheap: callers skip building payloads */

typedef struct HookDispatch {
    HookEvent event;
    Str name;                            /* full name of a custom or meta event; else empty */
    Value payload;                       /* a dict; not changed */
    Heap *heap;                          /* where the outcome's payload is made; usually the payload's own */
    const Host *host;                    /* of hooks: read-only jail, the hooks' own cache and ctx */
    Cancel *cancel;
    const Str *agents;                   /* the agents this happens inside, outermost first: their inline hooks take part */
    size_t n_agents;
    const Str *extra;                    /* hooks added by name (a delegation's `hooks`) */
    size_t n_extra;
    Str session, call_id;                /* for command hooks' environment */
    void (*trace)(void *ctx, const HookTrace *t);
    void *trace_ctx;
} HookDispatch;

typedef struct HookOutcome {
    HookDecision decision;
    bool modified;
    Value payload;                       /* after all modifications, in d->heap */
    Value request;                       /* HOOK_DELEGATE: the dict given to delegate() */
    Str hook;                            /* that blocked or delegated; borrowed from its definition */
    bool failed;                         /* it blocked because it failed */
    char reason[512];                    /* "hook NAME failed: …" when it failed */
} HookOutcome;

/* Never fails: a fault of its own is a block. Any thread. */
void hook_dispatch(Hooks *h, const HookDispatch *d, HookOutcome *out);
