/* What only PostgreSQL has: the fence, leases that end, connections that are lost. */
#include "place.h"
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "base/clock.h"
#include "store/postgres_private.h"

static void psql(StorePlace *p, const char *text) { place_psql(p->path, text); }

static bool emit(Store *s, const char *run, uint64_t seq, Error *err) {
    EventSink sink = store_event_sink(s);
    return sink.write(sink.self, &(Event){ .seq = seq, .time_ns = clock_wall_ns(), .run = str_from(run), .type = STR("log"), .data = STR("{}") }, err);
}

static bool write_one(Store *s, const char *run, uint64_t seq, Error *err) { return emit(s, run, seq, err) && store_flush(s, err); }

/* The lease of every process of the project ends, as seen from another machine. */
static void end_leases(StorePlace *p) {
    char text[200];
    snprintf(text, sizeof text, "UPDATE harness.workers SET lease_until = now() - interval '1 s', boot = 'x' WHERE project = '%s'", strrchr(p->path, '#') + 1);
    psql(p, text);
}

/* ---- the fence ---- */

static void refused(StorePlace *p, bool ok) {
    assert_false(ok);
    assert_int_equal(p->err.kind, ERR_POLICY);
    assert_non_null(strstr(p->err.msg, "belongs to another process now"));
    p->err = (Error){ 0 };
}

static void all_refused(StorePlace *p, Store *s) {
    Buf key = { 0 };
    refused(p, store_artifact_put(s, STR("r"), STR("t"), STR(""), STR("bytes"), &key, &p->err));
    refused(p, store_task_put(s, STR("r"), STR("t"), STR("tool"), STR("done"), STR("{}"), &p->err));
    refused(p, store_note_put(s, STR("items:r"), STR("k"), STR("v"), &p->err));
    refused(p, store_run_end(s, &(StoreRun){ .id = STR("r"), .status = STR("completed") }, &p->err));
    buf_clear(&key);
}

static void test_fence(void **state) {
    (void)state;
    StorePlace p;
    Buf status = { 0 };
    place_open(&p);
    Store *old = must_open(&p), *fresh = must_open(&p);
    must(&p, store_run_start(old, STR("r"), STR(""), STR(""), &p.err) && write_one(old, "r", 1, &p.err));
    assert_false(store_run_lease(fresh, STR("r"), &p.err));
    assert_non_null(strstr(p.err.msg, "is in use by process"));
    refused(&p, store_task_put(fresh, STR("r"), STR("t"), STR("tool"), STR("done"), STR("{}"), &p.err));
    end_leases(&p);
    must(&p, store_run_lease(fresh, STR("r"), &p.err));
    all_refused(&p, old);
    must(&p, write_one(fresh, "r", 2, &p.err));
    assert_true(emit(old, "r", 2, &p.err));
    refused(&p, store_flush(old, &p.err));
    must(&p, write_one(fresh, "r", 3, &p.err));
    must(&p, store_run_end(fresh, &(StoreRun){ .id = STR("r"), .status = STR("completed") }, &p.err));
    all_refused(&p, old);                                    /* also when the run has no owner again */
    must(&p, store_run_status(fresh, STR("r"), &status, &p.err));
    assert_str(buf_str(&status), "completed");
    assert_int_equal(place_whole(&p, fresh, "r"), 3);
    buf_clear(&status);
    store_close(old);
    store_close(fresh);
    place_close(&p);
}

/* A write that waits for a transaction which takes the run finds the new epoch when it goes on. */
static void *write_later(void *arg) {
    StorePlace *p = ((void **)arg)[0];
    return write_one(((void **)arg)[1], "r", 2, &p->err) ? arg : NULL;
}

static void test_fence_waits(void **state) {
    (void)state;
    StorePlace p;
    place_open(&p);
    Store *old = must_open(&p), *fresh = must_open(&p);
    PostgresStore *other = (PostgresStore *)fresh;
    Error err = { 0 };
    pthread_t thread;
    void *wrote, *args[] = { &p, old };
    must(&p, store_run_start(old, STR("r"), STR(""), STR(""), &p.err) && write_one(old, "r", 1, &p.err));
    assert_true(store_begin(fresh, "take", &err));
    StoreQuery q = store_query(fresh, SQL_RUN_LEASE, "take", &err);
    assert_true(store_bind(&q, "s", STR("r")) && store_run(&q));
    pthread_create(&thread, NULL, write_later, args);
    usleep(100000);
    assert_true(other->in_transaction && store_commit(fresh, true, "take", &err));
    pthread_join(thread, &wrote);
    assert_null(wrote);
    assert_int_equal(p.err.kind, ERR_POLICY);
    assert_int_equal(place_whole(&p, fresh, "r"), 1);
    store_close(old);
    store_close(fresh);
    place_close(&p);
}

static void test_lost(void **state) {
    (void)state;
    StorePlace p;
    setenv("HARNESS_LEASE", "1", 1);
    place_open(&p);
    Store *s = must_open(&p);
    must(&p, store_run_start(s, STR("r"), STR(""), STR(""), &p.err));
    usleep(1500000);
    assert_false(store_lost(s));                             /* renewed */
    end_leases(&p);
    for (int i = 0; i < 200 && !store_lost(s); i++) usleep(10000);
    assert_true(store_lost(s));
    refused(&p, write_one(s, "r", 1, &p.err));
    must(&p, store_run_start(s, STR("r2"), STR(""), STR(""), &p.err));       /* under another name */
    assert_false(store_lost(s));
    assert_false(store_flush(s, &p.err));                    /* r keeps the event that was refused */
    store_close(s);
    unsetenv("HARNESS_LEASE");
    place_close(&p);
}

/* ---- connections that are lost ---- */

/* Passes bytes between a socket of its own and the server. Cuts the connection once, after a statement was passed on or instead of it. */
typedef struct Proxy { char dir[64]; int listener; pthread_t thread; _Atomic int cut, sql, live; } Proxy;   /* live: connections */
enum { CUT_NOT, CUT_AFTER, CUT_BEFORE };

/* Statements stay prepared under their number. */
static bool executes(Proxy *x, const char *bytes, ssize_t n) {
    char name[16];
    int length = snprintf(name, sizeof name, "s%d", atomic_load(&x->sql)) + 1;
    return memmem(bytes, (size_t)n, name, (size_t)length) != NULL;
}

static int reach(const char *dir) {
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(to.sun_path, sizeof to.sun_path, "%.60s/.s.PGSQL.5432", dir);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static bool pass(Proxy *x, int from, int to, bool client) {
    char bytes[65536];
    ssize_t n = read(from, bytes, sizeof bytes);
    int cut = client && n > 0 && executes(x, bytes, n) ? atomic_exchange(&x->cut, CUT_NOT) : CUT_NOT;
    if (n <= 0 || cut == CUT_BEFORE || write(to, bytes, (size_t)n) != n) return false;
    if (cut == CUT_AFTER) usleep(200000);
    return cut == CUT_NOT;
}

static void *serve_one(void *arg) {
    Proxy *x = ((void **)arg)[0];
    int client = (int)(intptr_t)((void **)arg)[1], server = reach(place_server);
    free(arg);
    struct pollfd p[] = { { .fd = client, .events = POLLIN }, { .fd = server, .events = POLLIN } };
    bool ok = true;
    while (ok && poll(p, 2, -1) > 0) {
        if (p[0].revents) ok = pass(x, client, server, true);
        if (ok && p[1].revents) ok = pass(x, server, client, false);
    }
    close(client);
    close(server);
    atomic_fetch_sub(&x->live, 1);
    return NULL;
}

static void *serve(void *arg) {
    Proxy *x = arg;
    for (int fd; (fd = accept4(x->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;) {
        pthread_t thread;
        void **args = malloc(2 * sizeof *args);
        args[0] = x;
        args[1] = (void *)(intptr_t)fd;
        atomic_fetch_add(&x->live, 1);
        assert_int_equal(pthread_create(&thread, NULL, serve_one, args), 0);
        pthread_detach(thread);
    }
    return NULL;
}

static void proxy_open(Proxy *x, StorePlace *p) {
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    *x = (Proxy){ .dir = "/tmp/harness-px-XXXXXX" };
    assert_non_null(mkdtemp(x->dir));
    snprintf(at.sun_path, sizeof at.sun_path, "%s/.s.PGSQL.5432", x->dir);
    x->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(x->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(x->listener, 8), 0);
    assert_int_equal(pthread_create(&x->thread, NULL, serve, x), 0);
    const char *project = strrchr(p->path, '#');
    char path[sizeof p->path];
    snprintf(path, sizeof path, "postgresql://postgres@/postgres?host=%s%.20s", x->dir, project);
    memcpy(p->path, path, sizeof path);
}

static void proxy_close(Proxy *x) {
    shutdown(x->listener, SHUT_RDWR);
    pthread_join(x->thread, NULL);
    while (atomic_load(&x->live)) usleep(1000);
    close(x->listener);
    char name[96];
    snprintf(name, sizeof name, "%s/.s.PGSQL.5432", x->dir);
    unlink(name);
    rmdir(x->dir);
}

static void cut_during(StoreSql sql, int how) {
    StorePlace p;
    Proxy x;
    place_open(&p);
    proxy_open(&x, &p);
    atomic_store(&x.sql, (int)sql);
    Store *s = must_open(&p);
    must(&p, store_run_start(s, STR("r"), STR(""), STR(""), &p.err));
    for (uint64_t seq = 1; seq <= 6; seq++) {
        if (seq == 3 || seq == 5) atomic_store(&x.cut, how);
        must(&p, write_one(s, "r", seq, &p.err));
        assert_int_equal(atomic_load(&x.cut), CUT_NOT);
    }
    assert_int_equal(place_whole(&p, s, "r"), 6);
    assert_true(emit(s, "r", 7, &p.err));
    atomic_store(&x.cut, how);
    must(&p, store_run_end(s, &(StoreRun){ .id = STR("r"), .status = STR("completed") }, &p.err));
    assert_int_equal(place_whole(&p, s, "r"), 7);
    store_close(s);
    proxy_close(&x);
    place_close(&p);
}

static void test_committed(void **state) { (void)state; cut_during(SQL_COMMIT, CUT_AFTER); }
static void test_not_committed(void **state) { (void)state; cut_during(SQL_COMMIT, CUT_BEFORE); }

static void test_cut_anywhere(void **state) {
    (void)state;
    static const StoreSql all[] = { SQL_BEGIN, SQL_RUN_HEAD, SQL_EVENT_PUT, SQL_RUN_GROW };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int how = CUT_AFTER; how <= CUT_BEFORE; how++) cut_during(all[i], how);
}

/* ---- locations ---- */

static void add_secret(void *ctx, Str secret) { buf_add(ctx, secret), buf_add_char(ctx, ' '); }

static void test_urls(void **state) {
    (void)state;
    static const struct { const char *url; bool ok; } cases[] = {
        { "postgresql://me@host/db", true }, { "postgres://host/db", true }, { "postgresql:///db?host=/run", true }, { "postgresql://me@[::1]:5/db", true },
        { "postgresql://me:x@host/db", false }, { "postgresql://me@host/db?password=x", false }, { "postgresql://h/d?a=b&sslpassword=x", false },
        { "postgresql://h/d?p%61ssword=x", false }, { "mysql://h/d", false }, { "/x/y.db", false }, { "postgresql://h/d#p", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Error err = { 0 };
        if (store_url_check(str_from(cases[i].url), &err) != cases[i].ok) fail_msg("%s: %s", cases[i].url, err.msg);
        if (!cases[i].ok) assert_null(strstr(err.msg, "x@"));
    }
    Buf out = { 0 };
    store_url_show("postgresql://me:secret@host:5/db?sslpassword=secret#p", &out);
    assert_str(buf_str(&out), "postgresql://me@host:5/db");
    buf_reset(&out);
    setenv("PGPASSWORD", "of-variable", 1);
    store_url_secrets("postgresql://me:se%63ret@host:5/db?sslpassword=other#p", add_secret, &out);
    store_url_secrets("postgresql://me@host/db#p", add_secret, &out);
    store_url_secrets("/x/y.db", add_secret, &out);
    unsetenv("PGPASSWORD");
    assert_str(buf_str(&out), "of-variable secret other of-variable ");
    buf_clear(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_urls), cmocka_unit_test(test_fence), cmocka_unit_test(test_fence_waits), cmocka_unit_test(test_lost),
        cmocka_unit_test(test_committed), cmocka_unit_test(test_not_committed), cmocka_unit_test(test_cut_anywhere),
    };
    return run_on_postgres(tests);
}
