#include "net_unit.h"
#include "net/client.h"

/* ---- a server that answers by path and keeps the last request ---- */

typedef struct {
    pthread_mutex_t lock;
    Buf last;                                          /* head and body of the last request */
    char location[200];                                /* for /to/STATUS */
} Site;

static void note(Site *site, Str request) {
    pthread_mutex_lock(&site->lock);
    buf_reset(&site->last);
    buf_add(&site->last, request);
    pthread_mutex_unlock(&site->lock);
}

static size_t content_length(Str head) {
    ptrdiff_t at = str_find(head, STR("Content-Length: "));
    return at < 0 ? 0 : (size_t)atol(head.at + at + 16);
}

/* gzip of 100000 zero bytes */
static const unsigned char zeros_gz[] = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xff, 0xed, 0xc1, 0x31, 0x01, 0x00, 0x00, 0x00, 0xc2, 0xa0, 0xf5, 0x4f, 0x6d, 0x0d, 0x0f,
    0xa0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x80, 0x57, 0x03, 0x7d, 0x95, 0x11, 0xd4, 0xa0, 0x86, 0x01, 0x00,
};

static bool answer(int fd, Site *site, Str head) {
    ptrdiff_t from = str_find_char(head, ' ');
    Str path = str_sub(head, (size_t)from + 1, head.n);
    path.n = (size_t)str_find_char(path, ' ');
    Buf out = { 0 };
    bool keep = true;
    if (str_starts(path, STR("/to/"))) {
        pthread_mutex_lock(&site->lock);
        buf_add_fmt(&out, "HTTP/1.1 %d Moved\r\nLocation: %s\r\nContent-Length: 4\r\n\r\ngone", atoi(path.at + 4), site->location);
        pthread_mutex_unlock(&site->lock);
    } else if (str_eq(path, STR("/headers"))) {
        buf_add(&out, STR("HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\nHTTP/1.1 200 OK\r\nX-A: one\r\nx-a:  two \r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"
                          "Content-Length: 2\r\n\r\nok"));
    } else if (str_eq(path, STR("/gzip"))) {
        buf_add_fmt(&out, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n", sizeof zeros_gz);
        buf_add(&out, (Str){ (const char *)zeros_gz, sizeof zeros_gz });
    } else if (str_eq(path, STR("/loud"))) {
        buf_add(&out, STR("HTTP/1.1 200 OK\r\n"));
        for (int i = 0; i < 30000; i++) buf_add(&out, STR("x-header: value\r\n"));
        buf_add(&out, STR("\r\n"));
        keep = false;
    } else if (str_eq(path, STR("/cut"))) {
        buf_add(&out, STR("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"));
        keep = false;
    } else if (str_eq(path, STR("/nonsense"))) {
        buf_add(&out, STR("SSH-2.0-OpenSSH_9.2\r\n"));
        keep = false;
    } else if (str_eq(path, STR("/hang"))) {
        char byte;
        while (recv(fd, &byte, 1, 0) > 0) {}
        return false;
    } else if (str_eq(path, STR("/close"))) {
        return false;
    } else if (str_eq(path, STR("/chunks"))) {
        buf_add(&out, STR("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\nX-Trailer: t\r\n\r\n"));
    } else if (str_eq(path, STR("/missing"))) {
        buf_add(&out, STR("HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\nnothing"));
    } else {
        buf_add_fmt(&out, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", path.n);
        if (!str_starts(head, STR("HEAD"))) buf_add(&out, path);
    }
    keep = send_all(fd, buf_str(&out)) && keep;
    buf_clear(&out);
    return keep;
}

static void serve_site(int fd, void *ctx) {
    Buf in = { 0 };
    size_t head_n;
    while (read_head(fd, &in, &head_n)) {
        size_t all = head_n + content_length(str_sub(buf_str(&in), 0, head_n));
        while (in.n < all) {
            ssize_t n = recv(fd, buf_room(&in, all - in.n), all - in.n, 0);
            if (n <= 0) goto done;
            buf_commit(&in, (size_t)n);
        }
        note(ctx, str_sub(buf_str(&in), 0, all));
        if (!answer(fd, ctx, str_sub(buf_str(&in), 0, head_n))) break;
        memmove(in.at, in.at + all, in.n - all);
        in.n -= all;
    }
done:
    buf_clear(&in);
}

/* ---- test environment ---- */

typedef struct {
    Server server, other;
    Site site, other_site;
    Client *client;
    Rules *rules;
    atomic_int asked;
    Addresses answers[4];                              /* the nth answer to any name; the last one stays */
    size_t n_answers;
} World;

static bool answer_names(void *ctx, const char *host, Addresses *out, Error *err) {
    World *w = ctx;
    size_t n = (size_t)atomic_fetch_add(&w->asked, 1);
    if (strcmp(host, "missing.example") == 0) return error_set(err, ERR_IO, "resolve %s: no such name", host);
    if (strcmp(host, "slow.example") == 0) usleep(1000000);
    *out = w->answers[n < w->n_answers ? n : w->n_answers - 1];
    return true;
}

static Addresses addresses_of(const char *text) {
    Addresses list = { 0 };
    while (*text) {
        size_t n = strcspn(text, " ");
        assert_true(address_parse((Str){ text, n }, &list.at[list.n++]));
        text += n + strspn(text + n, " ");
    }
    return list;
}

static void open_world(World *w, const char *allowed, const char *answers) {
    *w = (World){ 0 };
    pthread_mutex_init(&w->site.lock, NULL);
    pthread_mutex_init(&w->other_site.lock, NULL);
    server_start(&w->server, serve_site, &w->site);
    server_start(&w->other, serve_site, &w->other_site);
    w->client = client_new();
    w->answers[0] = addresses_of(answers);
    w->n_answers = 1;
    resolver_set_answer(client_resolver(w->client), answer_names, w);
    if (!allowed) return;
    Str list[8];
    Buf text[8] = { 0 };
    size_t n = 0;
    for (const char *at = allowed; *at; n++) {         /* '#' stands for the server's port, '@' for the other's */
        for (; *at && *at != ' '; at++) {
            if (*at == '#') buf_add_fmt(&text[n], "%u", w->server.port);
            else if (*at == '@') buf_add_fmt(&text[n], "%u", w->other.port);
            else buf_add_char(&text[n], *at);
        }
        list[n] = buf_str(&text[n]);
        while (*at == ' ') at++;
    }
    Error err = { 0 };
    if (!rule_list_new(list, n, &w->rules, &err)) fail_msg("%s", err.msg);
    for (size_t i = 0; i < n; i++) buf_clear(&text[i]);
}

static void close_world(World *w) {
    client_free(w->client);
    server_stop(&w->server);
    server_stop(&w->other);
    rule_list_free(w->rules);
    buf_clear(&w->site.last);
    buf_clear(&w->other_site.last);
}

static const char *url_of(char *out, uint16_t port, const char *host, const char *path) {
    sprintf(out, "http://%s:%u%s", host, port, path);
    return out;
}

static bool get(World *w, const char *host, const char *path, ClientResponse *out, Error *err) {
    char url[300];
    ClientRequest r = { .method = STR("GET"), .url = str_from(url_of(url, w->server.port, host, path)), .rules = w->rules,
        .max_redirects = 5, .timeout_ms = 20000 };
    return client_send(w->client, &r, NULL, out, err);
}

#define assert_ok(call) do { if (!(call)) fail_msg("%s", err.msg); } while (0)

/* ---- tests ---- */

static void plain_requests(void **state) {
    (void)state;
    World w;
    Error err = { 0 };
    ClientResponse out = { 0 };
    open_world(&w, NULL, "127.0.0.1");
    assert_ok(get(&w, "a.example", "/hello", &out, &err));
    assert_int_equal(out.status, 200);
    assert_str(buf_str(&out.body), "/hello");
    assert_true(out.sent);
    assert_true(str_ends(buf_str(&out.url), STR("/hello")));
    client_response_clear(&out);
    assert_ok(get(&w, "a.example", "/missing", &out, &err));
    assert_int_equal(out.status, 404);
    assert_str(buf_str(&out.body), "nothing");
    client_response_clear(&out);
    assert_ok(get(&w, "a.example", "/chunks", &out, &err));
    assert_str(buf_str(&out.body), "onetwo");
    assert_str(client_header(&out, STR("x-trailer")), "");
    client_response_clear(&out);
    assert_ok(get(&w, "a.example", "/headers", &out, &err));
    assert_str(client_header(&out, STR("X-A")), "one, two");
    assert_str(client_header(&out, STR("set-cookie")), "a=1\nb=2");
    assert_str(client_header(&out, STR("x-early")), "");
    assert_int_equal(out.n_headers, 3);
    client_response_clear(&out);
    assert_int_equal(atomic_load(&w.server.connections), 1);           /* it was reused */
    close_world(&w);
}

static void bodies_and_methods(void **state) {
    (void)state;
    World w;
    open_world(&w, NULL, "127.0.0.1");
    static const struct { const char *method, *body, *first_line, *has, *lacks; } cases[] = {
        { "POST", "{\"a\":1}", "POST /x HTTP/1.1", "Content-Length: 7\r\n", "Content-Type" },
            { "post", "", "POST /x HTTP/1.1", "Content-Length: 0\r\n", "Expect" },
        { "PUT", NULL, "PUT /x HTTP/1.1", "Content-Length: 0\r\n", "Content-Type" }, { "DELETE", NULL, "DELETE /x HTTP/1.1", "\r\n", "Content-Length" },
        { "GET", "q", "GET /x HTTP/1.1", "Content-Length: 1\r\n", "Content-Type" }, { "HEAD", NULL, "HEAD /x HTTP/1.1", "\r\n", "Content-Length" },
        { "PROPFIND", NULL, "PROPFIND /x HTTP/1.1", "\r\n", "Cookie" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char url[300];
        Error err = { 0 };
        ClientResponse out = { 0 };
        ClientHeader h[] = { { STR("X-Empty"), STR("") }, { STR("X-Test"), STR(" v ") } };
        ClientRequest r = { .method = str_from(cases[i].method), .url = str_from(url_of(url, w.server.port, "a.example", "/x")), .headers = h, .n_headers = 2,
                            .body = str_from(cases[i].body), .has_body = cases[i].body != NULL };
        assert_ok(client_send(w.client, &r, NULL, &out, &err));
        Str last = buf_str(&w.site.last);
        if (!str_starts(last, str_from(cases[i].first_line)) || str_find(last, str_from(cases[i].has)) < 0 || str_find(last, str_from(cases[i].lacks)) >= 0
            || str_find(last, STR("X-Test: v\r\n")) < 0 || str_find(last, STR("X-Empty:\r\n")) < 0)
            fail_msg("%s: " STR_FMT, cases[i].method, STR_ARG(last));
        if (cases[i].body) assert_true(str_ends(last, str_from(cases[i].body)));
        client_response_clear(&out);
    }
    close_world(&w);
}

static void bad_requests(void **state) {
    (void)state;
    World w;
    open_world(&w, "* 127.0.0.1:#", "127.0.0.1");
    static const struct { const char *method, *url, *name, *value, *says; ErrorKind kind; } cases[] = {
        { "GET", "", "a", "b", "url", ERR_VALIDATION }, { "GET", "nonsense", "a", "b", "url", ERR_VALIDATION },
            { "GET", "http://", "a", "b", "url", ERR_VALIDATION },
        { "GET", "ftp://a.com/", "a", "b", "http and https", ERR_POLICY },
        { "GET", "file:///etc/passwd", "a", "b", "http and https", ERR_POLICY }, { "GET", "gopher://a.com/", "a", "b", "http and https", ERR_POLICY },
        { "GET", "http://u:p@a.com/", "a", "b", "user and password", ERR_VALIDATION },
            { "GET", "http://a.com@evil.com/", "a", "b", "user and password", ERR_VALIDATION },
        { "GET", "http://[fe80::1%25lo]/", "a", "b", "", ERR_VALIDATION }, { "GET", "http://a.com:0/", "a", "b", "port", ERR_VALIDATION },
        { "GET", "http://a.com:99999/", "a", "b", "", ERR_VALIDATION }, { "GET", "http://a.com\r\nX: y/", "a", "b", "", ERR_VALIDATION },
        { "GET", "http://a b.com/", "a", "b", "", ERR_VALIDATION }, { "GET", "http://127.0.0.1.:1/", "a", "b", "not in network", ERR_POLICY },
        { "GET", "http://2130706433:1/", "a", "b", "not in network", ERR_POLICY }, { "GET", "http://0x7f.1:1/", "a", "b", "not in network", ERR_POLICY },
        { "GET", "http://%31%32%37.0.0.1:1/", "a", "b", "not in network", ERR_POLICY },
            { "GET", "http://[::ffff:7f00:1]/", "a", "b", "not public", ERR_POLICY },
        { "GET", "http://a.com:22/", "a", "b", "port 22", ERR_POLICY }, { "GET", "http://a.com\\@evil.com/", "a", "b", "", ERR_VALIDATION },
        { "CONNECT", "http://a.com/", "a", "b", "CONNECT", ERR_VALIDATION }, { "TRACE", "http://a.com/", "a", "b", "TRACE", ERR_VALIDATION },
        { "G T", "http://a.com/", "a", "b", "method", ERR_VALIDATION }, { "", "http://a.com/", "a", "b", "method", ERR_VALIDATION },
        { "GET\r\n", "http://a.com/", "a", "b", "method", ERR_VALIDATION }, { "GET", "http://a.com/", "", "b", "header", ERR_VALIDATION },
        { "GET", "http://a.com/", "a b", "b", "header", ERR_VALIDATION }, { "GET", "http://a.com/", "a:", "b", "header", ERR_VALIDATION },
        { "GET", "http://a.com/", "a", "b\r\nEvil: 1", "line break", ERR_VALIDATION },
            { "GET", "http://a.com/", "a", "b\nEvil: 1", "line break", ERR_VALIDATION },
        { "GET", "http://a.com/", "Host", "evil", "cannot be set", ERR_VALIDATION },
            { "GET", "http://a.com/", "content-length", "1", "cannot be set", ERR_VALIDATION },
        { "GET", "http://a.com/", "Transfer-Encoding", "chunked", "cannot be set", ERR_VALIDATION },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Error err = { 0 };
        ClientResponse out = { 0 };
        ClientHeader h = { str_from(cases[i].name), str_from(cases[i].value) };
        ClientRequest r = { .method = str_from(cases[i].method), .url = str_from(cases[i].url), .headers = &h, .n_headers = 1, .rules = w.rules };
        if (client_send(w.client, &r, NULL, &out, &err) || err.kind != cases[i].kind || !strstr(err.msg, cases[i].says))
            fail_msg("%s %s: %s %s", cases[i].method, cases[i].url, error_kind_name(err.kind), err.msg);
        assert_false(out.sent);
    }
    Error err = { 0 };
    ClientResponse out = { 0 };
    ClientRequest r = { .method = STR("GET"), .url = { "http://a.com/\0x", 15 } };
    assert_false(client_send(w.client, &r, NULL, &out, &err));
    assert_int_equal(atomic_load(&w.asked), 0);
    close_world(&w);
}

static void addresses_are_checked_and_pinned(void **state) {
    (void)state;
    World w;
    Error err = { 0 };
    ClientResponse out = { 0 };
    open_world(&w, "a.example:# *.wild.example:#", "127.0.0.1");
    assert_false(get(&w, "a.example", "/", &out, &err));
    assert_int_equal(err.kind, ERR_POLICY);
    assert_non_null(strstr(err.msg, "host \"a.example\" is at 127.0.0.1, which is not public (loopback)"));
    assert_false(get(&w, "b.wild.example", "/", &out, &err));
    assert_false(get(&w, "other.example", "/", &out, &err));
    assert_string_equal(err.msg, "host \"other.example\" is not in network.allowed_domains");
    assert_int_equal(atomic_load(&w.asked), 2);                        /* a forbidden name is not even looked up */
    assert_int_equal(atomic_load(&w.server.connections), 0);
    assert_false(out.sent);
    close_world(&w);

    open_world(&w, "a.example:# 127.0.0.1:#", "10.1.2.3 ::1 127.0.0.1 ::ffff:127.0.0.1");
    assert_ok(get(&w, "a.example", "/", &out, &err));                  /* the others are skipped */
    client_response_clear(&out);
    close_world(&w);

    open_world(&w, "localhost:#", "127.0.0.1");
    assert_ok(get(&w, "LOCALHOST.", "/", &out, &err));
    assert_non_null(strstr(w.site.last.at, "Host: localhost:"));
    client_response_clear(&out);
    close_world(&w);
}

/* The name first resolves to a public address that does not answer, then to loopback. One lookup per request. */
static void answers_that_change(void **state) {
    (void)state;
    World w;
    Error err = { 0 };
    ClientResponse out = { 0 };
    open_world(&w, "a.example:# 127.0.0.1:#", "127.0.0.1");
    w.answers[1] = addresses_of("127.0.0.2");
    w.n_answers = 2;
    assert_ok(get(&w, "a.example", "/one", &out, &err));
    client_response_clear(&out);
    assert_int_equal(atomic_load(&w.asked), 1);
    assert_false(get(&w, "a.example", "/two", &out, &err));            /* though a connection to the first address is still open */
    assert_int_equal(err.kind, ERR_POLICY);
    assert_int_equal(atomic_load(&w.asked), 2);
    assert_true(str_starts(buf_str(&w.site.last), STR("GET /one ")));
    close_world(&w);
}

/* A connection kept by a request without rules is not reused for the same name at another address. */
static void connections_belong_to_addresses(void **state) {
    (void)state;
    World w;
    Error err = { 0 };
    ClientResponse out = { 0 };
    open_world(&w, NULL, "127.0.0.1");
    w.answers[1] = addresses_of("127.0.0.1");
    w.answers[2] = addresses_of("127.0.0.9");          /* also loopback, but with no listener */
    w.n_answers = 3;
    assert_ok(get(&w, "a.example", "/one", &out, &err));
    client_response_clear(&out);
    assert_ok(get(&w, "a.example", "/two", &out, &err));
    client_response_clear(&out);
    assert_int_equal(atomic_load(&w.server.connections), 1);
    assert_false(get(&w, "a.example", "/three", &out, &err));
    assert_int_equal(err.kind, ERR_IO);
    assert_non_null(strstr(err.msg, "connect to a.example:"));
    assert_non_null(strstr(err.msg, ": connection refused"));
    assert_false(out.sent);
    close_world(&w);
}

static void next_address_is_tried(void **state) {
    (void)state;
    World w;
    Error err = { 0 };
    ClientResponse out = { 0 };
    open_world(&w, NULL, "127.0.0.9 ::1 127.0.0.1");
    assert_ok(get(&w, "a.example", "/", &out, &err));
    client_response_clear(&out);
    assert_false(get(&w, "missing.example", "/", &out, &err));
    assert_string_equal(err.msg, "resolve missing.example: no such name");
    close_world(&w);
}

static void redirects(void **state) {
    (void)state;
    static const struct { const char *method; int status; const char *becomes; bool body; } cases[] = {
        { "POST", 301, "GET", false }, { "POST", 302, "GET", false }, { "POST", 303, "GET", false }, { "POST", 307, "POST", true },
            { "POST", 308, "POST", true },
        { "PUT", 301, "PUT", true }, { "PUT", 303, "GET", false }, { "HEAD", 303, "HEAD", false }, { "GET", 302, "GET", false },
    };
    World w;
    open_world(&w, "127.0.0.1:# 127.0.0.1:@", "127.0.0.1");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int other = 0; other < 2; other++) {
            char url[300], path[20];
            Error err = { 0 };
            ClientResponse out = { 0 };
            sprintf(path, "/to/%d", cases[i].status);
            if (other) url_of(w.site.location, w.other.port, "127.0.0.1", "/there");
            else strcpy(w.site.location, "/there");
            ClientHeader h[] = { { STR("Authorization"), STR("Bearer x") }, { STR("cookie"), STR("a=b") }, { STR("X-Api-Key"), STR("k") },
                                 { STR("Content-Type"), STR("text/plain") }, { STR("X-Other"), STR("kept") } };
            bool body = strcmp(cases[i].method, "GET") != 0 && strcmp(cases[i].method, "HEAD") != 0;
            ClientRequest r = { .method = str_from(cases[i].method), .url = str_from(url_of(url, w.server.port, "127.0.0.1", path)),
                .headers = h, .n_headers = 5,
                                .body = body ? STR("payload") : STR(""), .has_body = body, .rules = w.rules, .max_redirects = 3 };
            assert_ok(client_send(w.client, &r, NULL, &out, &err));
            Str last = buf_str(other ? &w.other_site.last : &w.site.last);
            bool kept = !other;
            if (!str_starts(last, str_from(cases[i].becomes)) || str_find(last, STR(" /there ")) < 0 || (str_find(last, STR("payload")) >= 0) != cases[i].body
                || (str_find(last, STR("Bearer")) >= 0) != kept || (str_find(last, STR("a=b")) >= 0) != kept || (str_find(last, STR("X-Api-Key")) >= 0) != kept
                || str_find(last, STR("X-Other: kept")) < 0 || (body && (str_find(last, STR("text/plain")) >= 0) != cases[i].body))
                fail_msg("%s %d %s: " STR_FMT, cases[i].method, cases[i].status, other ? "away" : "here", STR_ARG(last));
            assert_true(str_ends(buf_str(&out.url), STR("/there")));
            client_response_clear(&out);
        }
    }
    close_world(&w);
}

static void redirects_are_checked(void **state) {
    (void)state;
    static const struct { const char *location; ErrorKind kind; const char *says; } cases[] = {
        { "http://evil.example/", ERR_POLICY, "host \"evil.example\" is not in" }, { "http://169.254.169.254/latest", ERR_POLICY, "link-local" },
        { "http://2852039166/", ERR_POLICY, "169.254.169.254" }, { "//evil.example/x", ERR_POLICY, "evil.example" },
            { "file:///etc/passwd", ERR_POLICY, "http and https" },
        { "ftp://127.0.0.1/", ERR_POLICY, "http and https" }, { "http://127.0.0.1:1/", ERR_POLICY, "port 1" },
            { "http://u@127.0.0.1/", ERR_VALIDATION, "user" },
        { "http://[::1]/", ERR_POLICY, "loopback" }, { "http://localhost/", ERR_POLICY, "localhost" }, { "http://:80/", ERR_VALIDATION, "url" },
        { "/to/302", ERR_LIMIT, "more than 5 redirects" },
    };
    World w;
    Error err = { 0 };
    ClientResponse out = { 0 };
    open_world(&w, "127.0.0.1:#", "127.0.0.1");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        strcpy(w.site.location, cases[i].location);
        if (get(&w, "127.0.0.1", "/to/302", &out, &err) || err.kind != cases[i].kind || !strstr(err.msg, cases[i].says))
            fail_msg("%s: %s %s", cases[i].location, error_kind_name(err.kind), err.msg);
        assert_true(out.sent);
    }
    char url[300];
    ClientRequest r = { .method = STR("GET"), .url = str_from(url_of(url, w.server.port, "127.0.0.1", "/to/302")), .rules = w.rules };
    assert_ok(client_send(w.client, &r, NULL, &out, &err));            /* not followed unless asked to */
    assert_int_equal(out.status, 302);
    assert_str(buf_str(&out.body), "gone");
    client_response_clear(&out);
    close_world(&w);
}

static bool take_piece(void *ctx, Str piece, Error *err) {
    Buf *all = ctx;
    buf_add(all, piece);
    return all->n < 5 || error_set(err, ERR_SCRIPT, "enough");
}

typedef struct Stopping { Cancel *token; size_t pieces; } Stopping;

static bool stop_now(void *ctx, Str piece, Error *err) {
    Stopping *s = ctx;
    (void)piece;
    (void)err;
    s->pieces++;
    cancel_fire(s->token);
    return true;
}

/* Decompressed data arrives in many pieces without waits in between. */
static void no_piece_comes_after_the_end(void **state) {
    (void)state;
    World w;
    char url[300];
    Error err = { 0 };
    ClientResponse out = { 0 };
    open_world(&w, NULL, "127.0.0.1");
    Stopping s = { .token = cancel_new(NULL, 0) };
    ClientRequest r = { .method = STR("GET"), .url = str_from(url_of(url, w.server.port, "127.0.0.1", "/gzip")), .on_data = stop_now, .ctx = &s };
    assert_false(client_send(w.client, &r, s.token, &out, &err));
    assert_int_equal(err.kind, ERR_CANCELLED);
    assert_int_equal(s.pieces, 1);
    client_response_clear(&out);
    cancel_free(s.token);
    close_world(&w);
}

static void limits(void **state) {
    (void)state;
    World w;
    char url[300];
    Error err = { 0 };
    ClientResponse out = { 0 };
    open_world(&w, NULL, "127.0.0.1");
    ClientRequest r = { .method = STR("GET"), .url = str_from(url_of(url, w.server.port, "127.0.0.1", "/gzip")), .max_body = 100000 };
    assert_ok(client_send(w.client, &r, NULL, &out, &err));
    assert_int_equal(out.body.n, 100000);
    client_response_clear(&out);
    r.max_body = 99999;                                                /* of the decompressed data */
    assert_false(client_send(w.client, &r, NULL, &out, &err));
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_string_equal(err.msg, "the response is over 99999 bytes");
    assert_false(get(&w, "127.0.0.1", "/loud", &out, &err));
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_false(get(&w, "127.0.0.1", "/cut", &out, &err));
    assert_int_equal(err.kind, ERR_IO);
    assert_true(out.sent);
    assert_false(get(&w, "127.0.0.1", "/nonsense", &out, &err));
    assert_int_equal(err.kind, ERR_IO);
    assert_false(get(&w, "127.0.0.1", "/close", &out, &err));
    assert_int_equal(err.kind, ERR_IO);
    Buf all = { 0 };
    r = (ClientRequest){ .method = STR("GET"), .url = str_from(url_of(url, w.server.port, "127.0.0.1", "/chunks")), .on_data = take_piece, .ctx = &all };
    assert_false(client_send(w.client, &r, NULL, &out, &err));
    assert_int_equal(err.kind, ERR_SCRIPT);
    assert_string_equal(err.msg, "enough");
    buf_reset(&all);
    r.url = str_from(url_of(url, w.server.port, "127.0.0.1", "/missing"));
    assert_ok(client_send(w.client, &r, NULL, &out, &err));            /* only a 2xx body is streamed */
    assert_int_equal(all.n, 0);
    assert_str(buf_str(&out.body), "nothing");
    client_response_clear(&out);
    buf_clear(&all);
    close_world(&w);
}

static void *fire_soon(void *token) {
    usleep(100000);
    cancel_fire(token);
    return NULL;
}

static void ends_at_once(void **state) {
    (void)state;
    static World w;                                    /* the abandoned lookup may use it for a little longer */
    open_world(&w, NULL, "127.0.0.1");
    static const char *const hosts[] = { "127.0.0.1", "slow.example" };
    for (size_t i = 0; i < 2; i++) {
        char url[300];
        Error err = { 0 };
        ClientResponse out = { 0 };
        Cancel *token = cancel_new(NULL, 0);
        pthread_t thread;
        ClientRequest r = { .method = STR("GET"), .url = str_from(url_of(url, w.server.port, hosts[i], "/hang")) };
        pthread_create(&thread, NULL, fire_soon, token);
        assert_false(client_send(w.client, &r, token, &out, &err));
        assert_int_equal(err.kind, ERR_CANCELLED);
        assert_int_equal(out.sent, i == 0);
        pthread_join(thread, NULL);
        assert_false(client_send(w.client, &r, token, &out, &err));    /* fired before it began */
        cancel_free(token);
        r.timeout_ms = 50;
        assert_false(client_send(w.client, &r, NULL, &out, &err));
        assert_int_equal(err.kind, ERR_TIMEOUT);
        assert_string_equal(err.msg, "timed out after 0.05 s");
    }
    usleep(1200000);
    close_world(&w);
}

static void *many_requests(void *ctx) {
    World *w = ctx;
    for (int i = 0; i < 30; i++) {
        Error err = { 0 };
        ClientResponse out = { 0 };
        assert_ok(get(w, i % 2 ? "a.example" : "b.example", "/x", &out, &err));
        client_response_clear(&out);
    }
    return NULL;
}

static void many_threads(void **state) {
    (void)state;
    World w;
    pthread_t threads[6];
    open_world(&w, NULL, "127.0.0.1");
    for (size_t i = 0; i < 6; i++) pthread_create(&threads[i], NULL, many_requests, &w);
    for (size_t i = 0; i < 6; i++) pthread_join(threads[i], NULL);
    assert_true(atomic_load(&w.server.connections) <= 24);
    close_world(&w);
}

/* Nothing in the environment changes where a request goes. */
static void environment_is_ignored(void **state) {
    (void)state;
    World w;
    Error err = { 0 };
    ClientResponse out = { 0 };
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
    open_world(&w, "127.0.0.1:#", "127.0.0.1");
    assert_ok(get(&w, "127.0.0.1", "/", &out, &err));
    client_response_clear(&out);
    close_world(&w);
    unsetenv("http_proxy");
    unsetenv("ALL_PROXY");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_requests), cmocka_unit_test(bodies_and_methods), cmocka_unit_test(bad_requests),
        cmocka_unit_test(addresses_are_checked_and_pinned), cmocka_unit_test(answers_that_change), cmocka_unit_test(connections_belong_to_addresses),
        cmocka_unit_test(next_address_is_tried), cmocka_unit_test(redirects), cmocka_unit_test(redirects_are_checked), cmocka_unit_test(limits),
        cmocka_unit_test(ends_at_once), cmocka_unit_test(no_piece_comes_after_the_end), cmocka_unit_test(many_threads),
            cmocka_unit_test(environment_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
