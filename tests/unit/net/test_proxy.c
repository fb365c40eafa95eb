#include "net_unit.h"
#include <fcntl.h>
#include "base/fault.h"
#include "net/proxy.h"

typedef struct {
    Server server;
    Rules *rules;
    Proxy *proxy;
    pthread_mutex_t lock;
    Buf watched;                                       /* one line per decision */
    atomic_int asked;
    const char *answers[4];
    Buf got;                                           /* what the server read */
} World;

static void watch(void *ctx, Str host, uint16_t port, bool allowed, const char *why) {
    World *w = ctx;
    (void)port;
    pthread_mutex_lock(&w->lock);
    buf_add_fmt(&w->watched, "%s " STR_FMT "%s%s\n", allowed ? "yes" : "no", STR_ARG(host), why ? ": " : "", why ? why : "");
    pthread_mutex_unlock(&w->lock);
}

static bool answer_names(void *ctx, const char *host, Addresses *out, Error *err) {
    World *w = ctx;
    int n = atomic_fetch_add(&w->asked, 1);
    if (strcmp(host, "missing.example") == 0) return error_set(err, ERR_IO, "resolve %s: no such name", host);
    if (strcmp(host, "slow.example") == 0) usleep(1000000);
    const char *text = w->answers[n < 4 && w->answers[n] ? n : 0];
    while (*text) {
        size_t length = strcspn(text, " ");
        assert_true(address_parse((Str){ text, length }, &out->at[out->n++]));
        text += length + strspn(text + length, " ");
    }
    return true;
}

static void open_world(World *w, const char *allowed, Serve *serve) {
    Str list[8];
    Buf text[8] = { 0 };
    size_t n = 0;
    Error err = { 0 };
    *w = (World){ .answers = { "127.0.0.1" } };
    pthread_mutex_init(&w->lock, NULL);
    server_start(&w->server, serve, w);
    for (const char *at = allowed; *at; n++) {         /* '#' stands for the server's port */
        for (; *at && *at != ' '; at++) {
            if (*at == '#') buf_add_fmt(&text[n], "%u", w->server.port);
            else buf_add_char(&text[n], *at);
        }
        list[n] = buf_str(&text[n]);
        while (*at == ' ') at++;
    }
    if (!rule_list_new(list, n, &w->rules, &err) || !proxy_start(w->rules, watch, w, &w->proxy, &err)) fail_msg("%s", err.msg);
    for (size_t i = 0; i < n; i++) buf_clear(&text[i]);
    resolver_set_answer(proxy_resolver(w->proxy), answer_names, w);
}

static void close_world(World *w) {
    proxy_stop(w->proxy);
    server_stop(&w->server);
    rule_list_free(w->rules);
    buf_clear(&w->watched);
    buf_clear(&w->got);
}

/* Sends text with '#' for the server's port, reads until the end. */
static int begin(World *w, const char *text) {
    Buf out = { 0 };
    int fd = connect_to(proxy_port(w->proxy));
    for (; *text; text++) {
        if (*text == '#') buf_add_fmt(&out, "%u", w->server.port);
        else buf_add_char(&out, *text);
    }
    assert_true(send_all(fd, buf_str(&out)));
    buf_clear(&out);
    return fd;
}

static Buf ask(World *w, const char *text) {
    Buf in = { 0 };
    int fd = begin(w, text);
    read_rest(fd, &in);
    close(fd);
    return in;
}

static void serve_once(int fd, void *ctx) {
    World *w = ctx;
    Buf in = { 0 };
    size_t head_n;
    if (read_head(fd, &in, &head_n)) {
        usleep(50000);                                 /* gives unexpected data time to arrive */
        char more[1000];
        ssize_t n = recv(fd, more, sizeof more, MSG_DONTWAIT);
        if (n > 0) buf_add(&in, (Str){ more, (size_t)n });
        pthread_mutex_lock(&w->lock);
        buf_reset(&w->got);
        buf_add(&w->got, buf_str(&in));
        pthread_mutex_unlock(&w->lock);
        send_all(fd, STR("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"));
    }
    buf_clear(&in);
}

static void serve_echo(int fd, void *ctx) {
    char room[8192];
    (void)ctx;
    for (ssize_t n; (n = recv(fd, room, sizeof room, 0)) > 0;)
        if (!send_all(fd, (Str){ room, (size_t)n })) return;
}

static void plain_http(void **state) {
    (void)state;
    World w;
    open_world(&w, "127.0.0.1:# a.example:#", serve_once);
    Buf in = ask(&w, "GET http://a.example:#/x HTTP/1.1\r\nHost: a.example:#\r\nProxy-Connection: keep-alive\r\n\r\n");
    assert_true(str_starts(buf_str(&in), STR("HTTP/1.1 200 OK")) && str_ends(buf_str(&in), STR("ok")));
    assert_true(str_starts(buf_str(&w.got), STR("GET /x HTTP/1.1\r\nHost: a.example:")));
    assert_null(strstr(w.got.at, "Proxy-"));
    assert_str(buf_str(&w.watched), "yes a.example\n");
    buf_clear(&in);
    in = ask(&w, "POST http://127.0.0.1:#/ HTTP/1.1\r\nContent-Length: 4\r\n\r\nbodyGET http://a.example/ HTTP/1.1\r\n\r\n");
    assert_true(str_ends(buf_str(&in), STR("ok")));
    assert_true(str_ends(buf_str(&w.got), STR("\r\n\r\nbody")));       /* nothing was smuggled in after it */
    buf_clear(&in);
    in = ask(&w, "POST http://127.0.0.1:#/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n");
    assert_true(str_ends(buf_str(&in), STR("ok")));
    assert_true(str_ends(buf_str(&w.got), STR("\r\n\r\n2\r\nhi\r\n0\r\n\r\n")));
    buf_clear(&in);
    in = ask(&w, "POST http://127.0.0.1:#/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
    assert_true(str_starts(buf_str(&in), STR("HTTP/1.1 400 ")));
    buf_clear(&in);
    close_world(&w);
}

static void serve_and_stay(int fd, void *ctx) {
    Buf in = { 0 };
    size_t head_n;
    (void)ctx;
    if (read_head(fd, &in, &head_n) && send_all(fd, STR("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))) read_rest(fd, &in);
    buf_clear(&in);
}

/* A server that does not close: a second request on the connection ends it, instead of waiting for ever or getting
 * through. */
static void one_request_per_connection(void **state) {
    (void)state;
    World w;
    Buf in = { 0 };
    size_t head_n;
    open_world(&w, "127.0.0.1:#", serve_and_stay);
    int fd = begin(&w, "GET http://127.0.0.1:#/ HTTP/1.1\r\n\r\n");
    assert_true(read_head(fd, &in, &head_n));
    send_all(fd, STR("GET http://127.0.0.1/ HTTP/1.1\r\n\r\n"));
    read_rest(fd, &in);
    assert_true(str_ends(buf_str(&in), STR("\r\n\r\nok")));
    close(fd);
    buf_clear(&in);
    close_world(&w);
}

static void refusals(void **state) {
    (void)state;
    static const struct { const char *sent, *status, *says; } cases[] = {
        { "GET http://evil.example/ HTTP/1.1\r\n\r\n", "403", "harness: host \"evil.example\" is not in network.allowed_domains\n" },
        { "CONNECT evil.example:443 HTTP/1.1\r\n\r\n", "403", "host \"evil.example\" is not in" },
        { "CONNECT a.example:22 HTTP/1.1\r\n\r\n", "403", "port 22 of host \"a.example\"" },
        { "CONNECT a.example:443 HTTP/1.1\r\n\r\n", "403", "host \"a.example\" is at 127.0.0.1, which is not public (loopback)" },
        { "CONNECT 2130706433:443 HTTP/1.1\r\n\r\n", "403", "127.0.0.1 is not public" },
            { "CONNECT [::ffff:127.0.0.1]:443 HTTP/1.1\r\n\r\n", "403", "IPv4-mapped" },
        { "CONNECT [::1]:443 HTTP/1.1\r\n\r\n", "403", "loopback" }, { "CONNECT 0:443 HTTP/1.1\r\n\r\n", "403", "unspecified" },
        { "CONNECT missing.example:443 HTTP/1.1\r\n\r\n", "502", "resolve missing.example: no such name" },
        { "CONNECT 127.0.0.2:1 HTTP/1.1\r\n\r\n", "502", "connect to 127.0.0.2:1: Connection refused" }, { "GET / HTTP/1.1\r\n\r\n", "400", "this is a proxy" },
        { "\x16\x03\x01\r\n\r\n", "400", "control character" }, { "CONNECT a.example HTTP/1.1\r\n\r\n", "400", "port" },
    };
    World w;
    open_world(&w, "a.example missing.example 127.0.0.2:1", serve_once);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Buf in = ask(&w, cases[i].sent);
        if (in.n < 12 || strncmp(in.at + 9, cases[i].status, 3) != 0 || !strstr(in.at, cases[i].says)) fail_msg("%s: %s", cases[i].sent, in.at);
        buf_clear(&in);
    }
    Buf big = { 0 };                                   /* more than is read before the answer */
    for (int i = 0; i < 20000; i++) buf_add(&big, STR("x: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n"));
    Buf in = ask(&w, big.at);
    assert_true(str_starts(buf_str(&in), STR("HTTP/1.1 431 ")));
    buf_clear(&in);
    buf_clear(&big);
    assert_int_equal(atomic_load(&w.server.connections), 0);
    assert_non_null(strstr(w.watched.at, "no evil.example: host \"evil.example\" is not in network.allowed_domains\n"));
    close_world(&w);
}

/* Each connection resolves once; the second address is internal. */
static void answers_that_change(void **state) {
    (void)state;
    World w;
    open_world(&w, "a.example:# 127.0.0.1:#", serve_once);
    w.answers[0] = "127.0.0.1";
    w.answers[1] = "169.254.169.254 10.0.0.1 ::1";
    Buf in = ask(&w, "GET http://a.example:#/ HTTP/1.1\r\n\r\n");
    assert_true(str_starts(buf_str(&in), STR("HTTP/1.1 200")));
    buf_clear(&in);
    assert_int_equal(atomic_load(&w.asked), 1);
    in = ask(&w, "GET http://a.example:#/ HTTP/1.1\r\n\r\n");
    assert_true(str_starts(buf_str(&in), STR("HTTP/1.1 403")));
    buf_clear(&in);
    w.answers[2] = "10.0.0.1 127.0.0.1";
    in = ask(&w, "GET http://a.example:#/ HTTP/1.1\r\n\r\n");         /* the allowed address is used */
    assert_true(str_starts(buf_str(&in), STR("HTTP/1.1 200")));
    buf_clear(&in);
    close_world(&w);
}

static int open_tunnel(World *w) {
    Buf in = { 0 };
    int fd = begin(w, "CONNECT 127.0.0.1:# HTTP/1.1\r\n\r\n");
    size_t head_n;
    assert_true(read_head(fd, &in, &head_n));
    if (!str_starts(buf_str(&in), STR("HTTP/1.1 200 "))) fail_msg("%s", in.at);
    assert_int_equal(head_n, in.n);
    buf_clear(&in);
    return fd;
}

typedef struct { int fd; size_t n; } Sender;

static void *send_pattern(void *arg) {
    Sender *s = arg;
    uint32_t piece[4096];
    for (size_t at = 0; at < s->n; at += sizeof piece) {
        for (size_t i = 0; i < 4096; i++) piece[i] = (uint32_t)(at / 4 + i) * 2654435761u;
        if (!send_all(s->fd, (Str){ (const char *)piece, sizeof piece })) return NULL;
    }
    shutdown(s->fd, SHUT_WR);
    return NULL;
}

/* Through copies and pipes, both ways at once, with a half-close at the end. */
static void tunnels_carry_everything(void **state) {
    (void)state;
    World w;
    open_world(&w, "127.0.0.1:#", serve_echo);
    for (size_t n = 16384; n <= 16384 * 1024; n *= 32) {
        int fd = open_tunnel(&w);
        pthread_t thread;
        Sender sender = { fd, n };
        Buf in = { 0 };
        pthread_create(&thread, NULL, send_pattern, &sender);
        read_rest(fd, &in);
        pthread_join(thread, NULL);
        assert_int_equal(in.n, n);
        for (size_t i = 0; i < n / 4; i++) {
            uint32_t word;
            memcpy(&word, in.at + 4 * i, 4);
            if (word != (uint32_t)i * 2654435761u) fail_msg("at %zu of %zu", 4 * i, n);
        }
        buf_clear(&in);
        close(fd);
    }
    close_world(&w);
}

static void early_bytes_are_passed_on(void **state) {
    (void)state;
    World w;
    open_world(&w, "127.0.0.1:#", serve_echo);
    int fd = begin(&w, "CONNECT 127.0.0.1:# HTTP/1.1\r\n\r\nearly");
    Buf in = { 0 };
    shutdown(fd, SHUT_WR);
    read_rest(fd, &in);
    assert_str(buf_str(&in), "HTTP/1.1 200 Connection established\r\n\r\nearly");
    buf_clear(&in);
    close(fd);
    close_world(&w);
}

static size_t open_descriptors(void) {
    size_t n = 0;
    for (int fd = 0; fd < 2048; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void clients_that_leave(void **state) {
    (void)state;
    static World w;                                    /* lookups may use it for a little longer */
    open_world(&w, "127.0.0.1:# slow.example:#", serve_echo);
    size_t before = open_descriptors();
    for (int i = 0; i < 60; i++) {
        int fd = i % 3 == 0 ? open_tunnel(&w) : begin(&w, i % 3 == 1 ? "CONNECT 127.0.0.1:# HT" : "CONNECT slow.example:# HTTP/1.1\r\n\r\n");
        if (i % 2) setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 }, sizeof(struct linger));     /* reset */
        if (i % 3 == 0) send_all(fd, STR("some bytes"));
        close(fd);
    }
    for (int i = 0; i < 1000 && open_descriptors() > before; i++) usleep(10000);
    assert_true(open_descriptors() <= before);
    close_world(&w);
}

static void stopping_ends_everything(void **state) {
    (void)state;
    static World w;                                    /* the lookup may use it for a little longer */
    open_world(&w, "127.0.0.1:# slow.example:#", serve_echo);
    int tunnel = open_tunnel(&w), half = begin(&w, "CONNECT 127"), looking = begin(&w, "CONNECT slow.example:# HTTP/1.1\r\n\r\n");
    usleep(50000);
    proxy_stop(w.proxy);
    w.proxy = NULL;
    char byte;
    assert_true(recv(tunnel, &byte, 1, 0) <= 0 && recv(half, &byte, 1, 0) <= 0 && recv(looking, &byte, 1, 0) <= 0);
    close(tunnel);
    close(half);
    close(looking);
    usleep(1200000);
    close_world(&w);
}

#ifdef HARNESS_FAULTS
static void every_start_that_fails(void **state) {
    (void)state;
    Str none = STR("");
    Rules *rules = NULL;
    size_t before = open_descriptors();
    assert_true(rule_list_new(&none, 0, &rules, NULL));
    for (long nth = 1;; nth++) {
        Proxy *p = NULL;
        Error err = { 0 };
        fault_arm(nth);
        bool ok = proxy_start(rules, NULL, NULL, &p, &err);
        if (!fault_disarm()) {
            assert_true(ok);
            proxy_stop(p);
            break;
        }
        assert_false(ok);
        assert_true(err.kind == ERR_IO && strncmp(err.msg, "start the network proxy: ", 25) == 0);
        assert_int_equal(open_descriptors(), before);
    }
    rule_list_free(rules);
}
#endif

static void many_at_once(void **state) {
    (void)state;
    enum { N = 100 };
    World w;
    int fds[N];
    open_world(&w, "127.0.0.1:#", serve_echo);
    for (int i = 0; i < N; i++) fds[i] = begin(&w, "CONNECT 127.0.0.1:# HTTP/1.1\r\n\r\nhello");
    for (int i = 0; i < N; i++) {
        Buf in = { 0 };
        shutdown(fds[i], SHUT_WR);
        read_rest(fds[i], &in);
        assert_true(str_ends(buf_str(&in), STR("hello")));
        buf_clear(&in);
        close(fds[i]);
    }
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_http), cmocka_unit_test(one_request_per_connection), cmocka_unit_test(refusals),
            cmocka_unit_test(answers_that_change), cmocka_unit_test(tunnels_carry_everything),
        cmocka_unit_test(early_bytes_are_passed_on), cmocka_unit_test(clients_that_leave), cmocka_unit_test(stopping_ends_everything),
            cmocka_unit_test(many_at_once),
#ifdef HARNESS_FAULTS
        cmocka_unit_test(every_start_that_fails),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
