/* Events that are gathered beside the database: all of them get in, whatever ends the process, and nobody takes them from one that lives. */
#include "unit.h"
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "store/sqlite.h"
#include "store/store.h"

typedef struct { char dir[64], path[96], tail[104]; Error err; } StorePlace;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void place_open(StorePlace *p) {
    *p = (StorePlace){ .dir = "/tmp/harness-tail-XXXXXX" };
    assert_non_null(mkdtemp(p->dir));
    snprintf(p->path, sizeof p->path, "%s/h.db", p->dir);
    snprintf(p->tail, sizeof p->tail, "%s-tail", p->path);
}

static void place_close(StorePlace *p) { nftw(p->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

static Store *must_open(StorePlace *p, bool gather) {
    Store *s = NULL;
    if (!store_open(p->path, false, &s, &p->err)) fail_msg("%s", p->err.msg);
    if (gather) store_event_sink_later(s);
    return s;
}

static bool there(const char *path) { return access(path, F_OK) == 0; }

static bool write_event(Store *s, const char *run, uint64_t seq, Str data, Error *err) {
    EventSink sink = store_event_sink_later(s);
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
    Store *s = must_open(&p, true);
    struct stat st;
    assert_int_equal(stat(p.tail, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    for (int i = 0; i < THREADS; i++) {
        all[i].s = s;
        snprintf(all[i].run, sizeof all[i].run, "r%d", i);
        assert_int_equal(pthread_create(&threads[i], NULL, emit_many, &all[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(count(&p, s, "r0"), EACH);                              /* who reads in this process sees all */
    assert_true(write_event(s, "r0", EACH + 1, STR("{}"), NULL));
    store_close(s);
    assert_false(there(p.tail));
    s = must_open(&p, false);
    assert_int_equal(count(&p, s, "r0"), EACH + 1);
    for (int i = 1; i < THREADS; i++) assert_int_equal(count(&p, s, all[i].run), EACH);
    store_close(s);
    place_close(&p);
}

static void test_large(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    Store *s = must_open(&p, true);
    char *big = malloc(3 << 20);
    memset(big, ' ', 3 << 20);
    big[0] = '{', big[(3 << 20) - 1] = '}';
    assert_true(write_event(s, "r", 1, STR("{}"), &p.err) && write_event(s, "r", 2, (Str){ big, 3 << 20 }, &p.err) && write_event(s, "r", 3, STR("{}"), &p.err));
    assert_int_equal(count(&p, s, "r"), 3);
    free(big);
    store_close(s);
    place_close(&p);
}

/* ---- processes ---- */

static void killed_at(StorePlace *p, uint64_t n) {
    pid_t pid = fork();
    if (pid == 0) {
        Store *s = NULL;
        if (!store_open(p->path, false, &s, &p->err)) _exit(1);
        store_event_sink_later(s);
        for (uint64_t i = 1; i <= n; i++) if (!write_event(s, "r", i, STR("{}"), &p->err)) _exit(2);
        raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void test_killed(void **state) {
    (void)state;
    static const uint64_t counts[] = { 0, 1, 2, 7, 500, 20000 };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int again = 0; again < 2; again++) {                            /* the next one may gather too */
            StorePlace p;
            place_open(&p);
            killed_at(&p, counts[i]);
            assert_true(there(p.tail));
            Store *s = must_open(&p, again);
            assert_int_equal(count(&p, s, "r"), counts[i]);
            assert_int_equal(there(p.tail), again);
            store_close(s);
            place_close(&p);
        }
}

static void test_one_that_lives(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    Store *first = must_open(&p, true);
    assert_true(write_event(first, "a", 1, STR("{}"), &p.err));
    Store *second = must_open(&p, true), *third = must_open(&p, false);
    assert_true(there(p.tail));                                              /* neither has taken it away */
    assert_true(write_event(second, "b", 1, STR("{}"), &p.err));             /* at once: the place is taken */
    assert_int_equal(count(&p, third, "b"), 1);
    assert_true(write_event(first, "a", 2, STR("{}"), &p.err));
    store_close(second);
    store_close(third);
    assert_true(there(p.tail));
    store_close(first);
    third = must_open(&p, false);
    assert_int_equal(count(&p, third, "a"), 2);
    store_close(third);
    place_close(&p);
}

static void test_synced_at_once(void **state) {
    (void)state;
    StorePlace p;
    Store *s = NULL;
    place_open(&p);
    assert_true(store_open(p.path, true, &s, &p.err));
    store_event_sink_later(s);
    assert_false(there(p.tail));                                             /* a power loss would take it */
    store_close(s);
    place_close(&p);
}

/* ---- what may be wrong ---- */

static void test_spoiled(void **state) {
    (void)state;
    static const struct { uint64_t used; unsigned char fill; } cases[] = { { 64, 0xff }, { 4000, 0 }, { UINT64_MAX, 0 }, { 3, 0x41 }, { 100000, 1 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        StorePlace p;
        place_open(&p);
        killed_at(&p, 3);
        char junk[2048];
        memset(junk, cases[i].fill, sizeof junk);
        memcpy(junk, &cases[i].used, sizeof cases[i].used);
        int fd = open(p.tail, O_WRONLY | O_CLOEXEC);
        assert_true(fd >= 0 && pwrite(fd, junk, sizeof junk, 0) == sizeof junk && close(fd) == 0);
        Store *s = must_open(&p, true);
        uint64_t before = count(&p, s, "new");
        assert_int_equal(before, 0);
        assert_true(write_event(s, "new", 1, STR("{}"), &p.err));
        assert_int_equal(count(&p, s, "new"), 1);
        store_close(s);
        assert_false(there(p.tail));
        place_close(&p);
    }
    StorePlace p;
    place_open(&p);
    assert_int_equal(close(open(p.tail, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);      /* too short */
    store_close(must_open(&p, false));
    assert_false(there(p.tail));
    place_close(&p);
}

/* Who cannot write down must not go on; and when it can again, nothing was lost. */
static void test_cannot_write(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    Store *s = must_open(&p, true);
    const Sqlite *api = sqlite_load(NULL);
    sqlite3 *db;
    uint64_t n = 0;
    assert_int_equal(api->open_v2(p.path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(api->busy_timeout(db, 5000), SQLITE_OK);
    assert_int_equal(api->exec(db, "ALTER TABLE pages RENAME TO elsewhere", NULL, NULL, NULL), SQLITE_OK);
    assert_true(write_event(s, "r", 1, STR("{}"), &p.err));
    assert_false(store_event_each(s, STR("r"), 0, check_one, &n, &p.err));
    assert_false(write_event(s, "r", 2, STR("{}"), &p.err));
    assert_non_null(strstr(p.err.msg, p.path));
    assert_int_equal(api->exec(db, "ALTER TABLE elsewhere RENAME TO pages", NULL, NULL, NULL), SQLITE_OK);
    api->close_v2(db);
    if (!write_event(s, "r", 2, STR("{}"), &p.err)) fail_msg("%s", p.err.msg);
    assert_int_equal(count(&p, s, "r"), 2);
    store_close(s);
    place_close(&p);
}

/* Events by themselves and pages, of several runs at once: each run's come in their order, from any number on, and no further than wanted. */
typedef struct { uint64_t next, last; } Want;

static bool check_from(void *ctx, const Event *e) {
    Want *w = ctx;
    assert_int_equal(e->seq, w->next++);
    return e->seq != w->last;
}

static void test_pages(void **state) {
    (void)state;
    static const struct { uint64_t from, last, next; } cases[] = { { 0, 0, 401 }, { 1, 0, 401 }, { 150, 0, 401 }, { 200, 0, 401 }, { 201, 0, 401 }, { 400, 0, 401 },
                                                                   { 401, 0, 401 }, { 1, 77, 78 }, { 150, 200, 201 }, { 150, 250, 251 } };
    static char big[3 << 20];
    StorePlace p;
    place_open(&p);
    Store *s = must_open(&p, true);
    memset(big, ' ', sizeof big);
    big[0] = '{', big[sizeof big - 1] = '}';
    for (uint64_t i = 1; i <= 400; i++) {
        for (const char *const *run = (const char *const[]){ "a", "b", "c", NULL }; *run; run++)
            assert_true(write_event(s, *run, i, i == 200 ? (Str){ big, sizeof big } : STR("{}"), &p.err));
        if (i % 150 == 0) assert_true(store_settle(s, &p.err));
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Want w = { cases[i].from ? cases[i].from : 1, cases[i].last };
        assert_true(store_event_each(s, STR("b"), cases[i].from, check_from, &w, &p.err));
        assert_int_equal(w.next, cases[i].next);
    }
    store_close(s);
    place_close(&p);
}

/* A clock may be set back, or say anything. */
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
    Store *s = must_open(&p, true);
    EventSink sink = store_event_sink_later(s);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        assert_true(sink.write(sink.self, &(Event){ .seq = i + 1, .run = STR("r"), .time_ns = times[i], .type = STR("log"), .data = STR("{}") }, &p.err));
    assert_true(store_event_each(s, STR("r"), 0, check_time, &n, &p.err));
    assert_int_equal(n, sizeof times / sizeof *times);
    store_close(s);
    place_close(&p);
}

/* Of what begins like the one before only the rest is written; it is read whole, from wherever reading begins. */
static const char *const datas[] = { "{\"id\":\"call_1\",\"name\":\"up\",\"args\":{\"text\":\"hello\"}}",
                                     "{\"id\":\"call_1\",\"name\":\"up\",\"args\":{\"text\":\"hello\"},\"idempotency_key\":\"k\"}",
                                     "{\"id\":\"call_1\",\"name\":\"up\",\"args\":{\"text\":\"hello\"},\"idempotency_key\":\"k\"}", "{}", "{\"id\":\"call_2\"}", "{\"id\":\"call_", "{",
                                     "{\"id\":\"call_2\",\"name\":\"another one that is longer\"}" };
enum { DATAS = sizeof datas / sizeof *datas };

static bool check_data(void *ctx, const Event *e) {
    size_t i = (*(size_t *)ctx)++ % DATAS;
    if (!str_eq(e->data, str_from(datas[i]))) fail_msg("event %zu: " STR_FMT, i, STR_ARG(e->data));
    return true;
}

static void test_data(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    Store *s = must_open(&p, true);
    for (size_t i = 0; i < 3 * DATAS; i++) assert_true(write_event(s, "r", i + 1, str_from(datas[i % DATAS]), &p.err));
    for (size_t from = 0; from < 3 * DATAS; from++) {
        size_t n = from;
        assert_true(store_event_each(s, STR("r"), from + 1, check_data, &n, &p.err));
        assert_int_equal(n, 3 * DATAS);
    }
    store_close(s);
    place_close(&p);
}

static bool note_calls(void *ctx, const StoreRun *run) { return *(int64_t *)ctx = run->tool_calls * 100 + run->turns, true; }

/* What a list says of a run that has not ended is counted from its events. */
static void test_counts(void **state) {
    (void)state;
    StorePlace p;
    int64_t counts = 0;
    place_open(&p);
    Store *s = must_open(&p, true);
    EventSink sink = store_event_sink_later(s);
    assert_true(store_run_start(s, STR("r"), STR(""), STR("s"), &p.err));
    static const struct { const char *type; int depth; } all[] = { { "turn.started", 0 }, { "completion.completed", 0 }, { "tool.started", 0 }, { "tool.started", 1 },
                                                                { "completion.completed", 1 }, { "tool.started", 0 }, { "completion.completed", 0 } };
    for (uint64_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_true(sink.write(sink.self, &(Event){ .seq = i + 1, .run = STR("r"), .depth = all[i].depth, .type = str_from(all[i].type), .data = STR("{}") }, &p.err));
    assert_true(store_settle(s, &p.err) && store_run_each(s, note_calls, &counts, &p.err));
    assert_int_equal(counts, 302);
    store_close(s);
    place_close(&p);
}

/* A page that somebody changed is an error, not a crash, and what stands before it is told. */
static void test_damaged(void **state) {
    (void)state;
    static const char *const cases[] = { "x'ff'", "x'0102030405'", "cast(substr(events, 1, length(events) - 1) AS BLOB)", "cast(events || x'0102' AS BLOB)" };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        StorePlace p;
        Want w = { 1, 0 };
        char sql[160];
        sqlite3 *db;
        const Sqlite *api = sqlite_load(NULL);
        place_open(&p);
        Store *s = must_open(&p, true);
        for (uint64_t n = 1; n <= 5; n++) assert_true(write_event(s, "r", n, STR("{}"), &p.err));
        assert_true(store_settle(s, &p.err));
        snprintf(sql, sizeof sql, "UPDATE pages SET events = %s", cases[i]);
        assert_int_equal(api->open_v2(p.path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
        assert_int_equal(api->exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
        api->close_v2(db);
        assert_false(store_event_each(s, STR("r"), 0, check_from, &w, &p.err));
        assert_non_null(strstr(p.err.msg, "damaged page"));
        store_close(s);
        place_close(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_get_in), cmocka_unit_test(test_large), cmocka_unit_test(test_killed), cmocka_unit_test(test_one_that_lives),
        cmocka_unit_test(test_synced_at_once), cmocka_unit_test(test_spoiled), cmocka_unit_test(test_cannot_write),
        cmocka_unit_test(test_pages), cmocka_unit_test(test_times), cmocka_unit_test(test_data), cmocka_unit_test(test_counts), cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
