/* Private header: one running dispatch, and asking one hook. */
#pragma once
#include "hook/chain.h"

/* A row of artifact/hook_events.def. */
typedef struct HookEventInfo { const char *name; unsigned decisions; /* 1 << HookDecision each */ const char *changes; HookFailure failure; } HookEventInfo;
const HookEventInfo *hook_event_info(HookEvent e);

/* A list is immutable: adding creates a new one. So a dispatch needs no lock and keeps using the list it started
 * with. */
typedef struct HookEntry { const HookDef *def; HookCounter *counter; } HookEntry;
typedef struct HookOrder { struct HookOrder *older; size_t n; HookEntry at[]; } HookOrder;
const HookOrder *hook_list_order(Hooks *h, HookEvent event);          /* may be NULL */
Workers *hook_list_workers(Hooks *h);
const Project *hook_list_project(Hooks *h);
/* True if the hook is asked, provided that its `when` holds: by agent, event and the tools of a command hook. */
bool hook_takes_part(const HookDispatch *d, const HookDef *def);

/* The payload is in the worker's heap, frozen: `when` reads it, hooks get copies. Values in `held` survive a
 * collection. */
enum { HOOK_PAYLOAD, HOOK_NAME, HOOK_HELD };
typedef struct HookRun {
    const Project *project;
    const HookDispatch *d;
    HookOutcome *out;
    const HookEventInfo *info;
    Worker *worker;
    Host host;
    Value held[HOOK_HELD];
    size_t taken;                        /* bytes of the heap in use before hooks ran; the rest is their garbage */
    bool modified;
} HookRun;

typedef struct HookAnswer {
    HookDecision says;
    Value value;                         /* the payload or the request, in the worker's heap; lives until the next script runs */
    char reason[HOOK_REASON_MAX];
} HookAnswer;

/* Asks one hook. False: the hook failed. `token` carries its deadline. */
bool hook_ask_script(HookRun *r, const HookDef *def, HookAnswer *out, Error *err);
bool hook_ask_command(HookRun *r, const HookDef *def, Cancel *token, HookAnswer *out, Error *err);
bool hook_answer_read(const HookEventInfo *info, Value v, HookAnswer *out, Error *err);
void hook_reason_set(char out[HOOK_REASON_MAX], const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Deep copy of JSON values. FOREIGN: from another heap, copies everything. OWN: copies containers only and shares
 * strings. */
typedef enum { HOOK_COPY_FOREIGN, HOOK_COPY_OWN } HookCopy;
bool hook_payload_copy(Heap *h, Value v, HookCopy how, Value *out, Error *err);
/* Applies the payload `now` returned by a hook: *next is `old` with the changes that the event's row permits, frozen,
 * and shares nothing mutable with `now`; *next is `old` itself if nothing changed. Other changes fail with
 * ERR_SCRIPT. */
bool hook_payload_change(Heap *h, const HookEventInfo *info, Value old, Value now, Cancel *cancel, Value *next, Error *err);
Str hook_payload_text(Value payload, Str key);                        /* empty if it is not a string */
