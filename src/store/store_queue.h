/* The queue of runs, for stores in PostgreSQL. A state file has none: the functions fail with ERR_CONFIG, except where they say otherwise.
 *
 *     ready → taken by a worker → ended
 *       ↑          │ handed back, or the lease of the worker ended; parked: ready when a question is answered
 *       └──────────┘
 *
 * The lease belongs to the worker. A run has an epoch that grows each time that its owner changes, and every write to a run compares owner and epoch,
 * so a worker that lost a run writes nothing more to it. */
#pragma once
#include "store/store.h"

/* STORE_QUEUE_TRIES: a run whose workers die so often without a new event has failed. STORE_QUEUE_JOURNAL: the newest format of events that
 * this program can resume; 2 is that of a run which is bound to a host, so that older programs, which know no hosts, do not take it. */
enum { STORE_QUEUE_TRIES = 5, STORE_QUEUE_JOURNAL = 2 };

bool store_queue_check(const Store *s, Error *err);          /* ERR_CONFIG: the store has no queue */

/* wake_ns: not before this time; 0: now. Higher priorities first. `job` is for the worker. */
typedef struct StoreJob { Str id, agent, title, job; int64_t priority, wake_ns; } StoreJob;
bool store_queue_put(Store *s, const StoreJob *j, Error *err);

/* The id of this host, STORE_QUEUE_HOST letters and digits; before store_queue_join. Only processes with the same id take runs that are bound to it. */
enum { STORE_QUEUE_HOST = 16 };
void store_queue_host(Store *s, const char *id);
/* Registers this process as `kind` ("worker", "run"; a constant), before its first run. Its lease is renewed by a thread until store_close. */
bool store_queue_join(Store *s, const char *kind, Error *err);
/* Takes the next run for this process, which must have joined. *some is false if none is ready. started: the run has events, and must be resumed.
 * bind: binds the run to this host. bound: it was already. */
typedef struct StoreTaken { Buf id, agent, job; bool started, bound; } StoreTaken;
bool store_queue_take(Store *s, bool bind, StoreTaken *out, bool *some, Error *err);      /* overwrites *out; the caller clears its buffers */
/* Writes all events, and makes the run ready for another worker. ERR_POLICY: this process does not have it any more. */
bool store_queue_back(Store *s, Str id, Error *err);
/* The same for a run that waits for answers: no worker takes it before one of these questions (ids, separated by spaces) is answered or expires. Until then
 * its status is "waiting". */
bool store_queue_park(Store *s, Str id, Str questions, Error *err);
bool store_queue_waiting(Store *s, int64_t *n, Error *err);                    /* how many runs wait for answers */
/* Ends a run of this process that could not be started: failed, with this reason. */
bool store_queue_fail(Store *s, Str id, Str why, Error *err);
bool store_queue_ready(Store *s, int64_t most, int64_t *n, Error *err);        /* how many runs could be taken now; counts up to `most` */

/* Waits until the queue may have changed (a run was queued, answered or cancelled), for `ns`, or until `cancel` fires. A hint only: behind a pooler, or
 * without a connection, it waits for the whole time. One thread. */
void store_queue_wait(Store *s, int64_t ns, Cancel *cancel);

/* Makes the runs of dead workers ready again. Then ends those that no worker may take: cancelled ones, and those with STORE_QUEUE_TRIES takeovers
 * without a new event, which have failed. Any worker may call it, at any time. */
bool store_queue_reap(Store *s, Error *err);
/* Cancels a queued run: one that waits has ended on return (*ended), the worker of another one learns it with its next renewal. *queued is
 * false for a run that is not queued, also in a state file. */
bool store_queue_cancel(Store *s, Str id, bool *queued, bool *ended, Error *err);
bool store_queue_cancelled(Store *s);                        /* a run of this process was cancelled, as of the last renewal of its lease */

/* Runs that wait for a worker of their host, and none is alive. Their status is "stranded". */
bool store_queue_stranded(Store *s, bool (*each)(void *ctx, Str id, Str host), void *ctx, Error *err);
/* Lets any host take a stranded run. host: where its files are; the caller clears it. ERR_POLICY: it is not stranded. */
bool store_queue_adopt(Store *s, Str id, Buf *host, Error *err);
/* For a run of this process: any host may take it. */
bool store_queue_unbind(Store *s, Str id, Error *err);

/* Processes whose lease holds. runs: ids, separated by spaces. */
typedef struct StoreWorker { Str id, host, kind, runs; int64_t pid, started_ns, lease_ms; } StoreWorker;
bool store_queue_workers(Store *s, bool (*each)(void *ctx, const StoreWorker *w), void *ctx, Error *err);
