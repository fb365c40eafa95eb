/* State of a Runtime and a Run. Private to src/tool/. */
#pragma once
#include <pthread.h>
#include "base/scheduler.h"
#include "base/table.h"
#include "base/vec.h"
#include "net/proxy.h"
#include "tool/bridge/bridge.h"
#include "tool/protect/confine.h"
#include "tool/kind/kind.h"
#include "tool/protect/record.h"
#include "tool/task/task.h"

typedef struct Pipe Pipe;
typedef struct Control Control;

/* Shared by the runtimes of one project after a reload; the last one frees it. */
typedef struct RuntimeShared {
    atomic_int holders;
    Sandbox *sandbox;
    Client *client;
    pthread_mutex_t lock;                /* guards what follows */
    Store *store;                        /* opened on first use */
    Store *local;                        /* a state file beside a store that is a database; opened on first use */
} RuntimeShared;

struct Runtime {
    RuntimeConfig config;
    RuntimeShared *shared;
    Arena arena;                         /* paths, lists and names created while opening */
    Heap *host_heap;                     /* host modules */
    Dict *tool_modules, *hook_modules;
    Heap *heap;                          /* definitions made by the program */
    VEC(Schema *) schemas;               /* of the definitions in `heap` */
    Project *project;
    Registry *registry;
    Policy *policy;
    Limits limits;
    Redactor *redactor;
    Workers *workers;
    Hooks *hooks;
    HookStats *hook_stats;
    Sandbox *sandbox;
    SandboxRules rules;
    Jail *jail, *hook_jail;
    const char *original;                /* the workspace that `rules.workspace` is a copy of: runtime_move; NULL: it is none */
    Str moved_root;                      /* the project's root in the copy; empty: it is not there */
    const char *const *hidden;           /* paths hidden from every jail: the state; NULL-terminated, in its arena */
    VEC(ToolRoot *) roots;               /* of tools that are confined; complete before the first call */
    bool command_hooks;                  /* some hook runs a program */
    Rules *net;                          /* for http.*; NULL: any public host */
    Client *client;
    const char *const *guarded;          /* from runtime_protected; NULL: not computed yet. Guarded by `lock` */
    const char *state;                   /* of the state file; NULL: ephemeral */
    const char *database;                /* runs are stored there instead; NULL: in the state file */
    RecordPlaces places;                 /* possible folders of marks */
    const char *record;                  /* the folder of our own mark; NULL: none, and `record_problem` says why */
    Error record_problem;
    RecordSeen seen[RECORD_FOLDERS];     /* guarded by `guarding` */
    HostCalls calls;
    void *user;                          /* for a higher room: runtime_extend */
    TrustSubject subject;                /* what its project asks for */
    atomic_bool may_act;                 /* the project is trusted and may run code (not only displayed) */

    pthread_mutex_t lock;                /* guards what follows */
    VEC(StoreHook) counted;              /* the part of the hooks' counters that is already in the store */
    Proxy *proxy;                        /* started when first needed */
    _Atomic(Pipe *) pipe;                /* an unused pipe, exchanged atomically */
    Pipe *pipes;                         /* the other unused pipes */
    Control *control;                    /* started when first needed */
    pthread_mutex_t asking;              /* only one question to the user at a time */

    pthread_mutex_t guarding;            /* guards what follows */
    Protect *protect;                    /* of rules.protect, see runtime_guard; unchanged while anything that could
                                          * write is running */
    int at_work;                         /* number of running calls and hooks that could write */
    bool spoilt;                         /* something could not be restored */
    bool unverified;                     /* a call ran since the last verification that found no other call running */
    Mark *mark;                          /* of `protect`; busy while anything that could write is running */
    Table nested;                        /* known repositories below the workspace, see tool/protect/nested.h */
};

typedef struct RunRead { Str path; JailStat stat; } RunRead;
typedef struct RunGrant { Str tool, args; } RunGrant;          /* args empty: any arguments */
typedef struct RunMessage { int64_t n; char *text; } RunMessage;    /* a command of the store */
typedef struct RunFailure { Str tool; uint64_t args, error; int count; } RunFailure;

/* Mutating calls of one lane run one at a time. */
typedef struct RunLane { bool busy; } RunLane;

struct Run {
    Runtime *rt;
    RunConfig config;                    /* strings in `arena` */
    Arena arena;
    Str id;
    char prefix[17];                     /* random, per process of the run: makes call ids and keys unique */
    EventStream *events;
    Cancel *cancel;
    int64_t started_ns;                  /* wall clock */
    Store *store;                        /* NULL: none */
    Shelf *cache, *ctx, *metrics, *hook_cache, *hook_ctx;
    Approvals *approvals;
    Jail *jail;                          /* a view of the runtime's, with the files that the user picked in this run */
    Host host, hook_host;                /* template of every call's Host */
    atomic_ullong calls_made;            /* for ids */
    atomic_llong tool_calls, replies;
    atomic_llong more_calls;             /* granted by the user beyond limits.max_tool_calls */
    atomic_bool declined;                /* the user refused to extend a limit in this turn */
    atomic_llong tokens;
    _Atomic double spend;
    atomic_int turn;
    Hooks *_Atomic own_hooks;            /* set once it has registered a hook; else NULL: the project's */
    atomic_bool plan;                    /* see run_set_plan */
    atomic_bool has_artifacts;
    atomic_bool failed;                  /* some call has failed: see repeat.c */
    atomic_bool parked;                  /* see park.h; set with `lock` held */

    pthread_mutex_t lock;                /* guards what follows */
    pthread_cond_t changed;              /* signalled when `busy` was cleared */
    size_t open_calls;                   /* with RunConfig.parks: calls that have begun and not ended */
    Buf parked_on;                       /* ids of the questions of a parked run, separated by spaces */
    RunLane lane;                        /* see Call.lane; `busy` of every lane is guarded by `lock` */
    Str usage;                           /* JSON; in `arena` */
    Str turn_text, turn_model;           /* of the current turn; in `turn_arena` */
    Arena turn_arena;
    Scheduler *scheduler;                /* for the calls of one turn; created on first use */
    Store *memory;                       /* artifacts of a run without a store; opened on first use */
    size_t memory_bytes;                 /* their size */
    VEC(RunRead) reads;
    BridgeRate bridge_rate;
    VEC(RunChange) changes;              /* strings in `arena` */
    size_t undo_bytes;                   /* size of the old contents kept by this process */
    VEC(RunGrant) grants;
    VEC(RunMessage) messages;            /* messages from other processes that were not delivered yet */
    int64_t messages_said;               /* number of the last delivered message */
    int64_t commands_seen;               /* number of the last command; guarded by the control's lock */
    VEC(RunFailure) failures;
    VEC(Project *) made;                 /* one for each tool and hook registered in the run */
    int64_t defined[DEFINITION_COUNT];   /* number registered in the run, by kind */
    VEC(Str) restored;                   /* registered by run_meta_restore and not yet by a script; in `arena` */
    Tasks *tasks;                        /* NULL: none started */
};

/* runtime.c: see protected.h; in the runtime's arena. `self_edit`: without the project's own files. */
const char *const *runtime_protected(Runtime *rt, bool self_edit);
bool runtime_make_jails(Runtime *rt, Error *err);           /* of `rules` */

/* trust.c: after loading. False when the project is untrusted and the configuration does not allow that. */
bool runtime_check_trust(Runtime *rt, Error *err);
/* tamper.c: at the end of a call, before runtime_verify: if files differ, asks the user at the terminal whether to keep
 * them. */
void runtime_review(Runtime *rt, Cancel *cancel, int64_t *waited_ns);
void runtime_add_secrets(Runtime *rt);                     /* secrets.c: values of env, headers and secrets, for the redactor */
/* tamper.c: at the end of the runtime. */
void runtime_guard_end(Runtime *rt);

/* run_session.c: of RunConfig.session; without it, of this run (see run_park) */
bool run_session_load(Run *r, Error *err);
bool run_session_save(Run *r, Error *err);
bool run_session_follow(Run *r, Run *before, Error *err);       /* takes over the state of `before` */

/* run_changes.c: keeps the old content of a file that a call has changed. False: it cannot be kept. */
bool run_change_keep(Run *r, Str tool, Str bytes, Buf *key);
bool run_change_intend(Run *r, Str call, Str json, Error *err);      /* stores what a call is about to change */

/* resolve.c: true if its condition is met in this turn */

/* confirm.c: a question to the user about a call. `why` says what requires it, `rule` is its name in events. may_tool, may_keep: whether the
 * answers "this tool" and "always" are offered. */
typedef struct RunQuestion {
    EventPlace place;
    Str call_id, tool, args_json, why, rule, shown;
    const Person *person;
    int64_t *waited_ns;
    bool may_tool, may_keep;
    const Pipe *pipe;                    /* of the call */
    bool parks;                          /* park_may: the run may be parked while the user is asked */
} RunQuestion;
/* The answer. `approval`: its id in the store, for store_approval_use; empty: none is needed. `args`: other arguments that the user asked for; the call
 * is not approved yet then. `by`: the user who answered. Filled on failure too. */
typedef struct RunAnswer { const char *source; Buf approval, args, by; } RunAnswer;
/* False if the user refused (ERR_POLICY) or asking failed. */
bool run_confirm(Run *r, const RunQuestion *q, Cancel *cancel, RunAnswer *out, Error *err);
void run_answer_clear(RunAnswer *a);

/* approval.c: answers stored for the project until they are revoked. One applies to the tool's current definition, the same arguments and the same rule. */
bool run_approval_kept(Run *r, const RunQuestion *q, bool *kept, Error *err);
bool run_approval_keep(Run *r, const RunQuestion *q, Str by, Error *err);
void run_project_print(Run *r, Buf *out);                /* run_session.c: a digest of the files of the project, the same on every machine */
void run_tool_print(Run *r, Str name, Buf *out);         /* run_session.c: a digest of the tool's definition, as far as the project contains it.
                                                          * Empty: no such tool */

/* Around every wait for the user: it does not count towards timeouts or the call's duration. run_wait_end returns its
 * duration. */
int64_t run_wait_start(Cancel *cancel);
int64_t run_wait_end(Cancel *cancel, int64_t started_ns);

void run_escape(Buf *out, Str text);                     /* escapes control, bidirectional and invisible characters as
                                                          * \u{…} */

/* host_calls.c, script_questions.c, meta.c */
bool runtime_host_ask(Host *h, HostAsk *asks, size_t n, Heap *heap, Error *err);
bool runtime_host_progress(Host *h, Value done, Value total, Str message, Error *err);
extern const HostCalls runtime_host_calls, runtime_judging_calls;
bool runtime_meta_call(Host *h, Str name, Value args, int64_t timeout_ms, Heap *heap, Value *out, Error *err);
bool runtime_meta_list(Host *h, Str pattern, Heap *heap, Value *out, Error *err);
bool runtime_meta_tool(Host *h, Value definition, Error *err);
bool runtime_meta_hook(Host *h, Value definition, Error *err);

/* task.c */
void task_list_free(Run *r);             /* cancels and waits */

/* repeat.c: repeated identical failures. `tool` is borrowed from its entry. */
bool run_has_failures(Run *r);
bool run_repeats(Run *r, Str tool, Str args_json);                       /* true if it failed like this three times in a row */
void run_note_outcome(Run *r, Str tool, Str args_json, bool failed, Str error);
