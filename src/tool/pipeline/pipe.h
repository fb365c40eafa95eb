/* A call in the pipeline, and its memory. The runtime caches pipes, so that a call allocates little; a Result borrows
 * its pipe until it is cleared. */
#pragma once
#include "tool/runtime_private.h"

/* Memory that a pipe keeps from one call to the next. */
typedef struct PipeKept {
    Arena arena;                         /* strings of the result */
    Buf args_json;                       /* see pipe_args_json */
    Buf text;                            /* of the result */
    Buf data;                            /* scratch: an event's data, a message */
    Buf agreed_args;                     /* arguments confirmed in an earlier attempt; empty: none */
    Buf approval;                        /* id of that answer in the store, not used yet; empty: none */
    Buf change;                          /* what the call changed, as a diff; empty: unknown */
    ToolInspection seen;                 /* what the user is asked in this attempt, see pipe_confirm */
    Error err;                           /* why the call is broken */
    Pipe *next;                          /* in the runtime's free list */
} PipeKept;

/* Everything except `kept` is the state of one call: pipe_take sets it in one assignment. */
struct Pipe {
    PipeKept kept;
    ToolCallFrame f;
    Host host;
    Result *out;
    const ToolRoot *root;                /* what the call is confined to; NULL: the workspace */
    RunLane *inner;                      /* lane for agents that the call waits for; NULL: none so far */
    PolicyDecision policy;               /* of step 5, for step 7 */
    RulesVerdict rules;                  /* of step 5, or after the hooks */
    Str rule_why;                        /* the question of an ask rule; else empty */
    Str given;                           /* arguments that the user gave instead of the caller's; empty: none */
    const char *asked;                   /* source of the answer; NULL: no question was asked */
    Str asked_by;                        /* the user who answered; may be empty */
    Value text_of;                       /* kept.text is already the JSON of this value; GONE: of none */
    Value keep;                          /* the arguments as they were executed; GONE: f.args itself */
    bool args_changed;                   /* f.args differs from the caller's text */
    bool rewritten;                      /* `given` was just set: the call starts again with it */
    bool started;                        /* tool.started is written: an event that ends the call must follow */
    bool ended;                          /* the event that ends it is written, or a task will write it */
    bool reached;                        /* it has been executed: tool.post fires */
    bool once;                           /* a call inside it was executed that must not be repeated */
    bool cut;                            /* kept.text is only a part of the result */
    bool alone;                          /* the call holds its lane */
    bool task;                           /* it already runs as a background task */
    bool broken;                         /* an internal error, in kept.err; the call has no result */
    int attempt;
    unsigned hook_nesting;               /* nested dispatches: a hook that emits an event starts another one */
    int64_t start_ns, step_ns;
    int64_t waited_ns;                   /* time spent waiting for the user so far */
    int64_t hooks_ns;                    /* time spent in hooks before and after the execution */
    int64_t worked_ns;                   /* duration of the last attempt, without waits for the user */
    int64_t mark_ns, steps_ns[STEP_BOUND + 1];       /* end of the newest step; time of each so far, with waits for the user */
};

/* True if it may run concurrently with other calls: read-only or parallel_safe. False for an unknown tool. */
bool tool_runs_beside(Run *r, const Call *call);
bool tool_entry_runs_beside(const ToolEntry *e);
/* True if it may run in plan mode. A delegation may: every call of its agent is checked. */
bool tool_allowed_by_plan(const ToolEntry *e);

int64_t runtime_timeout_ms(const Runtime *rt, const ToolDef *def);      /* of a tool, without the caller's; 0: none */

Pipe *pipe_take(Run *r, const Call *call, Cancel *cancel, Result *out);
void pipe_give(Pipe *p);                                     /* returns it and its worker to the runtime */

void pipe_free(Pipe *p);

/* The steps. False: the call has ended, with p->out set (or p->broken). */
bool pipe_resolve(Pipe *p);
bool pipe_parse(Pipe *p);
bool pipe_validate(Pipe *p);
bool pipe_limits(Pipe *p);
bool pipe_policy(Pipe *p);
bool pipe_rules(Pipe *p);                                    /* part of policy; again when a hook changed the arguments */
bool pipe_before(Pipe *p);
bool pipe_inspect(Pipe *p, bool judged);                     /* part of confirm: the tool looks at its final arguments */
bool pipe_confirm(Pipe *p);
bool pipe_execute(Pipe *p, bool *again);                     /* again: retry from parse */
int64_t pipe_timeout_ms(const Pipe *p);                      /* 0: none */
bool pipe_after(Pipe *p);
bool pipe_bound(Pipe *p);
bool pipe_finish(Pipe *p);                                   /* steps 9 to 11 */
void pipe_resume(Pipe *p, const ToolEntry *entry, bool args_changed);   /* runs the call of a background task */
bool pipe_background(Pipe *p);                               /* task.c: continues the call as a task */

/* Why confirmation is needed: a rule, the policy, or the tool's inspection of the arguments. `why` empty: not needed. `rule`
 * is what events name. */
typedef struct PipeAsk { Str why, rule; } PipeAsk;
PipeAsk pipe_reason_to_ask(const Pipe *p);
/* permits.c: adds a JSON object: what the call may reach if it is confirmed. `runs`: where its code runs: "sandbox", "server", "program", "agent", "user". */
void pipe_permits(const Pipe *p, Buf *out);

/* True if there are rules about reading files; true if they let the call read this file without a question. Thread-safe. */
bool pipe_rules_read(const Pipe *p);
bool pipe_rules_may_read(const Pipe *p, Str absolute);

/* The setting of limits.repair that allows the model to repair a refusal. Without it, and with REPAIR_NEVER, the
 * refusal is fatal. */
typedef enum { REPAIR_NEVER, REPAIR_ARGUMENTS, REPAIR_UNKNOWN_TOOL, REPAIR_REFUSED } Repair;
void pipe_step_ends(Pipe *p, CallStep step);                 /* the time since the step before belongs to this one */
void pipe_event_steps(Pipe *p);                              /* adds `steps` to the event; those of less than a microsecond are left out */
/* Ends the call with an error result and the event tool.refused. Always false. */
bool pipe_refuse(Pipe *p, CallStep step, Str rule, Repair repair, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Sets the class of a refusal, and adds the setting that makes it fatal to its message. */
void pipe_classify(Pipe *p, Repair repair, Buf *message);
bool pipe_limit(Pipe *p, const char *limit, int64_t value);  /* limit.reached, and a fatal refusal that names the limit;
                                                              * always false */
bool pipe_broken(Pipe *p, const Error *err);                 /* an internal error; always false */
void pipe_set_error(Pipe *p, Str message);                   /* out->error, out->value = {"error": …}, is_error */
/* Turns the result into an error of this step; the call continues. `rule` is not copied. */
void pipe_fail(Pipe *p, CallStep step, Str rule, ResultClass cls, Str message);
void pipe_check_output(Pipe *p, CallStep step);              /* turns a result that does not match output_schema into an
                                                              * error */
bool pipe_event_tampered(Pipe *p, const Error *err);         /* sandbox.tampered; false: broken */
Str pipe_error_member(Value v);                              /* the `error` of a dict; empty: the value is not an
                                                              * error */
void pipe_take_error_text(Pipe *p, Value v);                 /* sets out->error: the `error` member, else the string itself or JSON, at most 2 KiB */

Str pipe_args_json(Pipe *p);                                 /* for events: one line */
void pipe_args_exact(Pipe *p, Buf *out);                     /* for comparisons: complete, with sorted keys */
bool pipe_violations(const Schema *s, Value v, Buf *out);    /* true if valid; else all problems, joined by "; " */
bool pipe_check_args(Pipe *p, Buf *problems);                /* schema and injected names */
bool pipe_redact_value(Pipe *p, Value v, Value *out, Error *err);   /* redacts every string by the tool's patterns and
                                                                     * the runtime's secrets */
void pipe_redact_text(Pipe *p, Buf *text);

EventPlace pipe_place(const Pipe *p);
const Person *pipe_person(const Pipe *p);                    /* the call's, else the run's */
bool pipe_listened(const Pipe *p);
void pipe_event_start(Pipe *p);                              /* kept.data = {"id": …, "name": … */
bool pipe_event_end(Pipe *p, EventType type);                /* …} and out; false: broken */
static inline bool pipe_traced(const Pipe *p) { return p->f.call->trace != NULL; }
void pipe_tell(Pipe *p, CallStep step, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define pipe_trace(p, ...) do { if (pipe_traced(p)) pipe_tell(p, __VA_ARGS__); } while (0)    /* skip formatting when not traced */
/* tool/kind/program.c: the only way for a call to start a program; writes events about its confinement and denied
 * operations. */
bool pipe_run_program(Pipe *p, const SandboxRules *rules, const SandboxCommand *command, Cancel *cancel, SandboxResult *out, Error *err);
/* Runs the hooks of an event on a payload in p->f.heap. */
void pipe_dispatch(Pipe *p, HookEvent event, Str name, Value payload, HookOutcome *out);
