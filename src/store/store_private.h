/* Private to src/store/. */
#pragma once
#include <pthread.h>
#include <stdarg.h>
#include "base/str.h"
#include "store/store.h"
#include "store/store_chain.h"

typedef enum {
#define SQL(id, kept, sqlite, postgres) id,
#include "store/store_statements.def"
    SQL_COUNT
} StoreSql;

/* Queued events: see store_event.c. */
typedef struct StoreQueue {
    pthread_mutex_t lock;                /* guards everything here except `writing` and `unsure`, which the store's lock guards;
                                          * taken after that one */
    pthread_cond_t changed;
    Buf filling, writing;
    Error failed;                        /* result of the last flush */
    bool tried, started;                 /* the flush thread: a start was attempted; it is running */
    bool idle, ticking;                  /* the thread waits here for the first event; for more events */
    bool over;                           /* stops the thread */
    size_t unsure;                       /* so many bytes of `writing` may be committed: the connection was lost during COMMIT */
    pthread_t thread;
} StoreQueue;

/* The end of a run's events, while a transaction appends to it: store_writer.c. */
typedef struct StoreWriter { Str id; int64_t n, turns, calls; uint64_t last; double cost; uint8_t hash[SHA256_BYTES]; } StoreWriter;

/* A query that was prepared. `stmt` belongs to the driver; NULL: preparing failed. */
typedef struct StoreQuery { Store *store; void *stmt; bool kept; const char *doing; Error *err; } StoreQuery;

/* What differs between the databases: sqlite_driver.c and postgres_driver.c. The callers hold the store's lock. */
typedef struct StoreDriver {
    void (*close)(Store *s);
    void (*prepare)(StoreQuery *q, StoreSql sql);            /* sets `stmt` and `kept`, or the error */
    bool (*bind)(StoreQuery *q, const char *types, va_list ap);
    bool (*row)(StoreQuery *q, bool *some);
    void (*end)(StoreQuery *q);
    Str (*text)(const StoreQuery *q, int column);
    int64_t (*integer)(const StoreQuery *q, int column);
    double (*real)(const StoreQuery *q, int column);
    int64_t (*changes)(Store *s);                            /* rows that the last statement changed */
    bool (*is_taken)(Store *s);                              /* the last statement failed because its key exists */
    void (*roll_back)(Store *s);
    int page;                                                /* events that a walk gets at once; 0: all */
    bool counts_all;                                         /* store_version changes with every write, not only with answers and commands */
    /* Leases. `alive` reads the columns of SQL_RUN_GET. */
    bool (*run_start)(Store *s, Str id, Str agent, Str session, Error *err);
    bool (*run_lease)(Store *s, Str id, Error *err);
    bool (*lease_free)(Store *s, Str id);                    /* keeps others from the run while it is pruned; false: one has it */
    void (*lease_drop)(Store *s, Str id);
    bool (*alive)(const StoreQuery *q);
    /* NULL in SQLite, where leases are locks that no process loses. The caller is in a transaction, and keeps the row of the run until its end.
     * ERR_POLICY: another process has the run. `head` is a row of SQL_RUN_HEAD. */
    bool (*fence)(Store *s, Str run, const char *doing, Error *err);
    bool (*fence_events)(Store *s, const StoreQuery *head, StoreWriter *w, Error *err);
    /* Also NULL in SQLite, which loses no connections. */
    bool (*lost)(Store *s);                                  /* the lease ended, or is about to */
    bool (*again)(Store *s, int64_t since_ns);               /* the transaction since then failed because the connection was lost: repeat it */
    void (*wrote)(Store *s, const StoreWriter *w);           /* a transaction appended events to this run */
    bool (*was_unsure)(Store *s);                            /* the connection was lost during a COMMIT; true once */
    bool (*committed)(Store *s, bool *yes, Error *err);      /* whether that transaction was committed; the caller is in one */
    bool (*artifact_put)(Store *s, Str key, Str run, Str tool, Str mime, Str bytes, bool *fresh, Error *err);
    bool (*artifact_get)(Store *s, Str run, Str key, uint64_t offset, uint64_t limit, Buf *out, uint64_t *total, Error *err);
    bool (*shrink)(Store *s, Error *err);
    bool (*make_decisions)(Store *s, Error *err);            /* the table, if it is missing */
    void (*wait)(Store *s, int ms);                          /* how long statements wait for others */
    bool sized;                                              /* store_bound can measure it */
} StoreDriver;

/* The beginning of SqliteStore and PostgresStore. */
struct Store {
    const StoreDriver *driver;
    pthread_mutex_t lock;                /* recursive: the callback of an _each function may use the store */
    char *name;                          /* for messages: "state file /x/y.db", "database postgresql://…" without a password */
    bool ready;                          /* opening succeeded */
    StoreQueue queue;
};
void store_init(Store *s, const StoreDriver *driver, const char *kind, const char *place);    /* for a driver that opens; store_close frees it */

/* The first column of SQL_RUN_GET and SQL_RUN_EACH that only `alive` reads. */
enum { STORE_RUN_HOLDER = 12, STORE_RUN_PAGE_NUMBER = 16 };   /* the number of the run: only in SQL_RUN_PAGE */

/* Binds ?1, ?2 …: store_bind(q, "siib", text, number, number, bytes). s and b take a Str, i an int64_t, d a double.
 * Strings and bytes must stay valid until the statement is reset. */
bool store_bind(StoreQuery *q, const char *types, ...);
/* The caller of these holds the lock. `doing` is for messages: "start run". A query that failed to prepare has no stmt,
 * and all calls on it fail; the error is set. */
StoreQuery store_query(Store *s, StoreSql sql, const char *doing, Error *err);
bool store_row(StoreQuery *q, bool *some);                   /* next row */
bool store_end(StoreQuery *q, bool ok);                      /* resets the query; returns ok */
bool store_run(StoreQuery *q);                               /* for statements without rows: step, and end */
Str store_text(const StoreQuery *q, int column);             /* valid until the next row */
int64_t store_int(const StoreQuery *q, int column);
double store_double(const StoreQuery *q, int column);
bool store_no_such(const char *what, Str key, Error *err);    /* ERR_VALIDATION; returns false */

bool store_begin(Store *s, const char *doing, Error *err);
bool store_begin_alone(Store *s, const char *doing, Error *err);             /* for one that reads before it writes */
int64_t store_changes(Store *s);                             /* rows that the last statement changed */
bool store_fence(Store *s, Str run, const char *doing, Error *err);    /* see StoreDriver */
/* A transaction of one statement on what belongs to a run, under the fence. In SQLite both do nothing. */
bool store_begin_fenced(Store *s, Str run, const char *doing, Error *err);
bool store_end_fenced(Store *s, bool ok, const char *doing, Error *err);
bool store_commit(Store *s, bool ok, const char *doing, Error *err);   /* rolls back when !ok; true if the transaction
                                                                        * is committed */

static inline void store_lock(Store *s) { pthread_mutex_lock(&s->lock); }
static inline bool store_unlock(Store *s, bool ok) { pthread_mutex_unlock(&s->lock); return ok; }

/* store_run.c */
bool store_run_number(Store *s, Str id, int64_t *n, Error *err);             /* 0: no such run */
StoreRun store_run_of(const StoreQuery *q);
static inline int64_t store_event_id(int64_t run, uint64_t seq) { return (run << 32) | (int64_t)(seq > UINT32_MAX ? UINT32_MAX : seq); }

/* Calls `each` with the events from id `from` to id `to`, and their hashes, page by page. */
bool store_event_walk(Store *s, int64_t from, int64_t to, const char *doing, bool (*each)(void *ctx, const Event *e, Str hash), void *ctx, Error *err);

bool store_task_write(Store *s, Str run, Str task, Str tool, Str status, Str result, Error *err);   /* store_task.c: without the fence */

/* store_verify.c. `previous` is the hash of the event before e, or store_chain_first of the run. `out` may be `previous`. */
void store_event_first(Str run, uint8_t out[SHA256_BYTES]);
void store_event_chain(const Event *e, const uint8_t previous[SHA256_BYTES], uint8_t out[SHA256_BYTES]);

/* store_artifact.c: "art_" and 12 characters. */
enum { STORE_KEY_SIZE = 4 + 12 + 1, STORE_KEY_TRIES = 10 };
void store_artifact_key(char out[STORE_KEY_SIZE]);

/* store_writer.c. The caller holds the store's lock and a transaction. A writer that failed must not be closed. */
bool store_writer_open(Store *s, Str run, StoreWriter *out, Error *err);     /* borrows `run`; n is 0 if there is no such run */
bool store_writer_add(Store *s, StoreWriter *w, const Event *e, Error *err);
bool store_writer_close(Store *s, const StoreWriter *w, Error *err);

/* store_event.c. The caller holds the store's lock for the middle three, which include the queue in another
 * transaction: if store_events_queued, call store_events_write inside it and store_events_done after it. */
void store_queue_init(StoreQueue *q);
bool store_events_queued(Store *s);
bool store_events_write(Store *s, Error *err);
void store_events_done(Store *s, bool ok, const Error *why);
void store_queue_close(Store *s);                            /* flushes */
