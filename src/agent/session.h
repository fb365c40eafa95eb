/* A conversation: an agent, its model and its messages, on one run of the tool runtime.
 *
 *     session.start → for each message turn.start → { context → completion.pre → model → completion.post → calls through the
 *     pipeline, results appended in call order } → no calls: agent.stop → turn.end … → session.end
 *
 * Every decision is recorded as an event of the run before it takes effect, so a run can be resumed from its events alone
 * (journal.h). A session is used by one thread at a time; sessions are independent of each other. */
#pragma once
#include "model/model.h"
#include "tool/pipeline/call.h"
#include "tool/pipeline/guards.h"
#include "tool/pipeline/judge.h"

typedef struct Agents Agents;
typedef struct Session Session;

/* ---- shared by all sessions of a runtime ---- */

typedef struct AgentsConfig {            /* the zero value is the default */
    Str model;                           /* --model; empty: the project's */
    Str effort;                          /* --effort; empty: the agent's, else the profile's */
    const char *record;                  /* --record FILE; NULL: none */
    const char *replay;                  /* --replay FILE; NULL: none */
    const ModelDef *every;               /* use this model whatever is named; borrowed. May be NULL */
} AgentsConfig;

/* Registers delegate and related tools, and the script functions for agents. Before the runtime's first call. Models
 * are opened on first use, once each. */
bool agent_set_new(Runtime *rt, const AgentsConfig *config, Agents **out, Error *err);
bool agent_set_try(Agents *a, Str model, Cancel *cancel, Error *err);      /* asks a model for one word */
void agent_set_free(Agents *a);          /* after the last session, before the runtime */

/* ---- a conversation ---- */

/* Callbacks to show progress. Any may be NULL; called from several threads. */
typedef struct SessionWatch {
    void (*text)(void *ctx, Str agent, int depth, Str piece);
    void (*reasoning)(void *ctx, Str agent, int depth, Str piece);
    void (*tool_started)(void *ctx, Str agent, int depth, Str id, Str name, Str arguments);
    void (*tool_ended)(void *ctx, Str agent, int depth, const Result *result);
    void (*retry)(void *ctx, int attempt, int64_t wait_ms, const Error *why);
    void *ctx;
} SessionWatch;

typedef struct SessionConfig {
    Str agent;                           /* a sub-agent to talk to directly; empty: the project's agent */
    int64_t max_turns;                   /* --max-turns; 0: limits.max_turns */
    bool look;                           /* only to inspect what a model would get: opens no model, and needs none */
    SessionWatch watch;
} SessionConfig;

typedef struct SessionReply {            /* zero-initialise, session_reply_clear at the end */
    Buf text;
    RunStatus status;
    char reason[600];                    /* why, when it is not completed */
    ModelUsage usage;
    int64_t turns, tool_calls;           /* model calls and tool calls for this message */
} SessionReply;

/* Completes `run_config` and starts the run; with `resume` the run is a stored one, and its conversation is rebuilt. */
bool session_open(Agents *a, const SessionConfig *config, const RunConfig *run_config, bool resume, Session **out, Error *err);
/* Sends an image or PDF with the next message. ERR_VALIDATION: models do not accept this type or size. */
bool session_attach_media(Session *s, Str bytes, Str name, Error *err);
/* Sends a user message and returns the agent's final reply. Fails only when the journal cannot be written. */
bool session_say(Session *s, Str text, Cancel *cancel, SessionReply *out, Error *err);
/* True if a resumed session has an unfinished answer: then call session_go_on. */
bool session_unfinished(const Session *s);
bool session_go_on(Session *s, Cancel *cancel, SessionReply *out, Error *err);
/* Writes session.end and run.ended, and frees the session. */
bool session_close(Session *s, Error *err);

Run *session_run(Session *s);
size_t session_message_count(const Session *s);          /* all messages of the agent, including those removed from the
                                                          * context */
Value session_message(const Session *s, size_t i);       /* valid as long as the session */
bool session_model(Session *s, Str name, Error *err);    /* switches to another model, with an event */
Str session_model_name(const Session *s);                /* empty: none (look) */
ModelUsage session_usage(Session *s);              /* of the whole run, including sub-agents */
void session_reply_clear(SessionReply *r);

/* ---- what the user changes about a conversation (session_edit.c); each writes an event first ---- */

/* Files that the last exchange has changed, for session_undo: the first change in run_revert_list. False: there is no exchange. */
bool session_last_changes(const Session *s, size_t *from, Error *err);
/* Removes the last exchange; false when there is none. `files`: the outcome for each file that it changed, a JSON list for the event; may be empty. */
bool session_undo(Session *s, Str files, Error *err);
bool session_clear(Session *s, size_t *messages, Error *err);    /* removes all messages; the run's record keeps them */
/* Replaces all messages by a summary that the model writes. Sizes are estimated tokens. */
typedef struct SessionCompact { size_t messages; int64_t before, after; } SessionCompact;
bool session_compact(Session *s, Cancel *cancel, SessionCompact *out, Error *err);
bool session_plan(Session *s, bool on, Error *err);              /* plan mode: see run_set_plan */
/* A call that the user makes, through the whole pipeline. args: JSON. */
bool session_call(Session *s, Str tool, Str args, Cancel *cancel, Result *out, Error *err);
/* Sends text, or a result's images and PDFs, with the next message. */
void session_add_text(Session *s, Str text);
bool session_add_media(Session *s, const Result *r, Error *err);
/* session_close without the hooks of session.end: the run continues in this process. */
bool session_pause(Session *s, Error *err);
/* For a run from the queue that RunConfig.drain has stopped: another worker continues it. Frees the session, also on failure. */
bool session_hand_back(Session *s, Error *err);
bool session_park(Session *s, Error *err);                   /* the same when run_parked: another worker continues it after the answer */
/* The last turn of a resumed run had ended in this way, and its process died before it could end the run. */
void session_note_status(Session *s, RunStatus status);

/* The tools of the next request, as sent to the model: [{name, description, parameters}], in `heap`. */
bool session_tools(Session *s, Heap *heap, List **out, Error *err);
/* The request that the model would get, without sending it: for `harness context`. */
typedef enum { PART_SYSTEM, PART_TOOL, PART_MESSAGE } SessionPartKind;
const char *session_part_name(SessionPartKind k);
typedef struct SessionPart { SessionPartKind what; Str name; int64_t tokens; Str text; } SessionPart;
bool session_parts(Session *s, void (*each)(void *ctx, const SessionPart *part), void *ctx, Error *err);

/* What guards the tools of each agent: of the session's own agent first, then of each sub-agent of the project as a delegation would start it. For
 * `harness inspect --graph`. Each tool is followed by its guards. Asks no hook and calls no tool. */
typedef struct SessionGuards {
    void (*agent)(void *ctx, const AgentDef *def);           /* NULL: the project's own */
    void (*tool)(void *ctx, const ToolEntry *e);
    void (*guard)(void *ctx, const ToolGuard *g);
    void *ctx;
} SessionGuards;
bool session_guards(Session *s, const SessionGuards *visit, Error *err);

/* Judges a call (tool/pipeline/judge.h) of `agent`, as a delegation of the session's own agent would start it; empty: of the session's own. Sets the
 * caller's part of `call`: agent, tools, hooks. An agent that does not exist is denied. */
bool session_judge(Session *s, Str agent, Call *call, Cancel *cancel, Arena *arena, ToolJudgement *out, Error *err);
