/* The queue in PostgreSQL: which run is taken, by which worker, and what a worker that lost its run can still write. */
#include "place.h"
#include <pthread.h>
#include "base/clock.h"
#include "store/postgres_private.h"
#include "store/store_queue.h"

static void put(StorePlace *p, Store *s, const char *id, int64_t priority, int64_t wake_ns) {
    must(p, store_queue_put(s, &(StoreJob){ .id = str_from(id), .title = STR("title"), .job = STR("{}"), .priority = priority, .wake_ns = wake_ns }, &p->err));
}

/* "" if no run is ready. Returns whether it was bound to a host before. */
static bool take_bound(StorePlace *p, Store *s, bool bind, const char *expected) {
    StoreTaken t = { 0 };
    bool some = false;
    must(p, store_queue_take(s, bind, &t, &some, &p->err));
    assert_str(some ? buf_str(&t.id) : STR(""), expected);
    buf_clear(&t.id);
    buf_clear(&t.agent);
    buf_clear(&t.job);
    return t.bound;
}

static void take(StorePlace *p, Store *s, const char *expected) { take_bound(p, s, false, expected); }

static Store *worker(StorePlace *p) {
    Store *s = must_open(p);
    must(p, store_queue_join(s, "run", &p->err));
    return s;
}

static bool emit(Store *s, const char *run, uint64_t seq, const char *type, Error *err) {
    EventSink sink = store_event_sink(s);
    Event e = { .seq = seq, .time_ns = clock_wall_ns(), .run = str_from(run), .type = str_from(type), .data = STR("{}") };
    return sink.write(sink.self, &e, err) && store_flush(s, err);
}

static void has_status(StorePlace *p, Store *s, const char *run, const char *expected) {
    Buf status = { 0 };
    must(p, store_run_status(s, str_from(run), &status, &p->err));
    assert_str(buf_str(&status), expected);
    buf_clear(&status);
}

/* The lease of one worker ends, as after a machine lost its power. */
static void end_lease(StorePlace *p, Store *s) {
    char text[200];
    snprintf(text, sizeof text, "UPDATE harness.workers SET lease_until = now() - interval '1 s', boot = 'x' WHERE id = '%s'", ((PostgresStore *)s)->lease.owner);
    place_psql(p->path, text);
}

/* ---- a state file ---- */

static void test_state_file(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    Store *s = must_open(&p);
    bool queued = true, ended = true;
    assert_false(store_queue_put(s, &(StoreJob){ .id = STR("r") }, &p.err));
    assert_int_equal(p.err.kind, ERR_CONFIG);
    assert_non_null(strstr(p.err.msg, "the queue needs PostgreSQL, and the runs are kept in state file "));
    assert_false(store_queue_join(s, "worker", &p.err));
    assert_false(store_queue_reap(s, &p.err));
    assert_true(store_queue_cancel(s, STR("r"), &queued, &ended, &p.err));
    assert_false(queued || ended || store_queue_cancelled(s));
    store_close(s);
    place_close(&p);
}

/* ---- which run ---- */

static void test_order(void **state) {
    (void)state;
    StorePlace p;
    int64_t n = 0;
    place_open(&p);
    Store *s = worker(&p);
    put(&p, s, "low", -1, 0);
    put(&p, s, "later", 9, clock_wall_ns() + INT64_C(3600000000000));
    put(&p, s, "first", 0, clock_wall_ns() - INT64_C(60000000000));
    put(&p, s, "second", 0, 0);
    put(&p, s, "high", 5, 0);
    has_status(&p, s, "high", "queued");
    must(&p, store_queue_ready(s, 10, &n, &p.err));
    assert_int_equal(n, 4);
    must(&p, store_queue_ready(s, 2, &n, &p.err));
    assert_int_equal(n, 2);
    take(&p, s, "high");
    has_status(&p, s, "high", "running");
    take(&p, s, "first");
    take(&p, s, "second");
    take(&p, s, "low");
    take(&p, s, "");
    place_psql(p.path, "UPDATE harness.runs SET wake_at = now(), journal = 99 WHERE id = 'later'");
    take(&p, s, "");                                         /* of a newer harness */
    store_close(s);
    place_close(&p);
}

/* A run that another transaction is taking is skipped, not waited for. */
static void test_skips_locked(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    Store *a = worker(&p), *b = worker(&p);
    put(&p, a, "one", 1, 0);
    put(&p, a, "two", 0, 0);
    assert_true(store_begin(a, "take", &p.err));
    take(&p, a, "one");
    take(&p, b, "two");
    take(&p, b, "");
    assert_true(store_commit(a, true, "take", &p.err));
    store_close(a);
    store_close(b);
    place_close(&p);
}

static void test_not_others(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    Store *s = worker(&p);
    must(&p, store_run_start(s, STR("mine"), STR(""), STR(""), &p.err));
    end_lease(&p, s);
    Store *b = worker(&p);
    must(&p, store_queue_reap(b, &p.err));
    take(&p, b, "");                                         /* an interactive run is never taken */
    put(&p, b, "queued", 0, 0);
    take(&p, s, "");                                         /* nor does a worker take one whose lease ended */
    assert_false(store_run_lease(b, STR("queued"), &p.err));
    assert_non_null(strstr(p.err.msg, "run queued is in the queue"));
    assert_false(store_run_prune(b, STR("queued"), &p.err));
    take(&p, b, "queued");
    store_close(s);
    store_close(b);
    place_close(&p);
}

/* ---- takeovers ---- */

static void refused(StorePlace *p, bool ok) {
    assert_false(ok);
    assert_int_equal(p->err.kind, ERR_POLICY);
    p->err = (Error){ 0 };
}

static void all_refused(StorePlace *p, Store *s) {
    Buf key = { 0 };
    refused(p, store_artifact_put(s, STR("r"), STR("t"), STR(""), STR("bytes"), &key, &p->err));
    refused(p, store_task_put(s, STR("r"), STR("t"), STR("tool"), STR("done"), STR("{}"), &p->err));
    refused(p, store_note_put(s, STR("items:r"), STR("k"), STR("v"), &p->err));
    refused(p, store_queue_back(s, STR("r"), &p->err));
    refused(p, store_run_end(s, &(StoreRun){ .id = STR("r"), .status = STR("completed") }, &p->err));
    refused(p, emit(s, "r", 2, "log", &p->err));
    buf_clear(&key);
}

static void test_takeover(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    Store *old = worker(&p), *fresh = worker(&p);
    put(&p, old, "r", 0, 0);
    take(&p, old, "r");
    must(&p, store_run_start(old, STR("r"), STR(""), STR(""), &p.err) && emit(old, "r", 1, "run.started", &p.err));
    must(&p, store_queue_reap(fresh, &p.err));
    take(&p, fresh, "");                                     /* its worker lives */
    end_lease(&p, old);
    must(&p, store_queue_reap(fresh, &p.err));
    has_status(&p, fresh, "r", "queued");
    all_refused(&p, old);                                    /* also before another worker has it */
    take(&p, fresh, "r");
    must(&p, store_run_lease(fresh, STR("r"), &p.err) && emit(fresh, "r", 2, "run.resumed", &p.err));
    all_refused(&p, old);
    must(&p, store_run_end(fresh, &(StoreRun){ .id = STR("r"), .status = STR("completed") }, &p.err));
    all_refused(&p, old);
    assert_int_equal(place_whole(&p, fresh, "r"), 2);
    must(&p, store_queue_reap(fresh, &p.err));
    take(&p, fresh, "");
    has_status(&p, fresh, "r", "completed");
    store_close(old);
    store_close(fresh);
    place_close(&p);
}

static void test_back(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    Store *old = worker(&p), *fresh = worker(&p);
    put(&p, old, "r", 0, 0);
    take(&p, old, "r");
    must(&p, store_run_start(old, STR("r"), STR(""), STR(""), &p.err) && emit(old, "r", 1, "run.started", &p.err));
    must(&p, store_queue_back(old, STR("r"), &p.err));
    has_status(&p, fresh, "r", "queued");
    refused(&p, store_queue_back(old, STR("r"), &p.err));
    take(&p, fresh, "r");
    assert_int_equal(number(p.path, "SELECT attempts FROM runs WHERE id = 'r'"), 0);
    refused(&p, store_task_put(old, STR("r"), STR("t"), STR("tool"), STR("done"), STR("{}"), &p.err));
    must(&p, emit(fresh, "r", 2, "run.resumed", &p.err));
    store_close(old);
    store_close(fresh);
    place_close(&p);
}

static void die_with_it(StorePlace *p, uint64_t *seq, bool progress) {
    Store *s = worker(p);
    take(p, s, "r");
    must(p, emit(s, "r", ++*seq, "run.resumed", &p->err));
    if (progress) must(p, emit(s, "r", ++*seq, "tool.started", &p->err));
    end_lease(p, s);
    store_close(s);
}

static void test_five_takeovers(void **state) {
    (void)state;
    StorePlace p;
    uint64_t seq = 0;
    place_open(&p);
    Store *s = worker(&p);
    put(&p, s, "r", 0, 0);
    for (int i = 0; i < 4; i++) {
        die_with_it(&p, &seq, false);
        must(&p, store_queue_reap(s, &p.err));
    }
    assert_int_equal(number(p.path, "SELECT attempts FROM runs WHERE id = 'r'"), 4);
    die_with_it(&p, &seq, true);                             /* a new event: counts from 1 again */
    must(&p, store_queue_reap(s, &p.err));
    assert_int_equal(number(p.path, "SELECT attempts FROM runs WHERE id = 'r'"), 1);
    for (int i = 0; i < 4; i++) {
        has_status(&p, s, "r", "queued");
        die_with_it(&p, &seq, false);
        must(&p, store_queue_reap(s, &p.err));
    }
    has_status(&p, s, "r", "failed");
    take(&p, s, "");
    assert_int_equal(place_whole(&p, s, "r"), seq + 1);
    assert_int_equal(number(p.path, "SELECT count(*) FROM events WHERE type = 'run.ended' AND convert_from(data, 'UTF8') LIKE '%5 workers died%'"), 1);
    store_close(s);
    place_close(&p);
}

static void test_cancel(void **state) {
    (void)state;
    StorePlace p;
    bool queued = false, ended = false;
    setenv("HARNESS_LEASE", "1", 1);
    place_open(&p);
    Store *s = worker(&p), *user = must_open(&p);
    put(&p, s, "waits", 0, 0);
    must(&p, store_queue_cancel(user, STR("waits"), &queued, &ended, &p.err));
    assert_true(queued && ended);
    has_status(&p, s, "waits", "cancelled");
    take(&p, s, "");
    must(&p, store_queue_cancel(user, STR("waits"), &queued, &ended, &p.err));
    assert_false(queued || ended);
    put(&p, s, "r", 0, 0);
    take(&p, s, "r");
    assert_false(store_queue_cancelled(s));
    must(&p, store_queue_cancel(user, STR("r"), &queued, &ended, &p.err));
    assert_true(queued && !ended);
    for (int i = 0; i < 200 && !store_queue_cancelled(s); i++) usleep(10000);
    assert_true(store_queue_cancelled(s));
    end_lease(&p, s);                                        /* and its worker dies: no other one takes it */
    must(&p, store_queue_reap(user, &p.err));
    has_status(&p, user, "r", "cancelled");
    store_close(s);
    store_close(user);
    unsetenv("HARNESS_LEASE");
    place_close(&p);
}

/* ---- runs that wait for an answer ---- */

static void ask(StorePlace *p, Store *s, const char *id, int64_t expires_ns) {
    Buf real = { 0 };
    must(p, store_approval_ask(s, &(StoreApproval){ .id = str_from(id), .run = STR("r"), .call = str_from(id), .tool = STR("t"), .args = STR("{}"),
                                                    .expires_ns = expires_ns }, &real, &p->err));
    buf_clear(&real);
}

static bool answer(StorePlace *p, Store *s, const char *id) {
    bool first = false;
    must(p, store_approval_answer(s, str_from(id), STR("{\"answer\":\"yes\"}"), STR("u"), &first, &p->err));
    return first;
}

static void waiting(StorePlace *p, Store *s, int64_t expected) {
    int64_t n = -1;
    must(p, store_queue_waiting(s, &n, &p->err));
    assert_int_equal(n, expected);
}

static void test_park(void **state) {
    (void)state;
    StorePlace p;
    bool queued = false, ended = false;
    place_open(&p);
    Store *s = worker(&p), *user = must_open(&p);
    put(&p, s, "r", 0, 0);
    take(&p, s, "r");
    ask(&p, s, "q1", 0);
    ask(&p, s, "q2", 0);
    must(&p, emit(s, "r", 1, "approval.asked", &p.err) && store_queue_park(s, STR("r"), STR("q1 q2"), &p.err));
    has_status(&p, user, "r", "waiting");
    waiting(&p, user, 1);
    assert_false(emit(s, "r", 2, "log", &p.err));            /* it belongs to no process */
    assert_false(store_queue_park(s, STR("r"), STR("q1 q2"), &p.err));
    store_close(s);
    s = worker(&p);
    take(&p, s, "");
    assert_true(answer(&p, user, "q2"));
    assert_false(answer(&p, user, "q2"));
    has_status(&p, user, "r", "queued");
    take(&p, s, "r");
    must(&p, store_queue_park(s, STR("r"), STR("q1"), &p.err));              /* q2 is answered, and not waited for */
    take(&p, s, "");
    must(&p, store_queue_cancel(user, STR("r"), &queued, &ended, &p.err));
    assert_true(queued && ended);
    assert_false(answer(&p, user, "q1"));
    assert_int_equal(number(p.path, "SELECT count(*) FROM approvals WHERE id = 'q1' AND state = 'withdrawn'"), 1);
    waiting(&p, user, 0);
    store_close(s);
    store_close(user);
    place_close(&p);
}

typedef struct Answering { StorePlace *place; Store *store; bool first; } Answering;

static void *answer_now(void *arg) {
    Answering *a = arg;
    a->first = answer(a->place, a->store, "q1");
    return NULL;
}

/* An answer before, while and after the run is parked makes it ready; so does the end of the time to answer. */
static void test_park_and_answer(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    Store *s = worker(&p), *user = must_open(&p);
    put(&p, s, "r", 0, 0);
    take(&p, s, "r");
    for (int i = 0; i < 40; i++) {
        Answering a = { &p, user, false };
        pthread_t thread;
        ask(&p, s, "q1", 0);
        assert_int_equal(pthread_create(&thread, NULL, answer_now, &a), 0);
        must(&p, store_queue_park(s, STR("r"), STR("q1"), &p.err));
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(a.first);
        take(&p, s, "r");
        place_psql(p.path, "DELETE FROM harness.approvals");
    }
    ask(&p, s, "q1", clock_wall_ns() + 300000000);
    must(&p, store_queue_park(s, STR("r"), STR("q1"), &p.err));
    for (int i = 0; i < 500 && number(p.path, "SELECT (wake_at <= now())::int FROM runs") == 0; i++) usleep(10000);
    assert_false(answer(&p, user, "q1"));
    take(&p, s, "r");
    store_close(s);
    store_close(user);
    place_close(&p);
}

/* ---- each statement of the fence against a concurrent takeover ---- */

typedef struct Write { Store *store; int what; Error err; bool ok; } Write;
enum { WRITE_EVENT, WRITE_ARTIFACT, WRITE_TASK, WRITE_NOTE, WRITE_BACK, WRITE_PARK, WRITE_END, WRITE_ALL };

static void *write_what(void *arg) {
    Write *w = arg;
    Buf key = { 0 };
    switch (w->what) {
    case WRITE_EVENT: w->ok = emit(w->store, "r", 2, "log", &w->err); break;
    case WRITE_ARTIFACT: w->ok = store_artifact_put(w->store, STR("r"), STR("t"), STR(""), STR("bytes"), &key, &w->err); break;
    case WRITE_TASK: w->ok = store_task_put(w->store, STR("r"), STR("t"), STR("tool"), STR("done"), STR("{}"), &w->err); break;
    case WRITE_NOTE: w->ok = store_note_put(w->store, STR("items:r"), STR("k"), STR("v"), &w->err); break;
    case WRITE_BACK: w->ok = store_queue_back(w->store, STR("r"), &w->err); break;
    case WRITE_PARK: w->ok = store_queue_park(w->store, STR("r"), STR("q"), &w->err); break;
    default: w->ok = store_run_end(w->store, &(StoreRun){ .id = STR("r"), .status = STR("completed") }, &w->err);
    }
    buf_clear(&key);
    return NULL;
}

static bool reap_now(Store *s, Error *err) {
    StoreQuery q = store_query(s, SQL_QUEUE_REAP, "reap", err);
    return store_run(&q);
}

/* The write waits for the row while a transaction takes the run, and finds the new epoch when it goes on. */
static void during_takeover(int what) {
    StorePlace p;
    pthread_t thread;
    place_open(&p);
    Store *old = worker(&p), *fresh = worker(&p);
    put(&p, old, "r", 0, 0);
    take(&p, old, "r");
    must(&p, emit(old, "r", 1, "run.started", &p.err));
    end_lease(&p, old);
    must(&p, store_begin(fresh, "take", &p.err) && reap_now(fresh, &p.err));
    take(&p, fresh, "r");
    Write w = { .store = old, .what = what };
    assert_int_equal(pthread_create(&thread, NULL, write_what, &w), 0);
    usleep(50000);
    must(&p, store_commit(fresh, true, "take", &p.err));
    pthread_join(thread, NULL);
    assert_false(w.ok);
    assert_int_equal(w.err.kind, ERR_POLICY);
    assert_int_equal(place_whole(&p, fresh, "r"), 1);
    assert_int_equal(number(p.path, "SELECT (SELECT count(*) FROM artifacts) + (SELECT count(*) FROM tasks) + (SELECT count(*) FROM notes)"), 0);
    has_status(&p, fresh, "r", "running");
    store_close(old);
    store_close(fresh);
    place_close(&p);
}

static void test_during_takeover(void **state) {
    (void)state;
    for (int what = 0; what < WRITE_ALL; what++) during_takeover(what);
}

/* The other order: while a write has the row, no worker takes the run; what it commits is part of the run that moves. */
static void test_takeover_during_write(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    Store *old = worker(&p), *fresh = worker(&p);
    put(&p, old, "r", 0, 0);
    take(&p, old, "r");
    must(&p, emit(old, "r", 1, "run.started", &p.err));
    must(&p, store_begin(old, "write", &p.err) && store_fence(old, STR("r"), "write", &p.err));
    end_lease(&p, old);
    must(&p, store_queue_reap(fresh, &p.err));
    take(&p, fresh, "");
    must(&p, store_task_write(old, STR("r"), STR("t"), STR("tool"), STR("done"), STR("{}"), &p.err) && store_commit(old, true, "write", &p.err));
    must(&p, store_queue_reap(fresh, &p.err));
    take(&p, fresh, "r");
    assert_int_equal(number(p.path, "SELECT count(*) FROM tasks"), 1);
    all_refused(&p, old);
    store_close(old);
    store_close(fresh);
    place_close(&p);
}

/* ---- workers, and an older database ---- */

typedef struct Seen { int n; bool ok; } Seen;

static bool see(void *ctx, const StoreWorker *w) {
    Seen *seen = ctx;
    seen->n++;
    seen->ok = str_eq(w->kind, STR("run")) && str_eq(w->runs, STR("r")) && w->pid == getpid() && w->lease_ms > 1000 && w->host.n &&
               w->started_ns > clock_wall_ns() - INT64_C(600000000000);
    return true;
}

static void test_workers(void **state) {
    (void)state;
    StorePlace p;
    Seen seen = { 0 };
    place_open(&p);
    Store *s = worker(&p), *gone = worker(&p);
    put(&p, s, "r", 0, 0);
    take(&p, s, "r");
    end_lease(&p, gone);
    must(&p, store_queue_workers(s, see, &seen, &p.err));
    assert_int_equal(seen.n, 1);
    assert_true(seen.ok);
    store_close(s);
    store_close(gone);
    place_close(&p);
}

static void test_migrate(void **state) {
    (void)state;
    StorePlace p;
    int from = -1, to = -1;
    place_open(&p);
    Store *s = worker(&p);
    must(&p, store_run_start(s, STR("r"), STR(""), STR(""), &p.err) && emit(s, "r", 1, "log", &p.err));
    store_close(s);
    place_psql(p.path, "ALTER TABLE harness.runs DROP COLUMN state CASCADE, DROP COLUMN priority, DROP COLUMN wake_at, DROP COLUMN attempts, DROP COLUMN claimed, "
                       "DROP COLUMN journal, DROP COLUMN cancel, DROP COLUMN job; ALTER TABLE harness.decisions DROP COLUMN input CASCADE; UPDATE harness.about SET format = 1, compatible_from = 1");
    assert_false(store_open(p.path, false, &s, &p.err));
    assert_non_null(strstr(p.err.msg, "tables of an older harness (format 1; this one needs 3)"));
    must(&p, store_migrate(p.path, &from, &to, &p.err));
    assert_int_equal(from * 10 + to, 13);
    must(&p, store_migrate(p.path, &from, &to, &p.err));
    assert_int_equal(from * 10 + to, 33);
    s = worker(&p);
    assert_int_equal(place_whole(&p, s, "r"), 1);
    put(&p, s, "q", 0, 0);
    take(&p, s, "q");
    store_close(s);
    place_close(&p);
}

/* ---- hosts ---- */

static Store *worker_of(StorePlace *p, const char *host) {
    Store *s = must_open(p);
    store_queue_host(s, host);
    must(p, store_queue_join(s, "worker", &p->err));
    return s;
}

static bool count_stranded(void *ctx, Str id, Str host) {
    assert_true(id.n && host.n);
    assert_int_equal(str_find_char(host, '#'), -1);
    ++*(int *)ctx;
    return true;
}

static int stranded(StorePlace *p, Store *s) {
    int n = 0;
    must(p, store_queue_stranded(s, count_stranded, &n, &p->err));
    return n;
}

static int64_t ready(StorePlace *p, Store *s) {
    int64_t n = -1;
    must(p, store_queue_ready(s, 10, &n, &p->err));
    return n;
}

static void test_hosts(void **state) {
    (void)state;
    StorePlace p;
    Buf host = { 0 };
    place_open(&p);
    Store *a = worker_of(&p, "aaaaaaaaaaaaaaaa"), *b = worker_of(&p, "bbbbbbbbbbbbbbbb"), *other = must_open(&p), *plain = worker(&p);
    put(&p, a, "r", 0, 0);
    assert_false(store_queue_adopt(other, STR("r"), &host, &p.err));
    assert_non_null(strstr(p.err.msg, "is not bound to a host"));
    assert_false(take_bound(&p, a, true, "r"));
    assert_false(store_queue_adopt(other, STR("r"), &host, &p.err));
    assert_non_null(strstr(p.err.msg, "does not wait in the queue"));
    must(&p, store_queue_back(a, STR("r"), &p.err));
    /* Only its own host takes it again. */
    assert_int_equal(ready(&p, a), 1);
    assert_int_equal(ready(&p, b), 0);
    assert_int_equal(ready(&p, plain), 0);
    take(&p, b, "");
    take_bound(&p, b, true, "");
    take(&p, plain, "");
    assert_int_equal(place_psql(p.path, "SELECT journal FROM runs"), 2);
    assert_int_equal(stranded(&p, other), 0);
    assert_false(store_queue_adopt(other, STR("r"), &host, &p.err));
    assert_non_null(strstr(p.err.msg, "has a worker"));
    has_status(&p, other, "r", "queued");
    assert_true(take_bound(&p, a, false, "r"));
    must(&p, store_queue_back(a, STR("r"), &p.err));
    /* The host is gone. */
    store_close(a);
    assert_int_equal(stranded(&p, other), 1);
    has_status(&p, other, "r", "stranded");
    take(&p, b, "");
    a = worker_of(&p, "aaaaaaaaaaaaaaaa");
    has_status(&p, other, "r", "queued");
    end_lease(&p, a);
    has_status(&p, other, "r", "stranded");
    must(&p, store_queue_adopt(other, STR("r"), &host, &p.err));
    assert_true(host.n > 0);
    has_status(&p, other, "r", "queued");
    assert_false(take_bound(&p, b, true, "r"));
    must(&p, store_queue_back(b, STR("r"), &p.err));
    must(&p, store_queue_join(a, "worker", &p.err));
    take(&p, a, "");
    take(&p, b, "r");
    must(&p, store_queue_unbind(b, STR("r"), &p.err));
    must(&p, store_queue_back(b, STR("r"), &p.err));
    assert_int_equal(ready(&p, plain), 1);
    buf_clear(&host);
    store_close(a);
    store_close(b);
    store_close(other);
    store_close(plain);
    place_close(&p);
}

int main(void) {
    const struct CMUnitTest files[] = { cmocka_unit_test(test_state_file) };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order), cmocka_unit_test(test_skips_locked), cmocka_unit_test(test_not_others), cmocka_unit_test(test_takeover),
        cmocka_unit_test(test_back), cmocka_unit_test(test_five_takeovers), cmocka_unit_test(test_cancel), cmocka_unit_test(test_park),
        cmocka_unit_test(test_park_and_answer), cmocka_unit_test(test_during_takeover),
        cmocka_unit_test(test_takeover_during_write), cmocka_unit_test(test_workers), cmocka_unit_test(test_migrate), cmocka_unit_test(test_hosts),
    };
    return cmocka_run_group_tests_name("state file", files, NULL, NULL) + run_on_postgres(tests);
}
