/* The queue of events: all are written, in order; a flush is durable when the process is killed, when the disk is full
 * and when another program locks the database. */
#include "place.h"
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "base/clock.h"

static bool write_event(Store *s, const char *run, uint64_t seq, Str data, Error *err) {
    EventSink sink = store_event_sink(s);
    if (seq == 1) store_run_start(s, str_from(run), STR(""), STR(""), NULL);             /* it may have been started before */
    Event e = { .seq = seq, .time_ns = (int64_t)seq * 10, .run = str_from(run), .agent = STR("main"), .depth = 2, .type = STR("log"), .data = data };
    return sink.write(sink.self, &e, err);
}

/* Numbers from 1 without gaps, every part as it was given. */
static bool check_one(void *ctx, const Event *e) {
    uint64_t *n = ctx;
    assert_int_equal(e->seq, ++*n);
    assert_int_equal(e->time_ns, *n * 10);
    assert_int_equal(e->depth, 2);
    assert_str(e->agent, "main");
    assert_str(e->type, "log");
    assert_true(e->data.n >= 2 && e->data.at[0] == '{');
    return true;
}

static uint64_t count(StorePlace *p, Store *s, const char *run) {
    uint64_t n = 0;
    if (!store_event_each(s, str_from(run), 0, check_one, &n, &p->err)) fail_msg("%s", p->err.msg);
    return n;
}

enum { THREADS = 4, EACH = 4000 };
typedef struct { Store *s; char run[8]; } Emitter;

static void *emit_many(void *arg) {
    Emitter *e = arg;
    for (uint64_t i = 1; i <= EACH; i++) assert_true(write_event(e->s, e->run, i, STR("{\"text\":\"0123456789012345678901234567890123456789\"}"), NULL));
    return NULL;
}

static void test_all_get_in(void **state) {
    (void)state;
    StorePlace p;
    pthread_t threads[THREADS];
    Emitter all[THREADS];
    place_open(&p);
    Store *s = must_open(&p);
    for (int i = 0; i < THREADS; i++) {
        all[i].s = s;
        snprintf(all[i].run, sizeof all[i].run, "r%d", i);
        assert_int_equal(pthread_create(&threads[i], NULL, emit_many, &all[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(count(&p, s, "r0"), EACH);                              /* readers in this process see all */
    assert_true(write_event(s, "r0", EACH + 1, STR("{}"), NULL));
    store_close(s);
    s = must_open(&p);
    assert_int_equal(count(&p, s, "r0"), EACH + 1);
    for (int i = 1; i < THREADS; i++) assert_int_equal(count(&p, s, all[i].run), EACH);
    store_close(s);
    place_close(&p);
}

static void test_large(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    Store *s = must_open(&p);
    char *big = malloc(3 << 20);
    memset(big, ' ', 3 << 20);
    big[0] = '{', big[(3 << 20) - 1] = '}';
    assert_true(write_event(s, "r", 1, STR("{}"), &p.err) && write_event(s, "r", 2, (Str){ big, 3 << 20 }, &p.err)
        && write_event(s, "r", 3, STR("{}"), &p.err));
    assert_int_equal(count(&p, s, "r"), 3);
    free(big);
    store_close(s);
    place_close(&p);
}

/* ---- processes ---- */

/* Writes n events and is killed: the first `flushed` of them followed by a flush, the others not. */
static void killed_after(StorePlace *p, uint64_t flushed, uint64_t n) {
    pid_t pid = fork();
    if (pid == 0) {
        Store *s = NULL;
        if (!store_open(p->path, false, &s, &p->err)) _exit(1);
        for (uint64_t i = 1; i <= n; i++) {
            if (!write_event(s, "r", i, STR("{}"), &p->err)) _exit(2);
            if (i == flushed && !store_flush(s, &p->err)) _exit(3);
        }
        raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Flushed events are there; of the rest some may be, but only the oldest, without gaps (count checks that). */
static void test_killed(void **state) {
    (void)state;
    static const struct { uint64_t flushed, n; } cases[] = { { 0, 0 }, { 1, 1 }, { 1, 2 }, { 7, 9 }, { 500, 700 }, { 20000, 20001 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        StorePlace p;
        place_open(&p);
        killed_after(&p, cases[i].flushed, cases[i].n);
        Store *s = must_open(&p);
        uint64_t n = count(&p, s, "r");
        assert_true(n >= cases[i].flushed && n <= cases[i].n);
        store_close(s);
        place_close(&p);
    }
}

/* Without a flush by a caller the events are on disk soon. */
static void test_written_without_flush(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    Store *s = must_open(&p), *other = must_open(&p);
    for (uint64_t i = 1; i <= 3; i++) {
        assert_true(write_event(s, "r", i, STR("{}"), &p.err));
        for (int64_t end = clock_mono_ns() + 20000000000; count(&p, other, "r") < i;) assert_true(clock_mono_ns() < end);
    }
    store_close(s);
    store_close(other);
    place_close(&p);
}

static void test_two_processes(void **state) {
    (void)state;
    enum { PROCESSES = 3, RUNS = 300 };
    StorePlace p;
    pid_t pids[PROCESSES];
    place_open(&p);
    for (int i = 0; i < PROCESSES; i++)
        if ((pids[i] = fork()) == 0) {
            Store *s = NULL;
            char run[8];
            snprintf(run, sizeof run, "r%d", i);
            if (!store_open(p.path, false, &s, &p.err)) _exit(1);
            for (uint64_t n = 1; n <= RUNS; n++)
                if (!write_event(s, run, n, STR("{}"), &p.err) || (n % 3 == 0 && !store_flush(s, &p.err))) _exit(2);
            store_close(s);
            _exit(0);
        }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    Store *s = must_open(&p);
    for (int i = 0; i < PROCESSES; i++) assert_int_equal(count(&p, s, (const char *[]){ "r0", "r1", "r2" }[i]), RUNS);
    store_close(s);
    place_close(&p);
}

/* Several processes create the same file: none may take another's half-created file for a foreign one. */
static void test_made_together(void **state) {
    (void)state;
    enum { ROUNDS = 60, PROCESSES = 4 };
    for (int round = 0; round < ROUNDS; round++) {
        StorePlace p;
        pid_t pids[PROCESSES];
        place_open(&p);
        for (int i = 0; i < PROCESSES; i++)
            if ((pids[i] = fork()) == 0) {
                Store *s = NULL;
                if (!store_open(p.path, false, &s, &p.err)) fprintf(stderr, "%s\n", p.err.msg), _exit(1);
                store_close(s);
                _exit(0);
            }
        for (int i = 0; i < PROCESSES; i++) {
            int status;
            assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
            assert_int_equal(status, 0);
        }
        place_close(&p);
    }
}

/* ---- failures ---- */

/* A caller whose events cannot be written gets an error, and so does every later append; when writing works again, nothing was lost. */
static void test_cannot_write(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    Store *s = must_open(&p);
    const Sqlite *api = sqlite_load(NULL);
    sqlite3 *db;
    uint64_t n = 0;
    assert_int_equal(api->open_v2(p.path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(api->busy_timeout(db, 5000), SQLITE_OK);
    assert_int_equal(api->exec(db, "ALTER TABLE events RENAME TO elsewhere", NULL, NULL, NULL), SQLITE_OK);
    assert_true(write_event(s, "r", 1, STR("{}"), &p.err));
    assert_false(store_event_each(s, STR("r"), 0, check_one, &n, &p.err));
    assert_false(write_event(s, "r", 2, STR("{}"), &p.err));
    assert_non_null(strstr(p.err.msg, p.path));
    assert_int_equal(api->exec(db, "ALTER TABLE elsewhere RENAME TO events", NULL, NULL, NULL), SQLITE_OK);
    api->close_v2(db);
    if (!write_event(s, "r", 2, STR("{}"), &p.err)) fail_msg("%s", p.err.msg);
    assert_int_equal(count(&p, s, "r"), 2);
    store_close(s);
    place_close(&p);
}

/* The disk is full: the flush reports it; once there is space the events are written, none twice. */
static void fill_and_recover(StorePlace *p) {
    Store *s = NULL;
    static char big[100000];
    memset(big, ' ', sizeof big);
    big[0] = '{', big[sizeof big - 1] = '}';
    if (!store_open(p->path, false, &s, &p->err)) _exit(1);
    struct rlimit small = { 1 << 20, RLIM_INFINITY };
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &small) < 0) _exit(2);
    uint64_t n = 0, seen = 0;
    bool ok = true;
    while (ok && n < 100) ok = write_event(s, "r", n + 1, (Str){ big, sizeof big }, &p->err) && (n++, store_flush(s, &p->err));
    if (ok || p->err.kind != ERR_IO || !strstr(p->err.msg, p->path)) _exit(3);
    if (write_event(s, "r", n + 1, STR("{}"), &p->err)) _exit(4);
    small.rlim_cur = RLIM_INFINITY;
    if (setrlimit(RLIMIT_FSIZE, &small) < 0) _exit(5);
    if (!write_event(s, "r", n + 1, STR("{}"), &p->err) || !store_flush(s, &p->err)) _exit(6);
    store_close(s);
    s = NULL;
    if (!store_open(p->path, false, &s, &p->err) || !store_event_each(s, STR("r"), 0, check_one, &seen, &p->err) || seen != n + 1) _exit(7);
    store_close(s);
    _exit(0);
}

static void test_full(void **state) {
    (void)state;
    StorePlace p;
    int status;
    place_open(&p);
    pid_t pid = fork();
    if (pid == 0) fill_and_recover(&p);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    place_close(&p);
}

/* Events of an unknown run cannot be written, but do not block others. */
static void test_no_run(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    Store *s = must_open(&p);
    assert_true(write_event(s, "a", 1, STR("{}"), &p.err));
    assert_true(write_event(s, "missing", 2, STR("{}"), &p.err));
    assert_true(write_event(s, "a", 2, STR("{}"), &p.err));
    assert_false(store_flush(s, &p.err));
    assert_string_equal(p.err.msg, "write events: no such run: missing");
    assert_true(write_event(s, "a", 3, STR("{}"), &p.err) && store_flush(s, &p.err));
    assert_int_equal(count(&p, s, "a"), 3);
    assert_int_equal(count(&p, s, "missing"), 0);
    store_close(s);
    place_close(&p);
}

/* The end of a run is in one transaction with its last events: both or none. */
static void test_run_end(void **state) {
    (void)state;
    StorePlace p;
    uint64_t n = 0;
    place_open(&p);
    Store *s = must_open(&p), *other = must_open(&p);
    assert_true(store_run_start(s, STR("r"), STR(""), STR(""), &p.err));
    assert_true(write_event(s, "r", 1, STR("{}"), &p.err));
    assert_false(store_run_end(s, &(StoreRun){ .id = STR("missing") }, &p.err));
    assert_string_equal(p.err.msg, "no such run: missing");
    assert_true(write_event(s, "r", 2, STR("{}"), &p.err));
    assert_true(store_run_end(s, &(StoreRun){ .id = STR("r"), .status = STR("done"), .turns = 1 }, &p.err));
    assert_true(store_event_each(other, STR("r"), 0, check_one, &n, &p.err));
    assert_int_equal(n, 2);
    store_close(s);
    store_close(other);
    place_close(&p);
}

/* Events of several runs at once: those of each run are read in order, from any number on, and no further than wanted. */
typedef struct { uint64_t next, last; } Want;

static bool check_from(void *ctx, const Event *e) {
    Want *w = ctx;
    assert_int_equal(e->seq, w->next++);
    return e->seq != w->last;
}

static void test_from(void **state) {
    (void)state;
    static const struct { uint64_t from, last, next; } cases[] = { { 0, 0, 401 }, { 1, 0, 401 }, { 150, 0, 401 }, { 200, 0, 401 },
        { 201, 0, 401 }, { 400, 0, 401 },
                                                                   { 401, 0, 401 }, { 1, 77, 78 }, { 150, 200, 201 }, { 150, 250, 251 } };
    static char big[3 << 20];
    StorePlace p;
    place_open(&p);
    Store *s = must_open(&p);
    memset(big, ' ', sizeof big);
    big[0] = '{', big[sizeof big - 1] = '}';
    for (uint64_t i = 1; i <= 400; i++) {
        for (const char *const *run = (const char *const[]){ "a", "b", "c", NULL }; *run; run++)
            assert_true(write_event(s, *run, i, i == 200 ? (Str){ big, sizeof big } : STR("{}"), &p.err));
        if (i % 150 == 0) assert_true(store_flush(s, &p.err));
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Want w = { cases[i].from ? cases[i].from : 1, cases[i].last };
        assert_true(store_event_each(s, STR("b"), cases[i].from, check_from, &w, &p.err));
        assert_int_equal(w.next, cases[i].next);
    }
    store_close(s);
    place_close(&p);
}

/* A clock may be set back, or have any value. */
static const int64_t times[] = { 5, -7, INT64_MAX, INT64_MIN, 0, INT64_MIN, 1, 1 };

static bool check_time(void *ctx, const Event *e) {
    assert_int_equal(e->time_ns, times[(*(size_t *)ctx)++]);
    return true;
}

static void test_times(void **state) {
    (void)state;
    StorePlace p;
    size_t n = 0;
    place_open(&p);
    Store *s = must_open(&p);
    EventSink sink = store_event_sink(s);
    assert_true(store_run_start(s, STR("r"), STR(""), STR(""), &p.err));
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        assert_true(sink.write(sink.self, &(Event){ .seq = i + 1, .run = STR("r"), .time_ns = times[i], .type = STR("log"), .data = STR("{}") }, &p.err));
    assert_true(store_event_each(s, STR("r"), 0, check_time, &n, &p.err));
    assert_int_equal(n, sizeof times / sizeof *times);
    store_close(s);
    place_close(&p);
}

static bool note_calls(void *ctx, const StoreRun *run) { return *(int64_t *)ctx = run->tool_calls * 100 + run->turns, true; }

/* The list has the counts of an unfinished run. */
static void test_counts(void **state) {
    (void)state;
    StorePlace p;
    int64_t counts = 0;
    place_open(&p);
    Store *s = must_open(&p);
    EventSink sink = store_event_sink(s);
    assert_true(store_run_start(s, STR("r"), STR(""), STR("s"), &p.err));
    static const struct { const char *type; int depth; } all[] = { { "turn.started", 0 }, { "completion.completed", 0 },
        { "tool.started", 0 }, { "tool.started", 1 },
                                                                { "completion.completed", 1 }, { "tool.started", 0 }, { "completion.completed", 0 } };
    for (uint64_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_true(sink.write(sink.self, &(Event){ .seq = i + 1, .run = STR("r"), .depth = all[i].depth, .type = str_from(all[i].type),
            .data = STR("{}") }, &p.err));
    assert_true(store_flush(s, &p.err) && store_run_each(s, note_calls, &counts, &p.err));
    assert_int_equal(counts, 302);
    store_close(s);
    place_close(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_get_in), cmocka_unit_test(test_large), cmocka_unit_test(test_killed), cmocka_unit_test(test_written_without_flush),
        cmocka_unit_test(test_two_processes), cmocka_unit_test(test_made_together), cmocka_unit_test(test_cannot_write),
            cmocka_unit_test(test_full), cmocka_unit_test(test_no_run), cmocka_unit_test(test_run_end),
        cmocka_unit_test(test_from), cmocka_unit_test(test_times), cmocka_unit_test(test_counts),
    };
    const struct CMUnitTest both[] = {
        cmocka_unit_test(test_all_get_in), cmocka_unit_test(test_large), cmocka_unit_test(test_killed),
        cmocka_unit_test(test_written_without_flush), cmocka_unit_test(test_two_processes), cmocka_unit_test(test_no_run),
        cmocka_unit_test(test_run_end), cmocka_unit_test(test_from), cmocka_unit_test(test_times), cmocka_unit_test(test_counts),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + run_on_postgres(both);
}
