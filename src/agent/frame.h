/* A running agent: the top-level one, or a sub-agent inside a call of delegate. Private to src/agent/. */
#pragma once
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include "agent/context.h"
#include "agent/session.h"
#include "base/table.h"
#include "base/vec.h"

typedef struct Frame Frame;

typedef struct FrameVeto { Str tool; uint64_t arguments; int count; } FrameVeto;    /* tool in the frame's arena */
/* Where an exchange starts: in the history, and in the run's list of changed files. */
typedef struct FrameStart { uint32_t message; size_t change; } FrameStart;
typedef struct AgentsModel { Str name; Model *model; ModelDef def; } AgentsModel;

struct Agents {
    Runtime *rt;
    AgentsConfig config;
    Arena arena;                         /* guarded by lock after opening */
    pthread_mutex_t lock;
    VEC(AgentsModel) models;
    VEC(Str) texts;                      /* of definitions, each once; in the arena */
    Heap *heap;                          /* holds the tools' schemas; frozen */
    VEC(Schema *) schemas;
    ModelEnv env;
};

struct Session {
    const Person *person;                /* for a call from outside: receives questions about its agents' calls; NULL: the run's */
    Agents *agents;
    Run *run;
    SessionConfig config;
    Frame *top;
    Arena arena;
    Buf agents_md;                       /* AGENTS.md, read once; see agents_md.h */
    pthread_mutex_t lock;                /* guards what follows */
    VEC(Frame *) frames;                 /* running agents */
    VEC(AgentDef *) made;                /* registered at run time: meta.agent_register */
    Table ids;                           /* of calls and delegations: each is used once in a run */
    Table numbers;                       /* a requested id that was used before → int *, the last number appended to
                                          * it */
    ModelUsage usage;
    int64_t turns;                       /* model calls at depth 0 */
    atomic_llong more_turns;             /* granted by the user beyond the limit */
    bool started;                        /* session.start was dispatched */
    RunStatus status;                    /* of the last answer; RUN_OPEN: none yet */
    bool unfinished;                     /* resumed: an answer is still due */
    Value pending;                       /* its unfinished calls come first; GONE: none */
    struct Journal *journal;             /* events of an earlier process; NULL: the run started here */
};

/* Reference-counted: a background delegation may outlive the agent that started it. */
struct Frame {
    atomic_int refs;
    Session *s;
    Frame *up;                           /* NULL: the top-level agent; a reference */
    const AgentDef *def;                 /* NULL: the project */
    Str id;                              /* of its delegate call; empty at the top */
    Str name;                            /* of the agent; empty at the top */
    int depth;
    Str *agents; size_t n_agents;        /* the enclosing agents and this one, outermost first */
    Str *tools; size_t n_tools;          /* tools it may use of the run's; NULL: all */
    Str *servers; size_t n_servers;      /* MCP servers that it and all agents above may use; NULL: all */
    Str *blocked; size_t n_blocked;      /* blocked_tools of all agents from the top down to here */
    Str *hooks; size_t n_hooks;          /* added by name */
    struct RunLane *lane;                /* for its calls */
    Model *model;
    ModelDef model_def;
    Heap *heap;                          /* holds messages; never collected */
    History history;                     /* the messages */
    ItemsTable items;                    /* of its replies, in the arena */
    Arena arena;
    List *attached;                      /* images and PDFs for the next message, in `heap`; NULL: none */
    Buf extra;                           /* text for the next message: attached files, outputs of the user's commands */
    int64_t turn;                        /* number of user messages so far */
    VEC(FrameStart) starts;              /* those that are still in the history */
    int64_t iterations, tool_calls;      /* for the current message */
    ModelUsage usage;                    /* of this frame, for the current message; guarded by s->lock */
    VEC(Str) artifacts;
    Buf summary;                         /* of the removed messages; empty: none */
    uint32_t summary_of;                 /* number of messages that the summary covers */
    sem_t children;                      /* delegation.max_concurrent */
    atomic_llong more_iterations;        /* granted by the user, for the current message */
    int64_t faults;                      /* of the model, likewise */
    VEC(FrameVeto) vetoes;               /* refusals of each tool's last call, likewise */
    int stops;                           /* continuations requested by agent.stop, for the current message */
    int repairs;                         /* answers that did not match output_schema, likewise */
    int hops;                            /* hook delegations, likewise */
};

/* frame.c */
Frame *frame_new(Session *s, Frame *up, const AgentDef *def, Str id);
void frame_release(Frame *f);            /* NULL is fine */
Frame *frame_find(Session *s, Str id);   /* a running one, with a reference; NULL: none */
Frame *frame_stand_in(Session *s, const Call *call, Error *err);   /* for a call whose frame cannot be found; a
                                                                    * reference */
bool frame_event(Frame *f, EventType type, const Buf *data, Error *err);
void frame_call(const Frame *f, Call *out);                  /* the part of a Call that identifies the caller */
bool frame_push(Frame *f, Role role, Str text, Error *err);          /* a message of text */
/* extra: follows the text; may be empty. media: parts; NULL: none */
bool frame_push_user(Frame *f, Str text, Str extra, const List *media, Error *err);
bool frame_push_answer(Frame *f, Str text, Value calls, Value parts, Error *err);     /* parts GONE: text and calls are complete */
/* Keeps the items of an answer for the next requests; `row` is copied. */
void frame_keep_items(Frame *f, const Items *row);
bool frame_push_result(Frame *f, Str id, Str text, bool is_error, Str artifact, const List *media, Error *err);
/* Removes all messages. A summary becomes the first message of what follows; empty: none. */
bool frame_forget(Frame *f, Str summary, Error *err);
const AgentDef *frame_find_agent(Session *s, Str name);
bool frame_spawns(const Frame *f);                           /* catalog.c: by canSpawn, here and above */
/* `wanted`, with a number appended if it was used before; in s->arena. An id of an earlier process of the run counts as
 * used, unless `again`: for work that process may have started and this one continues. */
Str frame_fresh_id(Session *s, Str wanted, bool again);
/* For a delegation requested by a hook: the one that was interrupted in an earlier process, else a new one. */
Str frame_hook_id(Frame *f, Str wanted, Str agent);

/* session.c: for a call outside of any conversation. */
bool session_attach(Agents *a, const SessionConfig *config, Run *run, Session **out, Error *err);
void session_detach(Session *s);

/* models.c */
/* provider: of a space's agent; else empty */
bool agent_model_of(Agents *a, Str name, Str provider, const ModelDef *parent, Model **out, ModelDef *def, Error *err);
bool agent_model_def(Agents *a, Str name, Str provider, ModelDef *def, Error *err);       /* resolves the model without opening it */

/* True if it is a profile, or its name implies the provider. Any other name may be a typo, which the provider would
 * report only on the first request. */
bool agent_model_known(const Agents *a, Str name, Error *err);

/* prompt.c, catalog.c */
bool frame_prompt(Frame *f, Buf *out, Error *err);           /* the system prompt of this turn */
bool frame_tools(Frame *f, Heap *heap, List **out, Error *err);             /* [{name, description, parameters}] */
bool frame_has_use(const Frame *f, const ToolEntry *e);      /* false for a tool of delegation that this agent cannot use */

/* hooks.c: runs the hooks of an event. `payload` and the outcome are in `heap`. */
void frame_ask(Frame *f, HookEvent event, Heap *heap, Value payload, Cancel *cancel, HookOutcome *out);
bool frame_hooked(Frame *f, HookEvent event);

/* complete.c: one model reply, with its hooks, limits and events. */
typedef struct Completion {
    Value messages, tools;               /* in `heap` */
    Heap *heap;
    int64_t max_tokens;
    int64_t context, context_max;        /* estimated tokens of the request, and context.max_tokens; 0: no limit */
    bool quiet;                          /* not shown to the watcher */
    ModelReply reply;
    Value parts;                         /* of the reply, in `heap`; GONE: its text and calls are complete */
    char items_hash[ITEMS_HASH + 1];     /* of the model's original reply; empty: it has no items */
    Str *ids; size_t n_ids;              /* of its calls, as the model named them; borrowed from its heap */
    List *removed;                       /* names of tools that a hook removed for this turn; NULL: none */
    RunStatus status;                    /* RUN_OPEN: continue; else how the turn ends */
    char reason[600];
} Completion;
bool frame_complete(Frame *f, Model *model, const ModelDef *def, Completion *c, Cancel *cancel, Error *err);
bool frame_over_limit(Frame *f, Cancel *cancel, RunStatus *status, char reason[600], Error *err);      /* before the next model call */
/* writes the event; sets status and reason */
bool frame_limit_reached(Frame *f, const char *limit, int64_t value, RunStatus *status, char reason[600], Error *err);
/* Checks whether it must end now: limited (timeout) or cancelled. *status RUN_OPEN: continue. */
bool frame_stopped(Frame *f, Cancel *cancel, RunStatus *status, char reason[600], Error *err);

/* refusal.c: ends the turn after too many mistakes of the model, or when it repeats a refused call. */
bool frame_count_refusal(Frame *f, const Result *r, Str arguments, SessionReply *out, Error *err);
void frame_forget_refusals(Frame *f);                        /* at the start of a turn */
/* A reply requests n calls. True: more than limits.max_tool_calls_per_turn, and the user allowed it. */
bool frame_many_calls(Frame *f, size_t n, Cancel *cancel);

/* loop.c: answers the last message; unfinished calls of a resumed run come first. */
bool frame_loop(Frame *f, Cancel *cancel, SessionReply *out, Error *err);
/* Adds a message for the model in the given role, with an event. */
bool frame_say(Frame *f, Role role, Str text, Error *err);
/* answer.c: checks the final answer against the agent's output_schema. On the first mismatch the model gets a message
 * (*more); on the second the turn fails. */
bool frame_check_output(Frame *f, SessionReply *out, bool *more, Error *err);
bool frame_settle(Frame *f, Str text, Cancel *cancel, SessionReply *out, bool *more, Error *err);    /* dispatches agent.stop for a final answer */
/* turn.c: one user message from turn.start to turn.end. */
bool frame_answer(Frame *f, Str text, Cancel *cancel, SessionReply *out, Error *err);
bool frame_go_on(Frame *f, bool unfinished, Value pending, Cancel *cancel, SessionReply *out, Error *err);
bool frame_run_calls(Frame *f, const Completion *c, const List *calls, Cancel *cancel, SessionReply *out, Error *err);
