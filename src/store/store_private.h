/* Private to src/store/. */
#pragma once
#include <pthread.h>
#include "base/str.h"
#include "store/sqlite.h"
#include "store/store.h"
#include "store/store_chain.h"

/* X(enumerator, SQL): statements that stay prepared. Queries of _each functions are not among them, because they may
 * nest. */
#define STORE_STATEMENTS(X) \
    X(SQL_BEGIN, "BEGIN IMMEDIATE") \
    X(SQL_COMMIT, "COMMIT") \
    X(SQL_ROLLBACK, "ROLLBACK") \
    X(SQL_RUN_START, "INSERT INTO runs (id, status, agent, parent, session, started_ns, ended_ns, turns, tool_calls, usage, pid, pid_start, " \
                     "boot) VALUES (?1, 'running', ?2, '', ?3, ?4, 0, 0, 0, '', ?5, ?6, ?7)") \
    X(SQL_RUN_HOLDER, "SELECT pid, pid_start, boot FROM runs WHERE id = ?1") \
    X(SQL_RUN_LEASE, "UPDATE runs SET status = 'running', pid = ?2, pid_start = ?3, boot = ?4 WHERE id = ?1") \
    X(SQL_RUN_END, "UPDATE runs SET status = ?2, ended_ns = ?3, turns = ?4, tool_calls = ?5, usage = ?6, cost = ?7, pid = 0, " \
                   "pid_start = 0, boot = '' WHERE id = ?1") \
    X(SQL_RUN_NUMBER, "SELECT n FROM runs WHERE id = ?1") \
    X(SQL_RUN_HEAD, "SELECT n, hash FROM runs WHERE id = ?1") \
    X(SQL_RUN_GROW, "UPDATE runs SET turns = turns + ?2, tool_calls = tool_calls + ?3, last = ?4, hash = ?5, " \
                    "cost = cost + ?6 WHERE n = ?1") \
    X(SQL_RUN_TITLE, "UPDATE runs SET title = ?2 WHERE id = ?1 AND title = ''") \
    X(SQL_EVENT_PUT, "INSERT INTO events (id, time_ns, agent, parent, depth, type, data, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)") \
    X(SQL_EVENT_LAST, "SELECT id & 0xffffffff FROM events WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT 1") \
    X(SQL_ARTIFACT_PUT, "INSERT OR IGNORE INTO artifacts (key, run, tool, mime, time_ns, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)") \
    X(SQL_ARTIFACT_FIND, "SELECT rowid FROM artifacts WHERE key = ?1 AND run = ?2") \
    X(SQL_TASK_PUT, "INSERT INTO tasks (run, task, tool, status, result) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (run, task) DO UPDATE SET " \
                    "tool = excluded.tool, status = excluded.status, result = excluded.result") \
    X(SQL_TASK_GET, "SELECT status, result FROM tasks WHERE run = ?1 AND task = ?2") \
    X(SQL_HOOK_ADD, "INSERT INTO hooks (hook, calls, blocks, errors, ns) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (hook) DO UPDATE SET " \
                    "calls = calls + excluded.calls, blocks = blocks + excluded.blocks, errors = errors + excluded.errors, ns = ns + excluded.ns") \
    X(SQL_VERSION, "PRAGMA data_version") \
    X(SQL_APPROVAL_STATE, "SELECT state FROM approvals WHERE id = ?1") \
    X(SQL_APPROVAL_PUT, "INSERT INTO approvals (id, run, call, tool, args, args_hash, why, rule, asked, expires, state, answer, by) VALUES " \
                        "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'open', '', '') ON CONFLICT (id) DO UPDATE SET state = 'open', " \
                        "expires = excluded.expires WHERE state IN ('open', 'withdrawn')") \
    X(SQL_APPROVAL_GET, "SELECT id, run, call, tool, args, args_hash, why, rule, asked, expires, state, answer, by FROM approvals WHERE id = ?1") \
    X(SQL_APPROVAL_ANSWER, "UPDATE approvals SET state = 'answered', answer = ?2, by = ?3 WHERE id = ?1 AND state = 'open'") \
    X(SQL_APPROVAL_USE, "UPDATE approvals SET state = 'used' WHERE id = ?1 AND state = 'answered'") \
    X(SQL_APPROVAL_WITHDRAW, "UPDATE approvals SET state = 'withdrawn' WHERE id = ?1 AND state = 'open'") \
    X(SQL_COMMAND_PUT, "INSERT INTO commands (run, n, kind, body, by) SELECT ?1, ifnull(max(n), 0) + 1, ?2, ?3, ?4 FROM commands WHERE run = ?1") \
    X(SQL_NOTE_PUT, "INSERT INTO notes (scope, key, text) VALUES (?1, ?2, ?3) ON CONFLICT (scope, key) DO UPDATE SET text = excluded.text") \
    X(SQL_NOTE_GET, "SELECT text FROM notes WHERE scope = ?1 AND key = ?2") \
    X(SQL_NOTE_DELETE, "DELETE FROM notes WHERE scope = ?1 AND key = ?2")

typedef enum {
#define X(id, sql) id,
    STORE_STATEMENTS(X)
#undef X
    SQL_COUNT
} StoreSql;

/* Queued events: see store_event.c. */
typedef struct StoreQueue {
    pthread_mutex_t lock;                /* guards everything here except `writing`, which the store's lock guards;
                                          * taken after that one */
    pthread_cond_t changed;
    Buf filling, writing;
    Error failed;                        /* result of the last flush */
    bool tried, started;                 /* the thread: starting was attempted; it runs */
    bool idle, ticking;                  /* the thread waits for the first event; for more events */
    bool over;                           /* stops the thread */
    pthread_t thread;
} StoreQueue;

struct Store {
    pthread_mutex_t lock;                /* recursive: the callback of an _each function may use the store */
    const Sqlite *api;
    sqlite3 *db;
    char *path;
    sqlite3_stmt *kept[SQL_COUNT];
    int lease_fd;                        /* -1: unavailable, use pid and start time */
    StoreQueue queue;
};

/* Binds ?1, ?2 …: store_bind(q, "siib", text, number, number, bytes). s and b take a Str, i an int64_t, d a double.
 * Strings and bytes must stay valid until the statement is reset. */
typedef struct StoreQuery { Store *store; sqlite3_stmt *stmt; bool kept; const char *doing; Error *err; } StoreQuery;

/* The caller of these holds the lock. `doing` is for messages: "start run". A query that failed to prepare has no stmt,
 * and all calls on it fail; the error is set. */
StoreQuery store_query(Store *s, StoreSql sql, const char *doing, Error *err);
StoreQuery store_walk(Store *s, const char *sql, const char *doing, Error *err);
bool store_bind(StoreQuery *q, const char *types, ...);
bool store_row(StoreQuery *q, bool *some);                   /* next row */
bool store_end(StoreQuery *q, bool ok);                      /* resets the query; returns ok */
bool store_run(StoreQuery *q);                               /* for statements without rows: step, and end */
Str store_text(const StoreQuery *q, int column);             /* valid until the next row */
int64_t store_int(const StoreQuery *q, int column);
double store_double(const StoreQuery *q, int column);
bool store_no_such(const char *what, Str key, Error *err);    /* ERR_VALIDATION; returns false */
bool store_failed(Store *s, const char *doing, Error *err);  /* sets the connection's error; returns false */

bool store_begin(Store *s, const char *doing, Error *err);
bool store_commit(Store *s, bool ok, const char *doing, Error *err);   /* rolls back when !ok; true if the transaction
                                                                        * is committed */

static inline void store_lock(Store *s) { pthread_mutex_lock(&s->lock); }
static inline bool store_unlock(Store *s, bool ok) { pthread_mutex_unlock(&s->lock); return ok; }

/* store_schema.c */
#define STORE_FORMAT 4
extern const char store_schema_runs[], store_schema_control[];   /* the tables that differ from format 2, and those
                                                                  * that it did not have */
bool store_check(Store *s, int64_t *version, Error *err);     /* read-only: the file may belong to another program */
bool store_migrate(Store *s, int64_t version, Error *err);    /* version: from store_check */
bool store_exec(Store *s, const char *sql, const char *doing, Error *err);

/* store_lease.c */
typedef struct StoreHolder { int64_t pid, start; char boot[40]; } StoreHolder;
void store_holder_self(StoreHolder *out);
bool store_holder_alive(const StoreHolder *h);
bool store_lease_take(Store *s, Str run);                    /* false: another process holds the lock */
bool store_lease_sure(Store *s, Str name);                   /* the same; also false on file systems without locks */
void store_lease_drop(Store *s, Str run);
bool store_lease_any(Store *s);                              /* true if another store holds a lease on this file */

/* store_run.c */
bool store_run_number(Store *s, Str id, int64_t *n, Error *err);             /* 0: no such run */
#define STORE_RUN_COLUMNS "SELECT id, status, agent, parent, session, started_ns, ended_ns, turns, tool_calls, usage, pid, pid_start, boot, title, cost"
enum { STORE_RUN_COUNT = 15 };                               /* of these columns */
StoreRun store_run_of(const StoreQuery *q);
static inline int64_t store_event_id(int64_t run, uint64_t seq) { return (run << 32) | (int64_t)(seq > UINT32_MAX ? UINT32_MAX : seq); }

/* store_verify.c. `previous` is the hash of the event before e, or store_chain_first of the run. `out` may be `previous`. */
void store_event_first(Str run, uint8_t out[SHA256_BYTES]);
void store_event_chain(const Event *e, const uint8_t previous[SHA256_BYTES], uint8_t out[SHA256_BYTES]);

/* store_artifact.c: "art_" and 12 characters. */
enum { STORE_KEY_SIZE = 4 + 12 + 1, STORE_KEY_TRIES = 10 };
void store_artifact_key(char out[STORE_KEY_SIZE]);

/* store_writer.c. The caller holds the store's lock and a transaction. A writer that failed must not be closed. */
typedef struct StoreWriter { Str id; int64_t n, turns, calls; uint64_t last; double cost; uint8_t hash[SHA256_BYTES]; } StoreWriter;
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
