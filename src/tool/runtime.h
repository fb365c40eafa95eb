/* Everything needed to run a project's tools: the loaded project, its registry, policy, hooks, sandbox, network and
 * store. One per process; any number of concurrent runs. */
#pragma once
#include <stdatomic.h>
#include "event/event.h"
#include "hook/chain.h"
#include "policy/approval.h"
#include "policy/limits.h"
#include "policy/policy.h"
#include "policy/redact.h"
#include "policy/rules.h"
#include "policy/trust.h"
#include "sandbox/draft.h"
#include "sandbox/mark.h"
#include "store/store.h"
#include "tool/registry.h"
#include "tool/result.h"

typedef struct Runtime Runtime;
typedef struct Run Run;
struct BridgeAsk;
struct BridgeAnswer;

/* How the user is asked. The answers: no; this call; these arguments in this session; the tool in this session; these arguments always in this project. */
typedef enum { CONFIRM_NO, CONFIRM_ONCE, CONFIRM_THESE, CONFIRM_TOOL, CONFIRM_ALWAYS } ConfirmAnswer;
typedef struct ConfirmQuestion {
    Str tool, why;
    Str shown;                           /* the rendered command or a diff, control and bidi characters escaped */
    Str id;                              /* id in the store, for `harness approvals`; empty: the question is only asked here */
    bool may_tool, may_always;           /* which of these answers are offered */
    Buf *reason;                         /* the user's text with a refusal, if any */
    bool *silent;                        /* set with CONFIRM_NO if the user gave no answer */
} ConfirmQuestion;

typedef struct Person {                  /* the user; all NULL: none is present */
    ConfirmAnswer (*confirm)(void *ctx, const ConfirmQuestion *q, Cancel *cancel);   /* never concurrently in one runtime, unless `apart` */
    bool (*ask)(void *ctx, Str message, Value schema, Heap *heap, Value *out, Cancel *cancel, Error *err);
    /* Several questions at once, of every kind. Leaves the answer of an unsupported one GONE. NULL: forms go to
     * `ask`. */
    bool (*inquire)(void *ctx, HostAsk *asks, size_t n, Heap *heap, Cancel *cancel, Error *err);
    void (*progress)(void *ctx, Str call_id, Value done, Value total, Str message);  /* never while a question is open, nor concurrently */
    void (*log)(void *ctx, LogLevel level, Str source, Str message);     /* log messages of scripts, redacted;
                                                                          * thread-safe; may be NULL */
    /* Asks whether to continue past a limit of the conversation, with the same amount again. NULL: do not ask. Never called concurrently
     * in one runtime. */
    bool (*go_on)(void *ctx, const char *limit, int64_t value, Cancel *cancel);
    /* Shows a notification, a dialog or a file picker (tool/bridge/bridge.h). NULL: cannot. Never concurrently in one runtime, unless `apart`. */
    bool (*bridge)(void *ctx, const struct BridgeAsk *ask, struct BridgeAnswer *out, Cancel *cancel, Error *err);
    bool forms;                          /* `inquire` shows forms to the user */
    bool away;                           /* the user is at another machine: not at the desktop of this one */
    bool by_store;                       /* answers come only from other processes, through the store: approvals.hold limits the wait */
    bool apart;                          /* each call has its own channel: questions need not wait for each other */
    const char *source;                  /* for events: "terminal", "elicitation" */
    void *ctx;
} Person;

/* Asks the user whether to trust a project that needs it. `state` says what is new. */
typedef bool RuntimeAskTrust(void *ctx, const TrustSubject *s, TrustState state, bool *always);

typedef struct RuntimeConfig {           /* the zero value is the default */
    const char *dir, *config, *tools;    /* as in ProjectInput */
    const char *fallback;                /* as in ProjectInput */
    bool lenient, strict;
    const char *state;                   /* path of the state file; NULL: HARNESS_STATE, else the default location */
    bool ephemeral;                      /* no store */
    bool own_process;                    /* this is the harness program, not an embedder: restrict the process after loading */
    const char *const *writable;         /* own_process: more places it must be able to write; NULL-terminated, or NULL */
    /* Opens files that the user named. Called once it is known where tools can write (confine_reach), and before the process is restricted; not
     * when the project is reloaded. NULL: none. */
    bool (*open_files)(void *ctx, const Project *p, Error *err);
    void *open_files_ctx;
    bool yes;                            /* --yes */
    const Str *approve; size_t n_approve;        /* --approve NAME */
    const Str *allow_domains; size_t n_allow_domains;
    int64_t timeout_ms;                  /* --timeout, for tools that set none */
    const Log *log;                      /* outlives the runtime; NULL: none */
    bool reading;                        /* only displays the project: needs no trust, and starts, connects to and
                                          * expands nothing */
    bool untrusted;                      /* open even without trust: then every call fails with the reason */
    bool policy_only;                    /* opens only what is needed to judge calls: project, trust, limits, policy. See runtime_complete */
    bool trusted;                        /* trusted, as the caller has checked: a copy of a trusted project */
    const char *trust;                   /* as in trust_state; NULL: use the record only */
    RuntimeAskTrust *ask_trust;          /* NULL: no user to ask */
    MarkAsk *ask_changed;                /* asks about files that changed while a call could write them; NULL: restore
                                          * them */
    void *ask_trust_ctx;                 /* for both */
    bool user_reads;                     /* a conversation: the user can attach files with the tool read, even if the project does not enable it for
                                          * its agents (Call.by_user) */
    bool judging;                        /* for tool_judge: no program can be started and no host reached, scripts cannot read the environment, ask or
                                          * change anything, and nothing is recorded */
    const Draft *drafts; size_t n_drafts;/* judging: files that are loaded instead of those on the disk */
    const TrustSubject *within;          /* judging: a trusted project. This one, its draft, is trusted if it requests nothing more; else ERR_POLICY */
    Runtime *share;                      /* a reload of the same project: shares the launcher, store and connections of
                                          * this one, and either may be closed first; the process's write access is
                                          * already set. May be NULL */
} RuntimeConfig;

/* Loads the project (reports all problems); starts the sandbox's launcher first. False when the project is invalid
 * (then `problems` says why and err->kind is ERR_NONE) or something else failed (*err). */
bool runtime_open(const RuntimeConfig *config, Runtime **out, Problems *problems, Error *err);
void runtime_close(Runtime *rt);         /* after every run has ended and every result was cleared; NULL is fine */
/* Opens what hooks need in a runtime that was opened with policy_only, before its first run; no other thread may exist yet. Starts the sandbox's
 * launcher only if a hook is a command: other hooks start no programs, and the runtime's tools must not be called. After a failure it may only be closed. */
bool runtime_complete(Runtime *rt, Error *err);
/* True if anything of the project may be started, connected to or expanded, else ERR_POLICY. Takes trust granted
 * meanwhile into account. Thread-safe. */
bool runtime_may_act(Runtime *rt, Error *err);
const TrustSubject *runtime_trust_subject(const Runtime *rt);
const Project *runtime_project(const Runtime *rt);
Registry *runtime_registry(Runtime *rt);
const Limits *runtime_limits(const Runtime *rt);
const Policy *runtime_policy(const Runtime *rt);
Redactor *runtime_redactor(Runtime *rt); /* code that reads a secret adds it here */
Str runtime_workspace(const Runtime *rt);
/* Holds the definitions of built-in tools. Frozen when runtime_open returns: tools registered later need their own
 * frozen heap that outlives the runtime. */
/* NULL with *err when it cannot be opened; NULL with ERR_NONE when the runtime is ephemeral. */
Store *runtime_store(Runtime *rt, Error *err);
/* The same, or a state file of this machine if the store is a database: for what must not leave it. */
Store *runtime_local_store(Runtime *rt, Error *err);
/* Host functions of higher rooms: register_agent, delegate, complete. Before the first call; `user` is theirs. */
void runtime_extend(Runtime *rt, const HostCalls *calls, void *user);
void *runtime_user(Runtime *rt);
Workers *runtime_workers(Runtime *rt);
Client *runtime_client(Runtime *rt);
const struct Jail *runtime_jail(const Runtime *rt);           /* the files that tools may read and write */
const Log *runtime_log(const Runtime *rt);   /* NULL: none */
Sandbox *runtime_sandbox(Runtime *rt);
const Rules *runtime_net(const Runtime *rt);
/* Sandbox rules for the next program; starts the proxy if needed. */
bool runtime_rules(Runtime *rt, SandboxRules *out, Error *err);
void runtime_rules_look(Runtime *rt, SandboxRules *out);      /* the same to look at: starts nothing, and the port of the proxy may be 0 */
/* A folder as written in the settings: absolute, relative to the project's root, or ~/…; in `arena`. */
const char *runtime_path(const Runtime *rt, Str path, Arena *arena);

/* Before the first run and the first server: makes `folder`, a copy of the workspace, the workspace. The process must be able to write it
 * (RuntimeConfig.writable). After a failure the runtime may only be closed. */
bool runtime_move(Runtime *rt, const char *folder, Error *err);
Str runtime_original(const Runtime *rt);     /* the workspace that the workspace is a copy of; empty: it is none */
Str runtime_root(const Runtime *rt);         /* the project's root as programs see it: in the copy, if the copy has it */
/* `path`, or its counterpart in the copy if it is below the original; in `arena`. */
const char *runtime_moved(const Runtime *rt, const char *path, Arena *arena);

/* Around anything that could write protected files (tamper.c): a call, a hook's program, a long-running program.
 * runtime_unguard must follow runtime_guard; in between, after the work, runtime_verify restores what was changed.
 * `programs`: it may start programs, so the proxy must run. */
bool runtime_guard(Runtime *rt, bool programs, Error *err);
bool runtime_verify(Runtime *rt, Error *err);                /* ERR_SANDBOX "sandbox.tampered: …" */
void runtime_nested(Runtime *rt, Buf *fresh);                /* appends repositories created below the workspace
                                                              * meanwhile, one per line */
void runtime_unguard(Runtime *rt);
/* For a process that exits without waiting for its calls: kills everything they started, then verifies. False: the next
 * start must verify. No call can start or end afterwards, so the caller must exit. */
bool runtime_abandon(Runtime *rt, int timeout_ms);
/* True if a change of the project's files may be the work of a call and not of the user: a call that could write
 * them is running, or files could not be restored. */
bool runtime_suspects(Runtime *rt);

/* One definition made by a program or a script at run time (project_define). NULL on failure. It must outlive what is
 * registered from it; project_free() it. */
Project *runtime_define(Runtime *rt, DefinitionKind kind, Str definition, Error *err);

/* The scope of the notes with the project's permanent approvals: {tool, args, rule, by, time_ns} each. */
void runtime_approval_scope(Str root, Buf *out);

/* For register_agent. True if registering is enabled, within its limit, and not blocked by the hooks of meta.KIND_register; counts it. After
 * registering, runtime_meta_made records it. runtime_meta_again: true, once per name, if a repeated call of a resumed run registers
 * something that was already restored. */
bool runtime_meta_allowed(Host *h, DefinitionKind kind, Value definition, Error *err);
bool runtime_meta_made(Host *h, DefinitionKind kind, Value definition, Error *err);
bool runtime_meta_again(Host *h, DefinitionKind kind, Value definition);
Run *runtime_host_run(Host *h);          /* the run of a Host's call */
struct RunLane *runtime_host_lane(Host *h);      /* for calls of an agent that the Host's script starts and waits for:
                                                  * see Call.lane */
const struct Call *runtime_host_call(Host *h);
Str runtime_host_confined(Host *h);              /* the folder its call is confined to; empty: the whole workspace */
const Person *runtime_host_person(Host *h);      /* receives its questions */
/* complete() through the Person (a client's model) and the completion.* hooks: for runs without a model. */
bool runtime_host_sample(Host *h, Value request, Heap *heap, Value *out, Error *err);

/* A run: one conversation, one `harness call`, one MCP session. Owns counters, caches, approvals, reads, tasks and
 * events. */
typedef struct RunConfig {
    Str id;                              /* empty: a new one (UUID v7) */
    Str session;                         /* keeps reads, approvals and cache between runs; may be empty */
    Str agent;                           /* shown in the list of runs */
    Person person;
    const EventSink *sinks; size_t n_sinks;      /* in addition to the store; freed with the run */
    const Str *only; size_t n_only;      /* the run's tool list; NULL: all */
    Run *after;                          /* takes over this run's reads, approvals and cache; may be NULL */
    bool no_store;
    bool conversation;                   /* ask the user before a limit ends it: see run_go_on */
    bool person_itself;                  /* harness call: its calls may query tasks of other runs (task_detached) */
    bool served;                         /* a served client's run, which may last for ever: it has no turns, and
                                          * max_tool_calls applies only if set */
    bool resume;                         /* `id` is a stored run to resume; ERR_POLICY when another process holds it */
    bool parks;                          /* a queued run: see run_parked */
    Cancel *drain;                       /* fires to stop before the next step, and to hand the run back to the queue; may be NULL */
    void *user;                          /* for higher rooms */
} RunConfig;

typedef enum RunStatus {
    RUN_OPEN,                            /* not ended */
#define RUN_STATUS(id, name) RUN_##id,
#include "tool/run_statuses.def"
#undef RUN_STATUS
} RunStatus;
const char *run_status_name(RunStatus s);                    /* "" for RUN_OPEN */

enum { RUN_ID_SIZE = 37 };
void run_new_id(char out[RUN_ID_SIZE]);                      /* a UUID v7 */
bool run_start(Runtime *rt, const RunConfig *config, Run **out, Error *err);
/* Cancels running tasks, writes run.ended and frees the run. False with *err when the event could not be written. */
bool run_end(Run *r, RunStatus status, Error *err);
/* For a run from the queue: cancels running tasks, writes all events, makes the run ready for another worker, and frees it. */
bool run_hand_back(Run *r, Error *err);
bool run_note_workspace(Run *r, Str data, Error *err);       /* writes run.workspace */
/* RunConfig.parks: every open call waits for an answer of a user, and has ended without a result. The caller ends the session with session_park. Another
 * process continues with these calls when the first question is answered or expires. */
bool run_parked(const Run *r);
bool run_park(Run *r, Error *err);                           /* like run_hand_back */
bool run_draining(const Run *r);                             /* RunConfig.drain has fired */
/* Waits until the run's events are committed. A served run waits only before a call that may change something. */
bool run_settle(Run *r, bool may_change, Error *err);
/* The next message that another process sent to the run, and its number. run_note_message: messages up to n were delivered by an earlier process. */
bool run_take_message(Run *r, int64_t *n, Buf *text);
void run_note_message(Run *r, int64_t n);
void run_title(Runtime *rt, Str prompt, Buf *out);            /* appends it: one line, redacted */
bool run_note_title(Run *r, Str prompt, Error *err);         /* the first words of a run's first prompt are its title */
Runtime *run_runtime(Run *r);
Str run_id(const Run *r);
/* Images and PDFs of messages, stored with the run by their hash. One that contains a known secret is not stored. */
bool run_media_put(Run *r, const List *media, Error *err);
/* Reads from the store the parts that an event names. *lost counts the missing ones. */
bool run_media_get(Run *r, Value named, Heap *heap, List **out, uint32_t *lost, Error *err);
Store *run_store(const Run *r);                              /* NULL: nothing of this run is stored */
void *run_user(Run *r);
EventStream *run_events(Run *r);
Cancel *run_cancel(Run *r);                                  /* fires to stop the whole run */
Hooks *run_hooks(Run *r);                                    /* the project's, and those registered in this run */
bool run_turn_start(Run *r, Str text, Error *err);           /* resets ctx and the turn's state; runs no hooks and
                                                              * writes no event */
/* A limit is reached. Asks the user of a conversation whether to continue; on yes adds `value` to *more, writes
 * limit.reached with go_on, and returns true. False: the limit applies. After one no, does not ask again in this turn.
 * Thread-safe. `person` NULL: the run's. */
bool run_go_on(Run *r, const Person *person, EventPlace place, const char *limit, int64_t value, atomic_llong *more, Cancel *cancel);
void run_turn_model(Run *r, Str model);                      /* ctx.model in conditions */
void run_note_usage(Run *r, Str json);                       /* for the list of runs and run.ended */
bool run_bundle_active(Run *r, const struct Call *call, const Bundle *bundle, bool *out, Error *err);
/* Runs the hooks of an event that is not a tool's on `payload`, a dict in `heap`, which also holds the outcome's
 * values. `who`: the caller. */
void run_ask_hooks(Run *r, const struct Call *who, HookEvent event, Heap *heap, Value payload, Cancel *cancel, HookOutcome *out);
/* The cache of its hooks, for callers that keep it between runs. */
bool run_hook_cache_restore(Run *r, Value dict, Error *err);
bool run_hook_cache_snapshot(Run *r, Heap *heap, Value *out, Error *err);
/* Registers again what an earlier process of the run registered, under the current policy; writes no event. For an
 * agent, only checks whether it is allowed. */
bool run_meta_restore(Run *r, DefinitionKind kind, Value definition, Error *err);
void run_add_usage(Run *r, int64_t tokens, double usd);      /* for limits.max_tokens and max_spend_usd */
void run_add_calls(Run *r, int64_t calls);                   /* calls of an earlier process of the run, for
                                                              * limits.max_tool_calls */
void run_add_replies(Run *r, int64_t replies);               /* replies of the model at depth 0: the run's turns */
int64_t run_replies(const Run *r);
int64_t run_calls(const Run *r);                             /* all calls that passed the limits, including those of
                                                              * scripts and sub-agents */

/* Plan mode: the pipeline refuses every call that may change something, of the agent, its sub-agents and scripts. */
void run_set_plan(Run *r, bool on);
bool run_planning(const Run *r);

/* What write and edit did to files in this run, oldest first, for /undo (run_changes.c). Thread-safe. */
enum { CHANGE_HASH = 32 };
typedef struct RunChange {
    Str file;                            /* absolute path */
    Str before;                          /* key of the artifact with the old content; empty: there was no file, or `kept` is false */
    uint8_t old_hash[CHANGE_HASH], new_hash[CHANGE_HASH];    /* SHA-256 of the content; old_hash is zero if there was no file */
    bool created;                        /* there was no file */
    bool kept;                           /* it can be put back */
} RunChange;
void run_change_put(Run *r, const RunChange *c);             /* copies */
void run_change_restore(Run *r, Value change);               /* the `change` of an event of an earlier process */
bool run_change_intended(Run *r, Str call, Error *err);      /* the same for a call that was interrupted, if it was about to change a file */
size_t run_change_count(Run *r);
void run_change_cut(Run *r, size_t n);                       /* keeps the first n */

/* A changed file, and whether its content from before the first change can be restored. */
typedef enum {
    REVERT_READY,
    REVERT_DONE,                         /* the file already has the old content */
    REVERT_CHANGED,                      /* another program has changed it, between the changes or since */
    REVERT_NOT_KEPT,                     /* the old content was not kept: too large, a secret, a sensitive name */
    REVERT_REFUSED,                      /* calls may not write it now; `why` says the reason */
} RevertState;
typedef struct RunRevert {
    Str file, name;                      /* absolute; as shown */
    Str before;                          /* as in the first change */
    uint8_t old_hash[CHANGE_HASH];       /* of the first change */
    uint8_t new_hash[CHANGE_HASH];       /* of the last one */
    bool created;
    RevertState state;
    char why[200];                       /* when it is not ready */
} RunRevert;
const char *run_revert_name(RevertState s);                  /* "ready", "already put back" … */
/* The files changed since change number `from`, each once. In `arena`. */
size_t run_revert_list(Run *r, size_t from, Arena *arena, RunRevert **out);
/* Restores a file, or removes it if it was created. Checks its state again first: ERR_POLICY if it is no longer REVERT_READY. */
bool run_revert(Run *r, const RunRevert *f, Error *err);

/* Large results: in the store, or in memory without one. A run can read only its own. */
bool run_artifact_put(Run *r, Str tool, Str mime, Str bytes, Buf *key, Error *err);
bool run_artifact_get(Run *r, Str key, uint64_t offset, uint64_t limit, Buf *out, uint64_t *total, Error *err);

/* Files read in this run or session, with their state at that time: required for a write. */
void run_read_put(Run *r, Str absolute, const JailStat *stat);
bool run_read_get(Run *r, Str absolute, JailStat *out);
