/* Reconstructs what an earlier process of the same run did, from the run's events. */
#pragma once
#include "agent/frame.h"

typedef struct Journal Journal;

/* JOURNAL_NEW: not executed, or unknown. JOURNAL_IN_FLIGHT: tool.executing was written but no end: outcome unknown.
 * JOURNAL_DONE: its result is known. */
typedef enum { JOURNAL_NEW, JOURNAL_IN_FLIGHT, JOURNAL_DONE } JournalState;
/* once: when the call was made, its tool did not allow repeated calls. */
/* media: a list of the result's images and PDFs, without data; GONE: none. */
/* changed: the event of its end names the file that it changed. */
typedef struct JournalCall { JournalState state; Str text, artifact, key; Value media; bool is_error, once, changed; } JournalCall;

bool journal_read(Session *s, Error *err);                   /* fills s->journal */
void journal_free(Journal *j);
/* Restores a frame's messages and counters. *unfinished: an answer is still due; *calls: the calls of the last reply if
 * not all have results, else GONE. */
bool journal_rebuild(Frame *f, bool *unfinished, Value *calls, Error *err);
/* Registers again what scripts of the run had registered with meta.*, under the current policy. Failures are logged and
 * recorded as events; for a hook a failure is an error: the run must not continue without its guard. */
bool journal_restore(Session *s, Error *err);
bool journal_push_result(Frame *f, Str id, const JournalCall *c, Error *err);        /* the result of a call that is done */
JournalCall journal_call(const Session *s, Str id);
/* True if every call that this one had started, directly or nested, may be repeated. `may` decides for the current
 * tool; the journal's record must agree. */
bool journal_nested_may_repeat(const Frame *f, Str id, bool (*may)(const Frame *f, Str name));
bool journal_has(const Session *s, Str id);                  /* true if it was the id of a call or a delegation */
/* The delegation to `agent` whose id starts with `prefix` and after which the frame did nothing more; "": none. */
Str journal_open_delegation(const Frame *f, Str prefix, Str agent);
