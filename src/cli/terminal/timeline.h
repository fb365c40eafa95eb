/* What a run did, one line a step: who, what, the verdict and the rule that gave it, time, cost; under it the first lines of the output, or what
 * changed. `harness run` shows it live, `harness runs show` afterwards. Text from outside is escaped. */
#pragma once
#include "base/arena.h"
#include "event/event.h"
#include "value/value.h"

typedef struct TimelineStyle { size_t width; bool color, all; } TimelineStyle;   /* all: outputs and diffs are not folded */

typedef struct TimelineCall {
    int depth;
    Str name, about;                     /* about: what it is called with, one line */
    Str verdict;                         /* "allowed", "asked you: yes", "blocked by …"; escaped already */
    bool failed, open;                   /* open: it has not ended */
    int64_t elapsed_ns, waited_ns;
    double cost;
    Str output, diff;                    /* as they are; shown in part */
} TimelineCall;

void timeline_add_call(Buf *out, const TimelineCall *c, const TimelineStyle *style);
/* What a call gave, as text to show: a string, the output of a program, else JSON. */
void timeline_output(Buf *out, Value value);
/* The one argument that says most, escaped and in one line: a path, a command, an agent. */
void timeline_about(Buf *out, Str arguments_json);
void timeline_add_duration(Buf *out, int64_t ns);

/* A whole run, from its events in their order. */
typedef struct Timeline Timeline;
Timeline *timeline_new(void);
void timeline_free(Timeline *t);
bool timeline_take(void *timeline, const Event *e);      /* as store_event_each calls it; always true */
void timeline_write(Timeline *t, Buf *out, const TimelineStyle *style);
void timeline_write_waterfall(Timeline *t, Buf *out, const TimelineStyle *style);    /* nested bars over time */
