/* Shared by timeline.c, timeline_take.c and timeline_html.c. All strings are in the arena. */
#pragma once
#include "base/table.h"
#include "cli/terminal/timeline.h"

enum { TIMELINE_LEVELS = 32 };           /* items nest that deep */

typedef enum { TIMELINE_PROMPT, TIMELINE_ANSWER, TIMELINE_CALL, TIMELINE_NOTE } TimelineKind;
typedef struct TimelineFact { const char *label; Str text; struct TimelineFact *next; } TimelineFact;

typedef struct TimelineItem {
    TimelineKind kind;
    TimelineCall call;                   /* of a prompt: depth and cost; of an answer: depth and time */
    Str text, agent, model;              /* model: of a prompt, the one that answered it */
    Str args, source, by;                /* of a call: its arguments as JSON, and who answered the question about it */
    bool cut;                            /* its output is longer */
    bool shown, shown_end;               /* by timeline_write_new; shown_end: as it ended */
    double context;                      /* of a prompt: percent of the context that the newest request took; 0: not known */
    TimelineFact *facts, *last_fact;
    int64_t start_ns, end_ns, hooks_ns, worked_ns;
    struct TimelineItem *in, *first, *last, *next;       /* the item around it, those inside, the next beside it */
    int level;
} TimelineItem;

struct Timeline {
    Arena arena;
    TimelineItem top;                    /* holds the items of the main agent */
    TimelineItem *prompt;                /* the newest one of the main agent */
    Table calls;                         /* by id */
    int64_t first_ns, last_ns;
    double cost;
};

Str timeline_trim(Str text);             /* without empty lines at both ends; the indent of the first line stays */
