/* Everything needed to run a project's tools: the loaded project, its registry, policy, hooks, sandbox, network and store.
 * One per program; any number of runs at the same time. */
#pragma once
#include "event/event.h"
#include "hook/chain.h"
#include "policy/approval.h"
#include "policy/limits.h"
#include "policy/policy.h"
#include "policy/redact.h"
#include "store/store.h"
#include "tool/registry.h"
#include "tool/result.h"

typedef struct Runtime Runtime;
typedef struct Run Run;

/* How a person is asked. `answer`: once, these arguments, the tool, or no. */
typedef enum { CONFIRM_NO, CONFIRM_ONCE, CONFIRM_THESE, CONFIRM_TOOL } ConfirmAnswer;
typedef struct ConfirmQuestion { Str tool, why, shown; /* the rendered command or a diff, control and bidi characters escaped */ } ConfirmQuestion;

typedef struct Person {                  /* whoever is there; all NULL: nobody */
    ConfirmAnswer (*confirm)(void *ctx, const ConfirmQuestion *q, Cancel *cancel);
    bool (*ask)(void *ctx, Str message, Value schema, Heap *heap, Value *out, Cancel *cancel, Error *err);
    void (*progress)(void *ctx, Str call_id, Value done, Value total, Str message);
    const char *source;                  /* for events: "terminal", "elicitation", "--yes" */
    void *ctx;
} Person;

typedef struct RuntimeConfig {           /* the zero value is the default */
    const char *dir, *config;            /* as in ProjectInput */
    bool lenient, strict;
    const char *state;                   /* path of the database; NULL: HARNESS_STATE, else the place agents.md names */
    bool ephemeral;                      /* no store */
    bool own_process;                    /* the program, not an embedder: restrain it after loading */
    bool yes;                            /* --yes */
    const Str *approve; size_t n_approve;        /* --approve NAME */
    const Str *allow_domains; size_t n_allow_domains;
    int64_t timeout_ms;                  /* --timeout, for tools that set none */
    const Log *log;
    /* Tables of rooms below, filled before the first call; see tool/kind.h. */
} RuntimeConfig;

/* Loads the project (all problems reported), starts the sandbox's launcher first. False when the project is invalid
 * (then `problems` says why) or something else failed (*err). */
bool runtime_open(const RuntimeConfig *config, Runtime **out, Problems *problems, Error *err);
void runtime_close(Runtime *rt);         /* every run has ended by then */
const Project *runtime_project(const Runtime *rt);
Registry *runtime_registry(Runtime *rt);
const Limits *runtime_limits(const Runtime *rt);

/* A run: one conversation, one `harness call`, one MCP session. Its counters, caches, approvals, reads, tasks and events. */
typedef struct RunConfig {
    Str id;                              /* empty: a new one (UUID v7) */
    Str session;                         /* keeps reads, approvals and cache between runs; empty: none */
    Person person;
    const EventSink *sinks; size_t n_sinks;      /* beside the store */
    const Str *only; size_t n_only;      /* the run's tool list; NULL: all */
    bool no_store;
    void *user;                          /* for rooms below */
} RunConfig;

bool run_start(Runtime *rt, const RunConfig *config, Run **out, Error *err);
void run_end(Run *r, const char *status);                    /* cancels tasks that still run, writes run.ended, frees */
Str run_id(const Run *r);
EventStream *run_events(Run *r);
Cancel *run_cancel(Run *r);                                  /* fires: the whole run stops */
bool run_turn_start(Run *r, Str text, Error *err);           /* resets ctx and the per-turn counters */
