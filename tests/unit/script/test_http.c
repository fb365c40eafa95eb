/* http.* with a test server on the loopback address. */
#include "script_unit.h"
#include "net/net_unit.h"
#include "net/client.h"

static void reply(int fd, const char *status, const char *headers, Str body) {
    Buf out = { 0 };
    buf_add_fmt(&out, "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n", status, body.n, headers);
    buf_add(&out, body);
    send_all(fd, buf_str(&out));
    buf_clear(&out);
}

static void serve(int fd, void *ctx) {
    (void)ctx;
    Buf in = { 0 };
    size_t head;
    if (!read_head(fd, &in, &head)) { buf_clear(&in); return; }
    Str h = str_sub(buf_str(&in), 0, head);
    ptrdiff_t at = str_find(h, STR("Content-Length: "));
    size_t want = at < 0 ? 0 : (size_t)strtoul(h.at + at + 16, NULL, 10);
    while (in.n < head + want) {
        char *room = buf_room(&in, 4096);
        ssize_t n = recv(fd, room, 4096, 0);
        if (n <= 0) break;
        buf_commit(&in, (size_t)n);
    }
    Str all = buf_str(&in);
    if (str_starts(all, STR("GET /redirect"))) reply(fd, "302 Found", "Location: /hello\r\n", STR(""));
    else if (str_starts(all, STR("GET /away"))) reply(fd, "302 Found", "Location: http://127.0.0.1:1/x\r\n", STR(""));
    else if (str_starts(all, STR("GET /hello"))) reply(fd, "200 OK", "X-One: a\r\nContent-Type: text/plain\r\n", STR("hi"));
    else if (str_starts(all, STR("GET /missing"))) reply(fd, "404 Not Found", "", STR("no"));
    else if (str_starts(all, STR("GET /bytes"))) reply(fd, "200 OK", "", (Str){ "a\xff", 2 });
    else if (str_starts(all, STR("GET /slow"))) usleep(2000000);
    else reply(fd, "200 OK", "", all);                    /* echoes the request */
    buf_clear(&in);
}

static const struct { const char *body, *want; } cases[] = {
    { "http.get(U + '/hello')['body']", "\"hi\"" },
        { "r = http.get(U + '/hello')\nreturn [r['status'], r['headers']['x-one'], r['headers']['content-type']]",
        "[200, \"a\", \"text/plain\"]" },
    { "http.get(U + '/missing')['status']", "404" }, { "http.get(U + '/redirect')['body']", "\"hi\"" }, { "http.get(U + '/bytes')['body']", "\"a�\"" },
    { "'X-Mine: v' in http.get(U + '/echo', headers={'X-Mine': 'v'})['body']", "True" },
    { "b = http.post(U + '/echo', {'a': [1]})['body']\nreturn [b.endswith('{\"a\":[1]}'), 'application/json' in b, b.startswith('POST /echo ')]", "[True, True, True]" },
    { "b = http.post(U + '/echo', 'text')['body']\nreturn [b.endswith('text'), 'application/json' in b]", "[True, False]" },
    { "'text/x' in http.post(U + '/echo', [1], headers={'Content-Type': 'text/x'})['body']", "True" },
        { "http.post(U + '/echo')['body'].startswith('POST ')", "True" },
    { "http.request('PUT', U + '/echo', body=b'x')['body'][:9]", "\"PUT /echo\"" }, { "http.request('DELETE', U + '/echo')['status']", "200" },
    { "http.get(U + '/slow', timeout_seconds=0.2)", "error: http.get: …" },
        { "http.get(U + '/hello', timeout_seconds=0)", "error: http.get: for parameter timeout_seconds: must be more than 0" },
    { "http.get('ftp://a/')", "error: http.get: …" }, { "http.get('file:///etc/passwd')", "error: http.get: …" },
        { "http.get(U + '/away')", "error: http.get: …" },
    { "http.get('http://127.0.0.1:1/')", "error: http.get: …" },
        { "http.get(U, headers={'A': 1})", "error: http.get: for parameter headers: names and values must be strings" },
    { "http.get(U, headers={'A': 'b\\r\\nC: d'})", "error: http.get: …" }, { "http.request('GET / HTTP/1.1\\r\\nX: y', U)", "error: http.request: …" },
    { "http.post(U, len)", "error: http.post: for parameter body: …" },
};

static void test_http(void **state) {
    (void)state;
    Server server;
    ScriptUnit u;
    size_t wrong = 0;
    char rule[40];
    server_start(&server, serve, NULL);
    script_begin(&u);
    u.host.client = client_new();
    Rules *rules;
    snprintf(rule, sizeof rule, "127.0.0.1:%u", server.port);
    Str entry = str_from(rule);
    assert_true(rule_list_new(&entry, 1, &rules, NULL));
    u.host.net = rules;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Buf body = { 0 };
        buf_add_fmt(&body, "U = 'http://127.0.0.1:%u'\n%s%s", server.port, strstr(cases[i].body, "return ") ? "" : "return ", cases[i].body);
        const char *got = script_run(&u, body.at);
        if (!script_same(got, cases[i].want)) print_error("%s\n  got  %s\n  want %s\n", cases[i].body, got, cases[i].want), wrong++;
        buf_clear(&body);
    }
    /* Without a list any public host is allowed, which excludes this one. */
    u.host.net = NULL;
    Buf body = { 0 };
    buf_add_fmt(&body, "http.get('http://127.0.0.1:%u/hello')", server.port);
    script_run(&u, body.at);
    assert_int_equal(u.err.kind, ERR_POLICY);
    u.host.net = rules;
    buf_reset(&body);
    buf_add_fmt(&body, "http.get('http://127.0.0.1:%u/slow')", server.port);
    u.cancel = cancel_new(NULL, 100000000);
    assert_non_null(strstr(script_run(&u, body.at), "timed out"));
    cancel_free(u.cancel);
    buf_clear(&body);
    client_free(u.host.client);
    rule_list_free(rules);
    script_end(&u);
    server_stop(&server);
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_http) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
