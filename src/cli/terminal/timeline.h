/* Shows what a run did, one line per step: the agent, the call, the verdict with its rule, time and cost; below it the first lines of the output,
 * or the change. `harness run` shows it live, `harness runs show` afterwards. Text from outside is escaped. */
#pragma once
#include "base/arena.h"
#include "event/event.h"
#include "value/value.h"

/* all: outputs and diffs are not folded. breaks: prompts and answers are broken at words; not for a pipe. */
typedef struct TimelineStyle { size_t width; bool color, all, breaks; } TimelineStyle;

typedef struct TimelineCall {
    int depth;
    Str name, about;                     /* about: its main argument, one line */
    Str verdict;                         /* "allowed", "asked you: yes", "blocked by …"; escaped already */
    Str file;                            /* of the rule; unescaped; shown where there is room */
    bool failed, open;                   /* open: it has not ended */
    int64_t elapsed_ns, waited_ns;
    double cost;
    Str output, diff;                    /* unescaped; shown in part */
} TimelineCall;

/* The verdict on a call in words. refused: at `step`, by `rule`. Otherwise `source` is where the approval came from, "" if none was needed. */
typedef struct TimelineVerdict { bool refused; Str step, rule, source, by, answer; } TimelineVerdict;
void timeline_verdict(Buf *out, const TimelineVerdict *v);

void timeline_add_call(Buf *out, const TimelineCall *c, const TimelineStyle *style);
/* The result of a call as text for a user: a string, the output of a program, what was found, the answer of an agent, else its members. Unescaped. */
void timeline_output(Buf *out, Value value);
/* The most informative arguments (a path, a command, an agent and its task), escaped and on one line. */
void timeline_about(Buf *out, Str arguments_json);
double timeline_cost(Value result);                      /* of a delegation, in US dollars; else 0 */
void timeline_add_duration(Buf *out, int64_t ns);

/* A whole run, from its events in their order. */
typedef struct Timeline Timeline;
Timeline *timeline_new(void);
void timeline_free(Timeline *t);
bool timeline_take(void *timeline, const Event *e);      /* as store_event_each calls it; always true */
void timeline_write(Timeline *t, Buf *out, const TimelineStyle *style);
/* For a run that goes on: what was taken since the last call. Calls appear when they have ended, those of a sub-agent below a line of its call; an answer
 * when something follows it, so not the last one. */
void timeline_write_new(Timeline *t, Buf *out, const TimelineStyle *style);
void timeline_write_waterfall(Timeline *t, Buf *out, const TimelineStyle *style);    /* nested bars over time */
/* One HTML page without scripts, which loads nothing. `about` describes the run. */
typedef struct TimelineAbout { Str id, status, agent, title; int64_t started_ns, ended_ns, turns, tool_calls; double cost; } TimelineAbout;
void timeline_write_html(Timeline *t, Buf *out, const TimelineAbout *about);
