/* The tool calls of a stored run, with how each ended. */
#pragma once
#include "base/vec.h"
#include "store/store.h"
#include "value/heap.h"

typedef struct RecordedCall {
    uint64_t seq;                        /* of its first event */
    int64_t time_ns;
    Str id, tool, agent;
    Str args;                            /* JSON */
    Str outcome;                         /* "completed", "failed", "refused", "open" */
    Str step, rule;                      /* of a refusal; rule: also of a question. May be empty */
    bool asked;                          /* a user was asked */
    bool redacted;                       /* something in its arguments is masked */
} RecordedCall;

typedef struct Recorded {                /* zero-initialise, recorded_clear at the end */
    RecordedCall *at; size_t n, cap;     /* oldest first; texts in the arena */
    Arena arena;
    Heap *heap;
    int64_t events;                      /* read so far */
    int64_t events_max;
} Recorded;

/* Appends the calls of a run that passed their first checks. Stops, without an error, when `events` exceeds `events_max`. */
bool recorded_read(Recorded *r, Store *store, Str run, int64_t events_max, Error *err);
void recorded_reset(Recorded *r);        /* without calls; `events` stays */
void recorded_clear(Recorded *r);
