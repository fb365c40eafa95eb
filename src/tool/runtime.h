/* Everything needed to run a project's tools: the loaded project, its registry, policy, hooks, sandbox, network and store.
 * One per program; any number of runs at the same time. */
#pragma once
#include <stdatomic.h>
#include "event/event.h"
#include "hook/chain.h"
#include "policy/approval.h"
#include "policy/limits.h"
#include "policy/policy.h"
#include "policy/redact.h"
#include "policy/trust.h"
#include "sandbox/mark.h"
#include "store/store.h"
#include "tool/registry.h"
#include "tool/result.h"

typedef struct Runtime Runtime;
typedef struct Run Run;

/* How a person is asked. The answer: no, once, these arguments in this session, the tool in this session, these arguments always in this project. */
typedef enum { CONFIRM_NO, CONFIRM_ONCE, CONFIRM_THESE, CONFIRM_TOOL, CONFIRM_ALWAYS } ConfirmAnswer;
typedef struct ConfirmQuestion {
    Str tool, why;
    Str shown;                           /* the rendered command or a diff, control and bidi characters escaped */
    Str id;                              /* in the store, for `harness approvals`; empty: it is only asked here */
    bool may_tool, may_always;           /* are these answers offered? */
    Buf *reason;                         /* the person's own words with a no, if any */
} ConfirmQuestion;

typedef struct Person {                  /* whoever is there; all NULL: nobody */
    ConfirmAnswer (*confirm)(void *ctx, const ConfirmQuestion *q, Cancel *cancel);   /* never two at a time in one runtime, unless `apart` */
    bool (*ask)(void *ctx, Str message, Value schema, Heap *heap, Value *out, Cancel *cancel, Error *err);
    /* Several questions at once, of every kind. Leaves the answers GONE of those that cannot be put to it. NULL: forms go to `ask`. */
    bool (*inquire)(void *ctx, HostAsk *asks, size_t n, Heap *heap, Cancel *cancel, Error *err);
    void (*progress)(void *ctx, Str call_id, Value done, Value total, Str message);  /* never while a question is open, nor two at a time */
    void (*log)(void *ctx, LogLevel level, Str source, Str message);     /* what scripts log, redacted; any thread; NULL: not told */
    /* A limit of the conversation is reached: shall it go on, up to as much again? NULL: nobody is asked. Never two at a time in one runtime. */
    bool (*go_on)(void *ctx, const char *limit, int64_t value, Cancel *cancel);
    bool apart;                          /* there is a way to it for each call: questions do not wait for one another */
    const char *source;                  /* for events: "terminal", "elicitation" */
    void *ctx;
} Person;

/* Asks the person whether to trust a project that needs it. `state` says what is new. */
typedef bool RuntimeAskTrust(void *ctx, const TrustSubject *s, TrustState state, bool *always);

typedef struct RuntimeConfig {           /* the zero value is the default */
    const char *dir, *config, *tools;    /* as in ProjectInput */
    const char *fallback;                /* as in ProjectInput */
    bool lenient, strict;
    const char *state;                   /* path of the database; NULL: HARNESS_STATE, else the place agents.md names */
    bool ephemeral;                      /* no store */
    bool own_process;                    /* the program, not an embedder: restrain it after loading */
    const char *const *writable;         /* own_process: more places it must be able to write; NULL-terminated, or NULL */
    /* Opens files that the person named, when it is known where tools can write (confine_reach) and before the process is restrained. NULL: none.
     * Not when the project is loaded again. */
    bool (*open_files)(void *ctx, const Project *p, Error *err);
    void *open_files_ctx;
    bool yes;                            /* --yes */
    const Str *approve; size_t n_approve;        /* --approve NAME */
    const Str *allow_domains; size_t n_allow_domains;
    int64_t timeout_ms;                  /* --timeout, for tools that set none */
    const Log *log;                      /* outlives the runtime; NULL: none */
    bool reading;                        /* only shows the project: needs no trust, and starts, connects to and expands nothing */
    bool untrusted;                      /* opens without trust too: then every call fails and says why */
    bool trusted;                        /* the caller has seen to it: a copy of a project that is trusted */
    const char *trust;                   /* as trust_state takes it; NULL: only the record counts */
    RuntimeAskTrust *ask_trust;          /* NULL: there is no person to ask */
    MarkAsk *ask_changed;                /* about files that changed while a call could write them; NULL: they are put back */
    void *ask_trust_ctx;                 /* of both */
    Runtime *share;                      /* the same project loaded again: launcher, store and connections are those of this one, each may
                                            end first; where the process may write has been settled. NULL: none */
} RuntimeConfig;

/* Loads the project (all problems reported), starts the sandbox's launcher first. False when the project is invalid
 * (then `problems` says why and err->kind is ERR_NONE) or something else failed (*err). */
bool runtime_open(const RuntimeConfig *config, Runtime **out, Problems *problems, Error *err);
void runtime_close(Runtime *rt);         /* every run has ended and every result was cleared by then; NULL is fine */
/* May anything of the project be started, connected to or expanded? Else ERR_POLICY. Trust that was given meanwhile counts. Any thread. */
bool runtime_may_act(Runtime *rt, Error *err);
const TrustSubject *runtime_trust_subject(const Runtime *rt);
const Project *runtime_project(const Runtime *rt);
Registry *runtime_registry(Runtime *rt);
const Limits *runtime_limits(const Runtime *rt);
const Policy *runtime_policy(const Runtime *rt);
Redactor *runtime_redactor(Runtime *rt); /* whoever reads a secret adds it here */
Str runtime_workspace(const Runtime *rt);
/* Where definitions of built-in tools live. Frozen when runtime_open returns: whoever registers a tool later brings a frozen heap
 * of its own that outlives the runtime. */
/* NULL with *err when the project has one that cannot be opened; NULL without (ERR_NONE) when it is ephemeral. */
Store *runtime_store(Runtime *rt, Error *err);
/* What rooms below do for scripts: register_agent, delegate, complete. Before the first call; `user` is theirs. */
void runtime_extend(Runtime *rt, const HostCalls *calls, void *user);
void *runtime_user(Runtime *rt);
Workers *runtime_workers(Runtime *rt);
Client *runtime_client(Runtime *rt);
const Log *runtime_log(const Runtime *rt);   /* NULL: none */
Sandbox *runtime_sandbox(Runtime *rt);
const Rules *runtime_net(const Runtime *rt);
/* What the next program may touch; starts the proxy when one is needed. */
bool runtime_rules(Runtime *rt, SandboxRules *out, Error *err);
/* A folder as the settings write it: absolute, from the project's root, or ~/…; in `arena`. */
const char *runtime_path(const Runtime *rt, Str path, Arena *arena);

/* Around whatever could write protected files (tamper.c): a call, a hook's program, a program that goes on beside calls. After runtime_guard comes
 * runtime_unguard; between them, when work is done, runtime_verify puts back what it changed. `programs`: it may start some, so the proxy must be
 * there. */
bool runtime_guard(Runtime *rt, bool programs, Error *err);
bool runtime_verify(Runtime *rt, Error *err);                /* ERR_SANDBOX "sandbox.tampered: …" */
void runtime_nested(Runtime *rt, Buf *fresh);                /* repositories that were made below the workspace meanwhile, one a line */
void runtime_unguard(Runtime *rt);
/* For the last moments of a program that does not wait for its calls: kills all they have started, then compares. False: the next start has to. Afterwards no
 * call can begin or end, so the caller leaves. */
bool runtime_abandon(Runtime *rt, int timeout_ms);
/* Could a change of the project's files be a call's and not a person's? Somebody is at work who could write them, or has spoilt them. */
bool runtime_suspects(Runtime *rt);

/* One definition that a program or a script makes while running (project_define). NULL on
 * failure. It must outlive whatever is registered from it; project_free() it. */
Project *runtime_define(Runtime *rt, DefinitionKind kind, Str definition, Error *err);

/* The scope of the notes that hold the project's approvals for good: {tool, args, rule, by, time_ns} each. */
void runtime_approval_scope(Str root, Buf *out);

/* For register_agent. Is it switched on, within its cap, and do the hooks of meta.KIND_register let it pass? Counts it.
 * When it is registered, runtime_meta_made writes it down. runtime_meta_again: a call that is repeated in a resumed run wants to register what was
 * restored already; once for each. */
bool runtime_meta_allowed(Host *h, DefinitionKind kind, Value definition, Error *err);
bool runtime_meta_made(Host *h, DefinitionKind kind, Value definition, Error *err);
bool runtime_meta_again(Host *h, DefinitionKind kind, Value definition);
Run *runtime_host_run(Host *h);          /* whose call a Host belongs to */
struct RunLane *runtime_host_lane(Host *h);      /* for calls of an agent that the Host's script starts and waits for: see Call.lane */
const struct Call *runtime_host_call(Host *h);
Str runtime_host_confined(Host *h);              /* the folder that its call is confined to; empty: the whole workspace */
const Person *runtime_host_person(Host *h);      /* whom its questions go to */
/* complete() by whoever is there (a client's model), through the hooks of completion.*: for runs that have no model. */
bool runtime_host_sample(Host *h, Value request, Heap *heap, Value *out, Error *err);

/* A run: one conversation, one `harness call`, one MCP session. Its counters, caches, approvals, reads, tasks and events. */
typedef struct RunConfig {
    Str id;                              /* empty: a new one (UUID v7) */
    Str session;                         /* keeps reads, approvals and cache between runs; empty: none */
    Str agent;                           /* shown in the list of runs */
    Person person;
    const EventSink *sinks; size_t n_sinks;      /* beside the store; freed with the run */
    const Str *only; size_t n_only;      /* the run's tool list; NULL: all */
    Run *after;                          /* goes on where this one is: reads, approvals and cache; NULL: from nothing */
    bool no_store;
    bool conversation;                   /* the person is asked before a limit ends it: see run_go_on */
    bool person_itself;                  /* harness call: what it calls may ask for the tasks of other runs (task_apart) */
    bool served;                         /* of a client that stays as long as it likes: no turns to count in, and max_tool_calls only where it is set */
    bool resume;                         /* `id` is a run of the store: go on with it; ERR_POLICY when another process has it */
    void *user;                          /* for rooms below */
} RunConfig;

typedef enum RunStatus {
    RUN_OPEN,                            /* none yet: it goes on */
#define RUN_STATUS(id, name) RUN_##id,
#include "tool/run_statuses.def"
#undef RUN_STATUS
} RunStatus;
const char *run_status_name(RunStatus s);                    /* "" for RUN_OPEN */

bool run_start(Runtime *rt, const RunConfig *config, Run **out, Error *err);
/* Cancels tasks that still run, writes run.ended, frees. False when that could not be written; *err says why. */
bool run_end(Run *r, RunStatus status, Error *err);
/* Returns when the run's events so far are committed. A served run waits only before a call that may change something. */
bool run_settle(Run *r, bool may_change, Error *err);
/* The next message that another process has sent to the run, and its number. run_note_message: an earlier process has said those up to n. */
bool run_take_message(Run *r, int64_t *n, Buf *text);
void run_note_message(Run *r, int64_t n);
bool run_note_title(Run *r, Str prompt, Error *err);         /* the first words of a run's first prompt are its title */
Runtime *run_runtime(Run *r);
Str run_id(const Run *r);
/* Images and PDFs of messages, kept with the run under their hash. One that holds a known secret is not kept. */
bool run_media_put(Run *r, const List *media, Error *err);
/* The parts that an event names, from the store. Of one that is not there, *lost counts. */
bool run_media_get(Run *r, Value named, Heap *heap, List **out, uint32_t *lost, Error *err);
Store *run_store(const Run *r);                              /* NULL: nothing of this run is stored */
void *run_user(Run *r);
EventStream *run_events(Run *r);
Cancel *run_cancel(Run *r);                                  /* fires: the whole run stops */
Hooks *run_hooks(Run *r);                                    /* the project's, and those that were registered in this run */
bool run_turn_start(Run *r, Str text, Error *err);           /* resets ctx and the turn's state; no hooks, no event */
/* A limit is reached. Asks the person of a conversation whether to go on; on yes adds `value` to *more, writes limit.reached with go_on, and is true.
 * False: the limit holds. After one no, nobody is asked again in this turn. Any thread. `person` NULL: the run's. */
bool run_go_on(Run *r, const Person *person, EventPlace place, const char *limit, int64_t value, atomic_llong *more, Cancel *cancel);
void run_turn_model(Run *r, Str model);                      /* what conditions see as ctx.model */
void run_note_usage(Run *r, Str json);                       /* for the list of runs and run.ended */
bool run_bundle_active(Run *r, const struct Call *call, const Bundle *bundle, bool *out, Error *err);
/* Asks the hooks of an event that is not a tool's: about `payload`, a dict in `heap`; the outcome's values are there too.
 * `who` says for whom. */
void run_ask_hooks(Run *r, const struct Call *who, HookEvent event, Heap *heap, Value payload, Cancel *cancel, HookOutcome *out);
/* Registers again what an earlier process of the run has, under the policy of now; nothing is written down. Of an agent only the question
 * whether it may be. */
bool run_meta_restore(Run *r, DefinitionKind kind, Value definition, Error *err);
void run_add_usage(Run *r, int64_t tokens, double usd);      /* for limits.max_tokens and max_spend_usd */
void run_add_calls(Run *r, int64_t calls);                   /* made by an earlier process of the run, for limits.max_tool_calls */
void run_add_replies(Run *r, int64_t replies);               /* of the model at depth 0: the run's turns */
int64_t run_replies(const Run *r);
int64_t run_calls(const Run *r);                             /* all that passed the limits, those of scripts and sub-agents included */

/* Large results: stored ones, or in memory when there is no store. Only the run's own can be read. */
bool run_artifact_put(Run *r, Str tool, Str mime, Str bytes, Buf *key, Error *err);
bool run_artifact_get(Run *r, Str key, uint64_t offset, uint64_t limit, Buf *out, uint64_t *total, Error *err);

/* Which files were read in this run or session, and what they were then: a write needs it. */
void run_read_put(Run *r, Str absolute, const JailStat *stat);
bool run_read_get(Run *r, Str absolute, JailStat *out);
