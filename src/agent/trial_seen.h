/* The events of a test, and their comparison with the expectations. For trial.c. */
#pragma once
#include "agent/trial.h"

typedef struct TrialEvent { EventType known; Str type, text; Value data; } TrialEvent;    /* known: see event_type_find; data: GONE until parsed */
typedef struct TrialCall { Str id, name; Value args; } TrialCall;

typedef struct TrialSeen {
    Runtime *rt;
    Trial *trial;
    Heap *heap;
    Arena arena;
    VEC(TrialEvent) events;
    size_t bytes;
    bool too_many;                       /* events were dropped, so they cannot be checked */
    size_t first;                        /* index of the first relevant event: of one turn, or 0 */
    Str response;
    int64_t tokens;
} TrialSeen;

EventSink trial_sink(TrialSeen *s);      /* borrows it */
void trial_seen_clear(TrialSeen *s);

/* One `expect`: a map, or a list of maps. False: malformed. `path` names it in messages. */
bool trial_expect(TrialSeen *s, Value expect, const char *path, Error *err);
/* True if the test expects a failure, so that a turn may end with an error. */
bool trial_expects_trouble(Value expect);

bool trial_covers(Value want, Value got);                    /* partial match, see trial.h */
void trial_fail(Trial *t, const char *check, Str expected, Str got);      /* copies */
void trial_show(Buf *out, Value v);                          /* compact JSON, cut when it is long */
bool trial_unknown_key(Value map, const char *path, const char *const *known, Error *err);   /* false if there is one; *err names the nearest key */
