/* The chain of hashes of a run's events, the removal of runs, and forks. */
#include "place.h"
#include "artifact_list.h"
#include "store/store_chain.h"

/* ---- the chain alone ---- */

static void hash_of(const char *about, const char *one, const char *two, int64_t n, uint8_t out[SHA256_BYTES]) {
    StoreChain c;
    store_chain_first(str_from(about), out);
    store_chain_begin(&c, out);
    store_chain_text(&c, str_from(one));
    store_chain_text(&c, str_from(two));
    store_chain_int(&c, n);
    store_chain_end(&c, out);
}

static void test_chain(void **state) {
    (void)state;
    uint8_t a[SHA256_BYTES], b[SHA256_BYTES];
    hash_of("x", "ab", "c", 1, a);
    hash_of("x", "ab", "c", 1, b);
    assert_memory_equal(a, b, SHA256_BYTES);
    static const struct { const char *about, *one, *two; int64_t n; } others[] = { { "y", "ab", "c", 1 }, { "x", "a", "bc", 1 }, { "x", "abc", "", 1 },
                                                                                   { "x", "ab", "c", 2 }, { "x", "ab", "c", -1 } };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        hash_of(others[i].about, others[i].one, others[i].two, others[i].n, b);
        assert_memory_not_equal(a, b, SHA256_BYTES);
    }
}

/* ---- the events of a run ---- */

enum { EVENTS = 10 };

static void emit(StorePlace *p, Store *s, const char *run, uint64_t from, uint64_t to) {
    EventSink sink = store_event_sink(s);
    for (uint64_t seq = from; seq <= to; seq++) {
        Event e = { .seq = seq, .time_ns = (int64_t)seq * 10, .run = str_from(run), .agent = STR("main"), .type = STR("log"), .data = STR("{\"x\":\"é\"}") };
        must(p, sink.write(sink.self, &e, &p->err));
    }
    must(p, store_flush(s, &p->err));
}

/* A run of EVENTS events, written through two stores one after the other, as by two processes. */
static void record(StorePlace *p, const char *run) {
    Store *s = must_open(p);
    must(p, store_run_start(s, str_from(run), STR("main"), STR(""), &p->err));
    emit(p, s, run, 1, 3);
    emit(p, s, run, 4, 6);
    must(p, store_run_end(s, &(StoreRun){ .id = str_from(run), .status = STR("completed") }, &p->err));
    store_close(s);
    s = must_open(p);
    must(p, store_run_lease(s, str_from(run), &p->err));
    emit(p, s, run, 7, EVENTS);
    must(p, store_run_end(s, &(StoreRun){ .id = str_from(run), .status = STR("completed") }, &p->err));
    store_close(s);
}

static bool list_break(void *ctx, const StoreBreak *b) {
    static const char *const names[] = { "changed", "removed", "inserted", "head" };
    buf_add_fmt(ctx, "%s %llu-%llu ", names[b->kind], (unsigned long long)b->from, (unsigned long long)b->to);
    return true;
}

static StoreChecked verify(StorePlace *p, const char *run, Buf *out) {
    StoreChecked checked;
    Store *s = must_open(p);
    buf_reset(out);
    must(p, store_run_verify(s, str_from(run), &checked, list_break, out, &p->err));
    store_close(s);
    return checked;
}

static void test_whole(void **state) {
    (void)state;
    StorePlace p;
    Buf breaks = { 0 };
    uint8_t head[SHA256_BYTES];
    place_open(&p);
    record(&p, "r1");
    StoreChecked c = verify(&p, "r1", &breaks);
    assert_int_equal(breaks.n, 0);
    assert_true(c.chained);
    assert_int_equal(c.events, EVENTS);
    assert_int_equal(c.unchained, 0);
    memcpy(head, c.hash, sizeof head);
    Store *s = must_open(&p);                                                /* the hash of the run is that of its last event */
    store_event_first(STR("r1"), c.hash);
    for (uint64_t seq = 1; seq <= EVENTS; seq++) {
        Event e = { .seq = seq, .time_ns = (int64_t)seq * 10, .run = STR("r1"), .agent = STR("main"), .type = STR("log"), .data = STR("{\"x\":\"é\"}") };
        store_event_chain(&e, c.hash, c.hash);
    }
    assert_memory_equal(head, c.hash, sizeof head);
    must(&p, store_run_start(s, STR("empty"), STR(""), STR(""), &p.err));
    must(&p, store_run_verify(s, STR("empty"), &c, list_break, &breaks, &p.err));
    assert_true(breaks.n == 0 && !c.chained && c.events == 0);
    assert_false(store_run_verify(s, STR("r9"), &c, list_break, &breaks, &p.err));
    assert_string_equal(p.err.msg, "no such run: r9");
    store_close(s);
    buf_clear(&breaks);
    place_close(&p);
}

static void test_changed(void **state) {
    (void)state;
    static const struct { const char *sql, *breaks; } cases[] = {
        { "UPDATE events SET data = '{}' WHERE id & 4294967295 = 4", "changed 4-4 " },
        { "UPDATE events SET time_ns = time_ns + 1 WHERE id & 4294967295 = 1", "changed 1-1 " },
        { "UPDATE events SET agent = 'x' WHERE id & 4294967295 = 10", "changed 10-10 " },
        { "UPDATE events SET parent = 'x' WHERE id & 4294967295 = 5", "changed 5-5 " },
        { "UPDATE events SET depth = 1 WHERE id & 4294967295 = 5", "changed 5-5 " },
        { "UPDATE events SET type = 'x' WHERE id & 4294967295 = 5", "changed 5-5 " },
        { "UPDATE events SET hash = zeroblob(32) WHERE id & 4294967295 = 5", "changed 5-5 changed 6-6 " },
        { "UPDATE events SET hash = NULL WHERE id & 4294967295 = 5", "inserted 5-5 changed 6-6 " },
        { "DELETE FROM events WHERE id & 4294967295 = 5", "removed 5-5 " },
        { "DELETE FROM events WHERE id & 4294967295 BETWEEN 5 AND 7", "removed 5-7 " },
        { "DELETE FROM events WHERE id & 4294967295 = 1", "removed 1-1 " },
        { "DELETE FROM events WHERE id & 4294967295 > 8", "removed 9-10 " },
        { "DELETE FROM events", "removed 1-10 " },
        { "INSERT INTO events SELECT id + 1, time_ns, agent, parent, depth, type, data, NULL FROM events WHERE id & 4294967295 = 10",
            "inserted 11-11 inserted 11-11 " },
        { "INSERT INTO events SELECT id + 1, time_ns, agent, parent, depth, type, data, hash FROM events WHERE id & 4294967295 = 10",
            "changed 11-11 inserted 11-11 " },
        { "UPDATE runs SET hash = zeroblob(32)", "head 10-10 " },
        { "UPDATE runs SET hash = NULL", "head 10-10 " },
        /* An event inserted, and the later ones renumbered. */
        { "UPDATE events SET id = id + 100 WHERE id & 4294967295 > 5; UPDATE events SET id = id - 99 WHERE id & 4294967295 > 100;"
          "INSERT INTO events SELECT id + 1, time_ns, agent, parent, depth, type, data, hash FROM events WHERE id & 4294967295 = 5",
            "changed 6-6 changed 7-7 changed 8-8 changed 9-9 changed 10-10 changed 11-11 inserted 11-11 " },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        StorePlace p;
        Buf breaks = { 0 };
        place_open(&p);
        record(&p, "r1");
        record(&p, "r2");
        char text[1024];
        snprintf(text, sizeof text, "CREATE TEMP TABLE keep AS SELECT * FROM events WHERE id >> 32 = 2; CREATE TEMP TABLE kept AS SELECT * FROM runs;"
            "DELETE FROM events WHERE id >> 32 = 2; DELETE FROM runs WHERE n = 2; %s; INSERT INTO events SELECT * FROM keep;"
            "INSERT INTO runs SELECT * FROM kept WHERE n = 2", cases[i].sql);
        sql(p.path, text);
        verify(&p, "r1", &breaks);
        if (!str_eq(buf_str(&breaks), str_from(cases[i].breaks))) fail_msg("%s: %.*s", cases[i].sql, STR_ARG(buf_str(&breaks)));
        verify(&p, "r2", &breaks);                                           /* another run is not affected */
        assert_int_equal(breaks.n, 0);
        buf_clear(&breaks);
        place_close(&p);
    }
}

/* A run whose last events were removed, and that was then resumed: the next event does not fit. */
static void test_cut_and_resumed(void **state) {
    (void)state;
    StorePlace p;
    Buf breaks = { 0 };
    uint64_t last = 0;
    place_open(&p);
    record(&p, "r1");
    sql(p.path, "DELETE FROM events WHERE id & 4294967295 > 8");
    Store *s = must_open(&p);
    must(&p, store_run_lease(s, STR("r1"), &p.err) && store_event_last(s, STR("r1"), &last, &p.err));
    emit(&p, s, "r1", last + 1, last + 5);
    store_close(s);
    verify(&p, "r1", &breaks);
    assert_str(buf_str(&breaks), "changed 9-9 ");
    buf_clear(&breaks);
    place_close(&p);
}

/* A flush that fails, and events that can never be written, leave the chain whole. */
static void test_failed_flush(void **state) {
    (void)state;
    StorePlace p;
    Buf breaks = { 0 };
    place_open(&p);
    Store *s = must_open(&p);
    EventSink sink = store_event_sink(s);
    must(&p, store_run_start(s, STR("r1"), STR(""), STR(""), &p.err));
    emit(&p, s, "r1", 1, 2);
    Event again = { .seq = 2, .run = STR("r1"), .type = STR("log"), .data = STR("{}") },
        next = { .seq = 3, .run = STR("r1"), .type = STR("log"), .data = STR("{}") };
    must(&p, sink.write(sink.self, &again, &p.err) && sink.write(sink.self, &next, &p.err));
    assert_false(store_flush(s, &p.err));
    must(&p, store_flush(s, &p.err));
    emit(&p, s, "r1", 4, 5);
    store_close(s);
    StoreChecked c = verify(&p, "r1", &breaks);
    assert_int_equal(breaks.n, 0);
    assert_int_equal(c.events, 5);
    buf_clear(&breaks);
    place_close(&p);
}

/* A file of format 3: its events have no hash, and those that follow are chained. */
static void test_format_3(void **state) {
    (void)state;
    StorePlace p;
    Buf breaks = { 0 };
    place_open(&p);
    record(&p, "old");
    record(&p, "both");
    sql(p.path, "UPDATE events SET hash = NULL; ALTER TABLE runs DROP COLUMN hash; ALTER TABLE runs DROP COLUMN last; PRAGMA user_version = 3");
    Store *s = must_open(&p);
    must(&p, store_run_lease(s, STR("both"), &p.err));
    emit(&p, s, "both", EVENTS + 1, EVENTS + 2);
    store_close(s);
    assert_int_equal(number(p.path, "PRAGMA user_version"), SQLITE_FILE_FORMAT);
    StoreChecked c = verify(&p, "old", &breaks);
    assert_true(breaks.n == 0 && !c.chained && c.unchained == EVENTS);
    c = verify(&p, "both", &breaks);
    assert_true(breaks.n == 0 && c.chained && c.unchained == EVENTS && c.events == EVENTS + 2);
    sql(p.path, "UPDATE events SET hash = NULL WHERE id & 4294967295 = 11");
    verify(&p, "both", &breaks);
    assert_str(buf_str(&breaks), "changed 12-12 ");
    sql(p.path, "UPDATE events SET hash = NULL");
    verify(&p, "both", &breaks);
    assert_str(buf_str(&breaks), "head 12-12 ");
    buf_clear(&breaks);
    place_close(&p);
}

/* ---- removal ---- */

static bool list_pruned(void *ctx, const StorePruned *r) {
    buf_add_fmt(ctx, STR_FMT ":%llu:%zu ", STR_ARG(r->run), (unsigned long long)r->last, r->hash.n);
    return true;
}

/* Ten runs with a megabyte each. */
static void test_bound(void **state) {
    (void)state;
    enum { RUNS = 10, MEGABYTE = 1 << 20 };
    StorePlace p;
    StoreBounded b;
    Buf text = { 0 }, big = { 0 };
    place_open(&p);
    Store *s = must_open(&p);
    for (size_t i = 0; i < MEGABYTE; i++) buf_add_char(&big, (char)('a' + i % 26));
    for (int i = 0; i < RUNS; i++) {
        char id[16];
        snprintf(id, sizeof id, "r%d", i);
        must(&p, store_run_start(s, str_from(id), STR(""), STR(""), &p.err));
        buf_reset(&text);
        must(&p, store_artifact_put(s, str_from(id), STR("t"), STR("text/plain"), buf_str(&big), &text, &p.err));
        if (i != 3) must(&p, store_run_end(s, &(StoreRun){ .id = str_from(id), .status = i == 4 ? STR("interrupted") : STR("completed"), .usage = STR("{}") }, &p.err));
    }
    must(&p, store_bound(s, (int64_t)100 << 20, &b, &p.err));
    assert_int_equal(b.removed, 0);
    assert_false(b.over);
    must(&p, store_bound(s, (int64_t)8 << 20, &b, &p.err));
    assert_int_equal(b.removed, 3);                          /* the oldest, down to nine tenths */
    assert_false(b.over);
    assert_int_equal(number(p.path, "SELECT count(*) FROM runs WHERE id IN ('r0', 'r1', 'r2')"), 0);
    assert_int_equal(number(p.path, "SELECT count(*) FROM pruned"), 3);
    assert_true(number(p.path, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size") <= (int64_t)8 << 20);
    must(&p, store_bound(s, MEGABYTE, &b, &p.err));
    assert_int_equal(b.removed, 5);
    assert_true(b.over);
    assert_int_equal(number(p.path, "SELECT count(*) FROM runs WHERE id IN ('r3', 'r4')"), 2);        /* running, interrupted */
    assert_int_equal(number(p.path, "SELECT count(*) FROM runs"), 2);
    store_close(s);
    buf_clear(&text);
    buf_clear(&big);
    place_close(&p);
}

static void test_sizes(void **state) {
    (void)state;
    Error err = { 0 };
    int64_t n = 0;
    static const struct { const char *text; int64_t bytes; } good[] = { { "1M", 1 << 20 }, { "500M", 500 << 20 }, { "2G", (int64_t)2 << 30 } };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(store_read_size(good[i].text, &n, &err) && n == good[i].bytes);
    static const char *const bad[] = { "", "M", "0M", "-1M", "5", "5K", "5MB", "99999999999999999999G", "1.5G", "2000000G" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(store_read_size(bad[i], &n, &err));
}

static void test_prune(void **state) {
    (void)state;
    StorePlace p;
    Buf text = { 0 };
    bool found = false;
    place_open(&p);
    record(&p, "r1");
    record(&p, "r2");
    Store *s = must_open(&p);
    for (int i = 0; i < 2; i++) {
        Str run = i ? STR("r2") : STR("r1"), task = i ? STR("t2") : STR("t1");
        Buf scope = { 0 };
        must(&p, store_artifact_put(s, run, STR("t"), STR("text/plain"), STR("bytes"), &text, &p.err));
        must(&p, store_task_put(s, run, task, STR("tool"), STR("done"), STR("{}"), &p.err));
        must(&p, store_command_put(s, run, STR("message"), STR("hi"), STR("me"), &p.err));
        must(&p, store_approval_ask(s, &(StoreApproval){ .id = run, .run = run }, &text, &p.err));
        must(&p, store_note_put(s, STR("task"), task, run, &p.err) && store_note_put(s, STR("task.cancel"), task, STR("1"), &p.err));
        buf_add_fmt(&scope, "media:" STR_FMT, STR_ARG(run));
        must(&p, store_note_put(s, buf_str(&scope), STR("k"), STR("v"), &p.err));
        buf_reset(&scope);
        buf_add_fmt(&scope, "items:" STR_FMT, STR_ARG(run));
        must(&p, store_note_put(s, buf_str(&scope), STR("k"), STR("v"), &p.err));
        buf_reset(&scope);
        buf_add_fmt(&scope, "questions:" STR_FMT, STR_ARG(run));
        must(&p, store_note_put(s, buf_str(&scope), STR("q"), STR("shown"), &p.err));
        buf_clear(&scope);
    }
    must(&p, store_note_put(s, STR("session:x:/root"), STR("cache"), STR("{}"), &p.err));
    must(&p, store_run_prune(s, STR("r1"), &p.err));
    assert_false(store_run_prune(s, STR("r1"), &p.err));
    assert_string_equal(p.err.msg, "no such run: r1");
    buf_reset(&text);
    must(&p, store_pruned_each(s, list_pruned, &text, &p.err));
    assert_str(buf_str(&text), "r1:10:32 ");
    must(&p, store_note_get(s, STR("session:x:/root"), STR("cache"), &text, &found, &p.err));
    assert_true(found);
    must(&p, store_run_start(s, STR("live"), STR(""), STR(""), &p.err));
    assert_false(store_run_prune(s, STR("live"), &p.err));
    assert_string_equal(p.err.msg, "run live is running");
    must(&p, store_shrink(s, &p.err));
    store_close(s);
    assert_int_equal(number(p.path, "SELECT count(*) FROM events"), EVENTS);
    assert_int_equal(number(p.path, "SELECT count(*) FROM artifacts"), 1);
    assert_int_equal(number(p.path, "SELECT count(*) FROM tasks"), 1);
    assert_int_equal(number(p.path, "SELECT count(*) FROM commands"), 1);
    assert_int_equal(number(p.path, "SELECT count(*) FROM approvals"), 1);
    assert_int_equal(number(p.path, "SELECT count(*) FROM notes"), 6);
    verify(&p, "r2", &text);
    assert_int_equal(text.n, 0);
    buf_clear(&text);
    place_close(&p);
}

/* ---- forks ---- */

static void emit_one(StorePlace *p, Store *s, uint64_t seq, const char *type, Str data) {
    EventSink sink = store_event_sink(s);
    Event e = { .seq = seq, .time_ns = (int64_t)seq, .run = STR("r1"), .type = str_from(type), .data = data };
    must(p, sink.write(sink.self, &e, &p->err));
}

static bool list_data(void *ctx, const Event *e) {
    buf_add_fmt(ctx, STR_FMT " " STR_FMT "\n", STR_ARG(e->type), STR_ARG(e->data));
    return true;
}

static bool list_parent(void *ctx, const StoreRun *r) {
    buf_add_fmt(ctx, STR_FMT "/" STR_FMT "/" STR_FMT "/" STR_FMT "/%lld/%lld/%.1f", STR_ARG(r->status), STR_ARG(r->parent),
        STR_ARG(r->agent), STR_ARG(r->title),
                (long long)r->turns, (long long)r->tool_calls, r->cost);
    return true;
}

static bool list_command(void *ctx, const StoreCommand *c) {
    buf_add_fmt(ctx, "%lld:" STR_FMT " ", (long long)c->n, STR_ARG(c->body));
    return true;
}

static void test_fork(void **state) {
    (void)state;
    StorePlace p;
    Buf text = { 0 }, key = { 0 }, data = { 0 }, more = { 0 };
    StoreForked forked;
    bool found = false;
    place_open(&p);
    Store *s = must_open(&p);
    must(&p, store_run_start(s, STR("r1"), STR("main"), STR("sess"), &p.err) && store_run_title(s, STR("r1"), STR("Title"), &p.err));
    must(&p, store_artifact_put(s, STR("r1"), STR("t"), STR("text/plain"), STR("bytes"), &key, &p.err));
    buf_add_fmt(&data, "{\"text\":\"see " STR_FMT ", art_ and art_000000000000\"}", STR_ARG(buf_str(&key)));
    for (int i = 0; i < 3; i++) must(&p, store_command_put(s, STR("r1"), STR("message"), STR("hi"), STR("me"), &p.err));
    emit_one(&p, s, 1, "turn.started", STR("{\"turn\":1}"));
    emit_one(&p, s, 2, "tool.started", buf_str(&data));
    emit_one(&p, s, 3, "turn.message", STR("{\"command\":2}"));
    emit_one(&p, s, 4, "completion.completed", STR("{\"usage\":{\"usd\":1.5}}"));
    emit_one(&p, s, 5, "turn.ended", STR("{\"turn\":1}"));
    emit_one(&p, s, 6, "turn.started", STR("{\"turn\":2}"));
    emit_one(&p, s, 7, "completion.completed", STR("{\"usage\":{\"usd\":1.5}}"));
    must(&p, store_task_put(s, STR("r1"), STR("t1"), STR("x"), STR("done"), buf_str(&data), &p.err));
    must(&p, store_task_put(s, STR("r1"), STR("t2"), STR("x"), STR("running"), STR(""), &p.err));
    must(&p, store_note_put(s, STR("media:r1"), STR("k"), STR("v"), &p.err) && store_note_put(s, STR("items:r1"), STR("k"), STR("v"), &p.err));
    must(&p, store_approval_ask(s, &(StoreApproval){ .id = STR("q"), .run = STR("r1") }, &text, &p.err));
    must(&p, store_run_fork(s, &(StoreFork){ .from = STR("r1"), .id = STR("r2"), .agent = STR("other") }, &forked, &p.err));
    assert_int_equal(forked.turn, 1);                                        /* turn 2 has not ended */
    assert_int_equal(forked.last, 5);
    buf_reset(&text);
    must(&p, store_run_get(s, STR("r2"), list_parent, &text, &found, &p.err));
    assert_str(buf_str(&text), "interrupted/r1/other/Title/1/1/1.5");
    buf_reset(&text);
    must(&p, artifact_list(s, STR("r2"), &text, &p.err));
    assert_str(buf_str(&text), "t:text/plain:5 ");
    buf_reset(&text);
    must(&p, store_event_each(s, STR("r2"), 0, list_data, &text, &p.err));
    assert_true(str_find(buf_str(&text), buf_str(&key)) < 0);                /* it names its own artifact, and leaves other texts */
    assert_true(str_find(buf_str(&text), STR(", art_ and art_000000000000")) >= 0);
    ptrdiff_t at = str_find(buf_str(&text), STR("see art_"));
    assert_true(at >= 0);
    Str own = str_sub(buf_str(&text), (size_t)at + 4, (size_t)at + 4 + key.n);
    must(&p, store_artifact_get(s, STR("r2"), own, 0, 99, &data, NULL, &p.err));
    assert_str(buf_str(&data), "bytes");
    assert_true(str_ends(buf_str(&text), STR("run.forked {\"from\":\"r1\",\"turn\":1,\"last\":5}\n")));
    must(&p, store_task_get(s, STR("r2"), STR("t1"), &more, &data, &p.err));
    assert_true(str_find(buf_str(&data), own) >= 0);
    assert_false(store_task_get(s, STR("r2"), STR("t2"), &more, &data, &p.err));
    must(&p, store_note_get(s, STR("media:r2"), STR("k"), &data, &found, &p.err) && found);
    must(&p, store_note_get(s, STR("items:r2"), STR("k"), &data, &found, &p.err) && found);
    buf_reset(&text);
    must(&p, store_command_each(s, STR("r2"), 0, list_command, &text, &p.err));
    assert_str(buf_str(&text), "1:hi 2:hi ");                                /* messages that were delivered; the next one has number 3 */
    assert_false(store_run_fork(s, &(StoreFork){ .from = STR("r1"), .id = STR("r3"), .turn = 2 }, &forked, &p.err));
    assert_string_equal(p.err.msg, "run r1 has no turn 2 that ended");
    assert_false(store_run_fork(s, &(StoreFork){ .from = STR("no"), .id = STR("r3") }, &forked, &p.err));
    assert_false(store_run_status(s, STR("r3"), &text, &p.err));
    must(&p, store_run_lease(s, STR("r2"), &p.err));                         /* it is resumed like any other */
    store_close(s);
    assert_int_equal(number(p.path, "SELECT count(*) FROM approvals WHERE run = 'r2'"), 0);
    assert_int_equal(number(p.path, "SELECT session = '' FROM runs WHERE id = 'r2'"), 1);
    verify(&p, "r2", &text);
    assert_int_equal(text.n, 0);
    buf_clear(&text), buf_clear(&key), buf_clear(&data), buf_clear(&more);
    place_close(&p);
}

/* Events of a run that is not in the list. */
static void test_strays(void **state) {
    (void)state;
    StorePlace p;
    uint64_t n = 9;
    place_open(&p);
    record(&p, "r1");
    Store *s = must_open(&p);
    must(&p, store_event_strays(s, &n, &p.err));
    assert_int_equal(n, 0);
    sql(p.path, "DELETE FROM runs");
    must(&p, store_event_strays(s, &n, &p.err));
    assert_int_equal(n, EVENTS);
    store_close(s);
    place_close(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain), cmocka_unit_test(test_whole), cmocka_unit_test(test_changed), cmocka_unit_test(test_cut_and_resumed),
        cmocka_unit_test(test_failed_flush), cmocka_unit_test(test_format_3), cmocka_unit_test(test_prune),
        cmocka_unit_test(test_bound), cmocka_unit_test(test_sizes), cmocka_unit_test(test_strays),
        cmocka_unit_test(test_fork),
    };
    const struct CMUnitTest both[] = {
        cmocka_unit_test(test_whole), cmocka_unit_test(test_cut_and_resumed), cmocka_unit_test(test_prune),
        cmocka_unit_test(test_strays), cmocka_unit_test(test_fork),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + run_on_postgres(both);
}
