/* Decisions of `harness guard`, in a chain of their own (store_chain.h). The table is created by the first decision, so that files of any
 * format can have it. */
#pragma once
#include "store/store.h"

enum { STORE_DECISION_TEXT_MAX = 4096 };                     /* longer texts are stored as "sha256:HEX (N bytes)" */

typedef struct StoreDecision {
    int64_t n, time_ns;                                      /* set by store_decision_put */
    Str vendor, session, call, event, tool, vendor_tool, subject, verdict, rule, reason, root;
    Str input;                                               /* the envelope of a call, as guard/kept.h writes it; "": not stored */
} StoreDecision;

/* How long to wait for other processes; store_open sets five seconds. */
void store_decision_wait(Store *s, int ms);
/* Does not shorten `input`: the caller bounds it. *fresh is false if the same (vendor, session, call, event) is stored already: then nothing is changed. */
bool store_decision_put(Store *s, const StoreDecision *d, bool *fresh, Error *err);
/* The number and hash of the last decision; 0 without one. */
bool store_decision_last(Store *s, int64_t *n, uint8_t hash[32], Error *err);
/* The stored hash of decision `n`. */
bool store_decision_hash(Store *s, int64_t n, uint8_t hash[32], bool *found, Error *err);
/* Decisions after number `after`, oldest first. */
bool store_decision_each(Store *s, int64_t after, bool (*each)(void *ctx, const StoreDecision *d), void *ctx, Error *err);

typedef enum { STORE_DECISION_CHANGED, STORE_DECISION_REMOVED, STORE_DECISION_HEAD } StoreDecisionFault;
typedef struct StoreDecisionCheck { int64_t decisions, faults; uint8_t hash[32]; } StoreDecisionCheck;      /* hash: of the last one */
/* Checks the chain. `each` gets the numbers of mismatched rows: a row changed or inserted; rows removed, up to `to`; HEAD: rows removed at
 * the end, or the record of the last row changed. */
typedef void StoreDecisionEach(void *ctx, StoreDecisionFault fault, int64_t from, int64_t to);
bool store_decision_verify(Store *s, StoreDecisionCheck *out, StoreDecisionEach *each, void *ctx, Error *err);
