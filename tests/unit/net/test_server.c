#include "net_socket.h"
#include "base/clock.h"
#include "base/fault.h"
#include "net/http_server.h"

enum { STREAMS = 200, WAIT_MS = 5000 };

/* What the server under test does, by path:
 *   /echo     the body back        /slow    answers when `go` is set      /drop   releases the request without an answer
 *   /stream   an open stream, kept in `streams`                           /count  how many were admitted */
typedef struct {
    Scheduler *scheduler;
    HttpServer *server;
    uint16_t port;
    pthread_mutex_t lock;
    HttpServerRequest *streams[STREAMS];
    size_t n_streams;
    atomic_int admitted, handled, gone, answered, lost, ticks;
    atomic_bool go;
} World;

static void on_gone(void *ctx, HttpServerRequest *q) {
    (void)q;
    atomic_fetch_add(&((World *)ctx)->gone, 1);
}

static void wait_for(atomic_int *what, int n) {
    for (int i = 0; i < WAIT_MS && atomic_load(what) < n; i++) usleep(1000);
    assert_true(atomic_load(what) >= n);
}

static void add_stream(World *w, HttpServerRequest *q) {
    bool ok = http_server_stream(q, 200, &(HttpServerHeader){ STR("Content-Type"), STR("text/event-stream") }, 1)
        && http_server_write(q, STR("data: hello\n\n"));
    if (!ok) return;
    http_server_on_gone(q, on_gone, w);
    http_server_keep(q);
    pthread_mutex_lock(&w->lock);
    bool room = w->n_streams < STREAMS;
    if (room) w->streams[w->n_streams++] = q;
    pthread_mutex_unlock(&w->lock);
    if (!room) http_server_release(q);
}

static void handle(void *ctx, HttpServerRequest *q) {
    World *w = ctx;
    Str path = http_server_path(q);
    Buf body = { 0 };
    atomic_fetch_add(&w->handled, 1);
    if (str_eq(path, STR("/drop"))) return;
    if (str_eq(path, STR("/stream"))) {
        add_stream(w, q);
        return;
    }
    if (str_eq(path, STR("/slow"))) {
        http_server_on_gone(q, on_gone, w);
        for (int i = 0; i < WAIT_MS && !atomic_load(&w->go); i++) usleep(1000);
    }
    buf_add_fmt(&body, STR_FMT " " STR_FMT ":", STR_ARG(http_server_method(q)), STR_ARG(path));
    buf_add(&body, http_server_body(q));
    bool ok = http_server_answer(q, 200, &(HttpServerHeader){ STR("X-Asked"), http_server_header(q, STR("x-ask")) }, 1, &body);
    atomic_fetch_add(ok ? &w->answered : &w->lost, 1);
    http_server_on_gone(q, NULL, NULL);
}

static void admit(void *ctx, HttpServerRequest *q) {
    World *w = ctx;
    atomic_fetch_add(&w->admitted, 1);
    Buf body = { 0 };
    buf_add(&body, STR("no"));
    if (str_eq(http_server_path(q), STR("/refused"))) http_server_answer(q, 403, NULL, 0, &body);
    buf_clear(&body);
}

static void tick(void *ctx) { atomic_fetch_add(&((World *)ctx)->ticks, 1); }

static void open_world(World *w, HttpServerConfig config) {
    Error err = { 0 };
    memset(w, 0, sizeof *w);
    pthread_mutex_init(&w->lock, NULL);
    w->scheduler = config.scheduler = scheduler_new(2);
    config.admit = admit;
    config.handle = handle;
    config.tick = tick;
    config.ctx = w;
    if (!http_server_start(&config, &w->server, &err)) fail_msg("%s", err.msg);
    w->port = http_server_port(w->server);
    assert_true(w->port != 0);
}

static void close_world(World *w) {
    pthread_mutex_lock(&w->lock);
    size_t n = w->n_streams;                             /* handlers may still be adding some; those are cut off */
    pthread_mutex_unlock(&w->lock);
    for (size_t i = 0; i < n; i++) {
        http_server_end(w->streams[i]);
        http_server_on_gone(w->streams[i], NULL, NULL);
    }
    http_server_stop(w->server, 1000);
    for (size_t i = 0; i < w->n_streams; i++) http_server_release(w->streams[i]);        /* kept longer than the server */
    scheduler_free(w->scheduler);
    pthread_mutex_destroy(&w->lock);
}

/* One request, then everything until the server closes. */
static void ask(World *w, const char *text, Buf *in) {
    int fd = connect_to(w->port);
    send_all(fd, str_from(text));
    buf_clear(in);
    read_rest(fd, in);
    close(fd);
}

#define HEAD(line) line " HTTP/1.1\r\nHost: x\r\n"
#define CLOSE "Connection: close\r\n"

static bool says(const Buf *in, const char *text) { return str_find(buf_str(in), str_from(text)) >= 0; }

static void requests_are_answered(void **state) {
    (void)state;
    static const struct { const char *sent, *status, *holds; } table[] = {
        { HEAD("GET /a%20b?c=d") CLOSE "\r\n", "HTTP/1.1 200", "GET /a b:" },
        { HEAD("POST /echo") CLOSE "X-Ask:  why  \r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 200", "X-Asked: why\r\n" },
        { HEAD("POST /echo") CLOSE "Content-Length: 5\r\n\r\nhello", "HTTP/1.1 200", "POST /echo:hello" },
        { HEAD("POST /echo") CLOSE "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", "HTTP/1.1 200", "POST /echo:hello" },
        { HEAD("GET /drop") CLOSE "\r\n", "HTTP/1.1 500", "dropped" },
        { HEAD("GET /refused") CLOSE "\r\n", "HTTP/1.1 403", "no" },
        { HEAD("POST /refused") CLOSE "Content-Length: 5\r\n\r\nhello", "HTTP/1.1 403", "no" },
        { HEAD("POST /echo") "Content-Length: 70000000\r\n\r\n", "HTTP/1.1 413", "too large" },
        { HEAD("POST /echo") "Content-Length: 99999999999999999999\r\n\r\n", "HTTP/1.1 413", "" },
        { HEAD("POST /echo") CLOSE "Transfer-Encoding: chunked\r\n\r\n65\r\n0123456789012345678901234567890123456789012345678901234567890123456789"
                             "0123456789012345678901234567890\r\n0\r\n\r\n", "HTTP/1.1 413", "too large" },
        { "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400", "" },
        { "nonsense\r\n\r\n", "", "" },
    };
    World w;
    Buf in = { 0 };
    open_world(&w, (HttpServerConfig){ .body_max = 100, .idle_ms = 2000 });
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        ask(&w, table[i].sent, &in);
        if (!str_starts(buf_str(&in), str_from(table[i].status)) || !says(&in, table[i].holds))
            fail_msg("%s\n=> %s", table[i].sent, in.at ? in.at : "");
    }
    wait_for(&w.ticks, 1);
    buf_clear(&in);
    close_world(&w);
}

/* Ambiguous requests are refused, and nothing after them is read as a request. */
static void doubtful_requests_are_refused(void **state) {
    (void)state;
    static const char *const heads[] = {
        "Content-Length: 0\r\nContent-Length: 5\r\n\r\n", "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: identity\r\n\r\n", "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        "X A: b\r\n\r\n", "X(A): b\r\n\r\n",
    };
    World w;
    Buf text = { 0 }, in = { 0 };
    open_world(&w, (HttpServerConfig){ .idle_ms = 2000 });
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        buf_reset(&text);
        buf_add_fmt(&text, HEAD("POST /echo") "%s" HEAD("GET /smuggled") CLOSE "\r\n", heads[i]);
        ask(&w, text.at, &in);
        if (!str_starts(buf_str(&in), STR("HTTP/1.1 400")) || !says(&in, "Connection: close")
            || says(&in, "smuggled")) fail_msg("%s\n=> %s", heads[i], in.at ? in.at : "");
    }
    assert_int_equal(atomic_load(&w.handled), 0);
    buf_clear(&text);
    buf_clear(&in);
    close_world(&w);
}

static void heads_are_bounded(void **state) {
    (void)state;
    World w;
    Buf text = { 0 }, in = { 0 };
    open_world(&w, (HttpServerConfig){ 0 });
    buf_add(&text, STR(HEAD("GET /echo")));
    for (int i = 0; i < 4000; i++) buf_add_fmt(&text, "X-%d: y\r\n", i);
    buf_add(&text, STR("\r\n"));
    ask(&w, text.at, &in);
    assert_true(in.n == 0 || says(&in, " 431 ") || says(&in, " 413 "));
    assert_int_equal(atomic_load(&w.handled), 0);
    buf_clear(&text);
    buf_clear(&in);
    close_world(&w);
}

static void one_connection_carries_many(void **state) {
    (void)state;
    World w;
    Buf in = { 0 };
    open_world(&w, (HttpServerConfig){ 0 });
    ask(&w, HEAD("POST /1") "Content-Length: 1\r\n\r\na" HEAD("GET /refused") "\r\n" HEAD("POST /2") "Content-Length: 1\r\n\r\nb"
            HEAD("GET /3") CLOSE "\r\n", &in);
    ptrdiff_t first = str_find(buf_str(&in), STR("POST /1:a")), refused = str_find(buf_str(&in), STR("403 Forbidden")),
              second = str_find(buf_str(&in), STR("POST /2:b")), third = str_find(buf_str(&in), STR("GET /3:"));
    assert_true(first > 0 && refused > first && second > refused && third > second);
    buf_clear(&in);
    close_world(&w);
}

/* A byte now and then is not enough, neither in the head nor in the body. */
static void dawdlers_are_cut_off(void **state) {
    (void)state;
    static const char *const starts[] = { "", "GET / HTT", HEAD("GET /echo") "X-A", HEAD("POST /echo") "Content-Length: 100000\r\n\r\nabc" };
    World w;
    open_world(&w, (HttpServerConfig){ .idle_ms = 300, .request_ms = 300 });
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        int fd = connect_to(w.port);
        char end;
        ssize_t got = -1;
        send_all(fd, str_from(starts[i]));
        for (int64_t until = clock_mono_ns() + 5000000000; clock_mono_ns() < until;) {
            if (i) send(fd, "a", 1, MSG_NOSIGNAL);
            struct pollfd p = { .fd = fd, .events = POLLIN };
            if (poll(&p, 1, 20) > 0 && (got = recv(fd, &end, 1, 0)) <= 0) break;
        }
        assert_true(got <= 0);
        close(fd);
    }
    assert_int_equal(atomic_load(&w.handled), 0);
    close_world(&w);
}

static void half_closed_is_answered(void **state) {
    (void)state;
    World w;
    Buf in = { 0 };
    open_world(&w, (HttpServerConfig){ 0 });
    int fd = connect_to(w.port);
    send_all(fd, STR(HEAD("POST /slow") "Content-Length: 2\r\n\r\nhi"));
    shutdown(fd, SHUT_WR);
    wait_for(&w.gone, 1);                              /* as far as the server knows, it has left */
    atomic_store(&w.go, true);
    read_rest(fd, &in);
    assert_true(says(&in, "POST /slow:hi"));
    close(fd);
    buf_clear(&in);
    close_world(&w);
}

static void leaving_is_noticed(void **state) {
    (void)state;
    World w;
    open_world(&w, (HttpServerConfig){ 0 });
    int waiting = connect_to(w.port), streaming = connect_to(w.port), reset = connect_to(w.port);
    send_all(waiting, STR(HEAD("GET /slow") "\r\n"));
    send_all(streaming, STR(HEAD("GET /stream") "\r\n"));
    send_all(reset, STR(HEAD("GET /stream") "\r\n"));
    wait_for(&w.handled, 3);
    close(waiting);
    wait_for(&w.gone, 1);
    close(streaming);
    wait_for(&w.gone, 2);
    setsockopt(reset, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 }, sizeof(struct linger));
    close(reset);
    wait_for(&w.gone, 3);
    atomic_store(&w.go, true);                         /* a response with no recipient */
    for (int i = 0; i < WAIT_MS && atomic_load(&w.answered) + atomic_load(&w.lost) == 0; i++) usleep(1000);
    usleep(50000);
    assert_int_equal(atomic_load(&w.gone), 3);         /* each reported once */
    close_world(&w);
}

static void many_streams(void **state) {
    (void)state;
    World w;
    int fds[STREAMS];
    open_world(&w, (HttpServerConfig){ 0 });
    for (int i = 0; i < STREAMS; i++) {
        fds[i] = connect_to(w.port);
        send_all(fds[i], STR(HEAD("GET /stream") CLOSE "\r\n"));
    }
    wait_for(&w.handled, STREAMS);
    for (int i = 0; i < WAIT_MS; i++) {
        pthread_mutex_lock(&w.lock);
        size_t n = w.n_streams;
        pthread_mutex_unlock(&w.lock);
        if (n == STREAMS) break;
        usleep(1000);
    }
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < STREAMS; i++) assert_true(http_server_write(w.streams[i], STR("data: more\n\n")));
    for (int i = 0; i < STREAMS; i++) {
        http_server_end(w.streams[i]);
        assert_false(http_server_write(w.streams[i], STR("late")));
    }
    for (int i = 0; i < STREAMS; i++) {
        Buf in = { 0 };
        int events = 0;
        read_rest(fds[i], &in);
        for (Str rest = buf_str(&in), line; str_next_line(&rest, &line);) events += str_starts(line, STR("data: "));
        assert_int_equal(events, 4);
        assert_true(str_ends(buf_str(&in), STR("0\r\n\r\n")));
        buf_clear(&in);
        close(fds[i]);
    }
    assert_int_equal(atomic_load(&w.gone), 0);
    close_world(&w);
}

static void *come_and_go(void *arg) {
    World *w = arg;
    for (int i = 0; i < 2500; i++) {
        int fd = connect_to(w->port);
        if (i % 3) send_all(fd, i % 2 ? STR(HEAD("GET /echo") "\r\n") : STR(HEAD("GET /stream") "\r\n"));
        if (i % 4) setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 }, sizeof(struct linger));      /* a reset */
        close(fd);
    }
    return NULL;
}

/* 10,000 connections opened and dropped: ends of connections and of requests race in every order, and the server
 * survives. */
static void many_come_and_go(void **state) {
    (void)state;
    World w;
    Buf in = { 0 };
    pthread_t threads[4];
    open_world(&w, (HttpServerConfig){ 0 });
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &w), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    ask(&w, HEAD("GET /echo") CLOSE "\r\n", &in);
    assert_true(says(&in, "GET /echo:"));
    buf_clear(&in);
    close_world(&w);
}

static void slow_readers_are_cut_off(void **state) {
    (void)state;
    World w;
    open_world(&w, (HttpServerConfig){ .backlog_max = 64 << 10 });
    int fd = connect_to(w.port);
    send_all(fd, STR(HEAD("GET /stream") "\r\n"));
    for (size_t n = 0; n == 0; usleep(1000)) {
        pthread_mutex_lock(&w.lock);
        n = w.n_streams;
        pthread_mutex_unlock(&w.lock);
    }
    char *chunk = calloc(1, 32 << 10);
    size_t sent = 0;
    while (sent < (64u << 20) && http_server_write(w.streams[0], (Str){ chunk, 32 << 10 })) sent += 32 << 10, usleep(100);
    assert_true(sent < 64u << 20);
    wait_for(&w.gone, 1);
    free(chunk);
    close(fd);
    close_world(&w);
}

static void stopping_ends_everything(void **state) {
    (void)state;
    World w;
    Buf in = { 0 };
    open_world(&w, (HttpServerConfig){ 0 });
    int streaming = connect_to(w.port), idle = connect_to(w.port), queued = connect_to(w.port), unfinished = connect_to(w.port), working[8];
    send_all(streaming, STR(HEAD("GET /stream") "\r\n"));
    wait_for(&w.handled, 1);
    for (int i = 0; i < 8; i++) {
        working[i] = connect_to(w.port);
        send_all(working[i], STR(HEAD("GET /slow") "\r\n"));
    }
    wait_for(&w.handled, 9);                           /* no more run at a time: 4 * 2 */
    send_all(queued, STR(HEAD("GET /slow") "\r\n"));
    send_all(unfinished, STR(HEAD("POST /echo") "Content-Length: 10\r\n\r\nabc"));
    wait_for(&w.admitted, 11);
    atomic_store(&w.go, true);
    http_server_stop(w.server, 50);
    int all[] = { streaming, idle, queued, unfinished, working[0], working[1], working[2], working[3], working[4], working[5], working[6], working[7] };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        read_rest(all[i], &in);                        /* ends */
        close(all[i]);
    }
    assert_true(atomic_load(&w.gone) >= 1);
    http_server_release(w.streams[0]);
    scheduler_free(w.scheduler);
    buf_clear(&in);
}

static void bad_starts_are_explained(void **state) {
    (void)state;
    World w;
    HttpServer *second = NULL;
    Error err = { 0 };
    char port[16];
    open_world(&w, (HttpServerConfig){ 0 });
    snprintf(port, sizeof port, "port %u", w.port);
    assert_false(http_server_start(&(HttpServerConfig){ .port = w.port, .handle = handle, .scheduler = w.scheduler }, &second, &err));
    assert_true(err.kind == ERR_IO && strstr(err.msg, port) && strstr(err.msg, "in use") && strstr(err.msg, "another port"));
    assert_false(http_server_start(&(HttpServerConfig){ .address = "no.name", .handle = handle, .scheduler = w.scheduler }, &second, &err));
    assert_true(err.kind == ERR_CONFIG && strstr(err.msg, "no.name"));
    assert_false(http_server_start(&(HttpServerConfig){ .address = "192.0.2.1", .handle = handle, .scheduler = w.scheduler }, &second, &err));
    assert_true(err.kind == ERR_IO && strstr(err.msg, "192.0.2.1"));
    close_world(&w);
    http_server_stop(NULL, 0);
}

static void v6_is_served(void **state) {
    (void)state;
    World w;
    struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has = probe >= 0 && bind(probe, (struct sockaddr *)&to, sizeof to) == 0;
    if (probe >= 0) close(probe);
    if (!has) skip();
    open_world(&w, (HttpServerConfig){ .address = "::1" });
    to.sin6_port = htons(w.port);
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    Buf in = { 0 };
    send_all(fd, STR(HEAD("GET /six") CLOSE "\r\n"));
    read_rest(fd, &in);
    assert_true(says(&in, "GET /six:"));
    close(fd);
    buf_clear(&in);
    close_world(&w);
}

#ifdef HARNESS_FAULTS
static void every_start_that_fails(void **state) {
    (void)state;
    Scheduler *scheduler = scheduler_new(1);
    for (long nth = 1;; nth++) {
        HttpServer *s = NULL;
        Error err = { 0 };
        fault_arm(nth);
        bool ok = http_server_start(&(HttpServerConfig){ .handle = handle, .scheduler = scheduler }, &s, &err);
        if (!fault_disarm()) {
            assert_true(ok);
            http_server_stop(s, 0);
            break;
        }
        assert_false(ok);
        assert_true(err.kind == ERR_IO && strncmp(err.msg, "start the HTTP server: ", 23) == 0);
    }
    scheduler_free(scheduler);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_answered), cmocka_unit_test(doubtful_requests_are_refused), cmocka_unit_test(heads_are_bounded),
            cmocka_unit_test(one_connection_carries_many),
        cmocka_unit_test(dawdlers_are_cut_off), cmocka_unit_test(half_closed_is_answered), cmocka_unit_test(leaving_is_noticed),
        cmocka_unit_test(many_streams), cmocka_unit_test(many_come_and_go), cmocka_unit_test(slow_readers_are_cut_off),
            cmocka_unit_test(stopping_ends_everything),
        cmocka_unit_test(bad_starts_are_explained), cmocka_unit_test(v6_is_served),
#ifdef HARNESS_FAULTS
        cmocka_unit_test(every_start_that_fails),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
