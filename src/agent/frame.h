/* An agent at work: the conversation's own, or a sub-agent inside a call of delegate. For this room's own files. */
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
typedef struct AgentsModel { Str name; Model *model; ModelDef def; } AgentsModel;

struct Agents {
    Runtime *rt;
    AgentsConfig config;
    Arena arena;                         /* guarded by lock after opening */
    pthread_mutex_t lock;
    VEC(AgentsModel) models;
    VEC(Str) texts;                      /* of definitions, each once; in the arena */
    Heap *heap;                          /* of the tools' schemas; frozen */
    VEC(Schema *) schemas;
    ModelEnv env;
};

struct Session {
    const Person *person;                /* of a call from outside: who is asked about what its agents do; NULL: the run's */
    Agents *agents;
    Run *run;
    SessionConfig config;
    Frame *top;
    Arena arena;
    Buf brief;                           /* AGENTS.md, read once; see brief.h */
    pthread_mutex_t lock;                /* guards what follows */
    VEC(Frame *) frames;                 /* at work */
    VEC(AgentDef *) made;                /* registered at run time: meta.agent_register */
    Table ids;                           /* of calls and delegations, so that each is used once in a run */
    Table numbers;                       /* an id that is wanted again and again → int *, the last number that was put behind it */
    ModelUsage usage;
    int64_t turns;                       /* model calls at depth 0 */
    atomic_llong more_turns;             /* that a person allowed beyond the limit */
    bool started;                        /* session.start was asked */
    RunStatus status;                    /* of the last answer; RUN_OPEN: none yet */
    bool unfinished;                     /* resumed: an answer is still to be given */
    Value pending;                       /* and these calls come first; GONE: none */
    struct Journal *journal;             /* what an earlier process did; NULL: the run began with this one */
};

/* Counted: a background delegation may outlive the agent that started it. */
struct Frame {
    atomic_int refs;
    Session *s;
    Frame *up;                           /* NULL: the conversation's own; counted */
    const AgentDef *def;                 /* NULL: the project */
    Str id;                              /* of the call of delegate it is; empty at the top */
    Str name;                            /* of the agent; empty at the top */
    int depth;
    Str *agents; size_t n_agents;        /* the agents around and this one, outermost first */
    Str *tools; size_t n_tools;          /* what it may use of the run's; NULL: all */
    Str *servers; size_t n_servers;      /* MCP servers that it and everyone above may use; NULL: all */
    Str *blocked; size_t n_blocked;      /* blocked_tools of everyone from the top down to here */
    Str *hooks; size_t n_hooks;          /* added by name */
    struct RunLane *lane;                /* of its calls */
    Model *model;
    ModelDef model_def;
    Heap *heap;                          /* of messages; nothing in it is ever collected */
    History history;                     /* the messages */
    ItemsTable items;                    /* of the answers among them, in the arena */
    Arena arena;
    List *attached;                      /* images and PDFs for the next message, in `heap`; NULL: none */
    int64_t turn;                        /* user messages so far */
    VEC(uint32_t) starts;                /* where in `messages` each of them stands */
    int64_t iterations, tool_calls;      /* for the present one */
    ModelUsage usage;                    /* of this frame, for the present message; guarded by s->lock */
    VEC(Str) artifacts;
    Buf summary;                         /* of what has left the context; empty: none was made */
    uint32_t summary_of;                 /* so many messages */
    sem_t children;                      /* delegation.max_concurrent */
    atomic_llong more_iterations;        /* that a person allowed, for the present message */
    int64_t faults;                      /* of the model, likewise */
    VEC(FrameVeto) vetoes;               /* refusals of each tool's last call, likewise */
    int stops;                           /* how often agent.stop sent it on, for the present message */
    int repairs;                         /* of answers that did not fit output_schema, likewise */
    int hops;                            /* hook delegations, likewise */
};

/* frame.c */
Frame *frame_new(Session *s, Frame *up, const AgentDef *def, Str id);
void frame_release(Frame *f);            /* NULL is fine */
Frame *frame_find(Session *s, Str id);   /* one that is at work, counted; NULL: none */
Frame *frame_stand_in(Session *s, const Call *call, Error *err);   /* for a call whose frame cannot be found, counted */
bool frame_event(Frame *f, EventType type, const Buf *data, Error *err);
void frame_call(const Frame *f, Call *out);                  /* the part of a Call that says who makes it */
bool frame_push(Frame *f, Role role, Str text, Error *err);          /* a message of text */
bool frame_push_user(Frame *f, Str text, const List *media, Error *err);             /* media: parts; NULL: none */
bool frame_push_answer(Frame *f, Str text, Value calls, Value parts, Error *err);     /* parts GONE: text and calls say it all */
/* Keeps the items of an answer for the next requests; `row` is copied. */
void frame_keep_items(Frame *f, const Items *row);
bool frame_push_result(Frame *f, Str id, Str text, bool is_error, Str artifact, const List *media, Error *err);
const AgentDef *frame_find_agent(Session *s, Str name);
bool frame_spawns(const Frame *f);                           /* catalog.c: by canSpawn, here and above */
/* `wanted`, or with a number when it was used before; in s->arena. An id of an earlier process of the run counts as used, unless
 * `again`: then it is for what that process may have begun and this one goes on with. */
Str frame_fresh_id(Session *s, Str wanted, bool again);
/* For a delegation that a hook asks for: the one that was under way when an earlier process died, else a fresh one. */
Str frame_hook_id(Frame *f, Str wanted, Str agent);

/* session.c: for a call outside of any conversation. */
bool session_attach(Agents *a, const SessionConfig *config, Run *run, Session **out, Error *err);
void session_detach(Session *s);

/* models.c */
bool agent_model_of(Agents *a, Str name, Str provider, const ModelDef *parent, Model **out, ModelDef *def, Error *err);   /* provider: a space agent's; else empty */
bool agent_model_def(Agents *a, Str name, Str provider, ModelDef *def, Error *err);       /* which one it would be, without opening it */

/* Is it a profile, or does its name tell the provider? Any other name could be a slip of the pen, which the provider notices only when it is asked. */
bool agent_model_known(const Agents *a, Str name, Error *err);

/* prompt.c, catalog.c */
bool frame_prompt(Frame *f, Buf *out, Error *err);           /* the system prompt of this turn */
bool frame_tools(Frame *f, Heap *heap, List **out, Error *err);             /* [{name, description, parameters}] */

/* hooks.c: asks the hooks of an event. `payload` is in `heap`; the outcome's too. */
void frame_ask(Frame *f, HookEvent event, Heap *heap, Value payload, Cancel *cancel, HookOutcome *out);
bool frame_hooked(Frame *f, HookEvent event);

/* complete.c: one model reply, with its hooks, limits and events. */
typedef struct Completion {
    Value messages, tools;               /* in `heap` */
    Heap *heap;
    int64_t max_tokens;
    bool quiet;                          /* not shown to the watcher */
    ModelReply reply;
    Value parts;                         /* of the reply, in `heap`; GONE: its text and calls say it all */
    char items_hash[ITEMS_HASH + 1];     /* of the reply as the model gave it; empty: it has no items */
    Str *ids; size_t n_ids;              /* of its calls, as the model named them; borrowed from its heap */
    List *removed;                       /* names of tools that a hook took away for this turn; NULL: none */
    RunStatus status;                    /* RUN_OPEN: fine; else how the turn ends */
    char reason[600];
} Completion;
bool frame_complete(Frame *f, Model *model, const ModelDef *def, Completion *c, Cancel *cancel, Error *err);
bool frame_over_limit(Frame *f, Cancel *cancel, RunStatus *status, char reason[600], Error *err);      /* before the next model call */
bool frame_limit_reached(Frame *f, const char *limit, int64_t value, RunStatus *status, char reason[600], Error *err);  /* writes the event; sets status and reason */
/* Why it has to end now, when `cancel` says so: limited (its time is up) or cancelled (somebody stopped it). *status RUN_OPEN: it goes on. */
bool frame_stopped(Frame *f, Cancel *cancel, RunStatus *status, char reason[600], Error *err);

/* refusal.c: ends the turn after too many faults of the model, or when it insists on a call that was refused. */
bool frame_count_refusal(Frame *f, const Result *r, Str arguments, SessionReply *out, Error *err);
void frame_forget_refusals(Frame *f);                        /* a turn begins */
/* A reply asks for n calls. True: more than limits.max_tool_calls_per_turn, and a person wants them made all the same. */
bool frame_many_calls(Frame *f, size_t n, Cancel *cancel);

/* loop.c: answers what was said last; calls of a resumed run that are not finished come first. */
bool frame_loop(Frame *f, Cancel *cancel, SessionReply *out, Error *err);
/* Says something to the model in the name of `role`, with an event. */
bool frame_say(Frame *f, Role role, Str text, Error *err);
/* answer.c: does the last answer fit the agent's output_schema? Once the model is told what is wrong (*more); then the turn fails. */
bool frame_check_output(Frame *f, SessionReply *out, bool *more, Error *err);
bool frame_settle(Frame *f, Str text, Cancel *cancel, SessionReply *out, bool *more, Error *err);    /* asks agent.stop about a last answer */
/* turn.c: one user message from turn.start to turn.end. */
bool frame_answer(Frame *f, Str text, Cancel *cancel, SessionReply *out, Error *err);
bool frame_go_on(Frame *f, bool unfinished, Value pending, Cancel *cancel, SessionReply *out, Error *err);
bool frame_run_calls(Frame *f, const Completion *c, const List *calls, Cancel *cancel, SessionReply *out, Error *err);
