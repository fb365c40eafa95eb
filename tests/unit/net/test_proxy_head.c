#include "unit.h"
#include "net/proxy_head.h"

static void good_heads(void **state) {
    (void)state;
    static const struct { const char *sent, *host; uint16_t port; const char *forward, *rest; } cases[] = {
        { "CONNECT a.com:443 HTTP/1.1\r\nHost: a.com:443\r\nProxy-Connection: keep-alive\r\n\r\n\x16\x03", "a.com", 443, "", "\x16\x03" },
        { "CONNECT [::1]:443 HTTP/1.0\r\n\r\n", "::1", 443, "", "" },
        { "CONNECT 0x7f.1:443 HTTP/1.1\r\n\r\n", "127.0.0.1", 443, "", "" },
        { "GET http://A.com/x?y=1 HTTP/1.1\r\nHost: a.COM\r\nAccept: */*\r\n\r\n", "a.com", 80,
          "GET /x?y=1 HTTP/1.1\r\nHost: a.com\r\nAccept: */*\r\nConnection: close\r\n\r\n", "" },
        { "GET HTTP://a.com HTTP/1.0\r\n\r\n", "a.com", 80, "GET / HTTP/1.0\r\nHost: a.com\r\nConnection: close\r\n\r\n", "" },
        { "GET http://a.com?q HTTP/1.1\r\n\r\n", "a.com", 80, "GET /?q HTTP/1.1\r\nHost: a.com\r\nConnection: close\r\n\r\n", "" },
        { "OPTIONS http://a.com HTTP/1.1\r\n\r\n", "a.com", 80, "OPTIONS * HTTP/1.1\r\nHost: a.com\r\nConnection: close\r\n\r\n", "" },
        { "GET http://[::1]:81/ HTTP/1.1\r\nHost: [0::1]:81\r\n\r\n", "::1", 81, "GET / HTTP/1.1\r\nHost: [::1]:81\r\nConnection: close\r\n\r\n", "" },
        { "GET http://a.com/ HTTP/1.1\r\nConnection: x-private , Keep-Alive, content-length\r\nX-Private: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\nUpgrade: h2c\r\n"
          "Proxy-Authorization: Basic x\r\nProxy-Connection: close\r\nContent-Length: 3\r\nX: \t y \r\n\r\nabc", "a.com", 80,
          "GET / HTTP/1.1\r\nHost: a.com\r\nContent-Length: 3\r\nX: y\r\nConnection: close\r\n\r\n", "abc" },
        { "GET http://a.com/ HTTP/1.1\r\nClose: 1\r\nX: y\r\n\r\n", "a.com", 80, "GET / HTTP/1.1\r\nHost: a.com\r\nX: y\r\nConnection: close\r\n\r\n", "" },
        { "POST http://a.com:80/ HTTP/1.1\r\nHost: a.com:80\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", "a.com", 80,
          "POST / HTTP/1.1\r\nHost: a.com\r\nTransfer-Encoding: Chunked\r\nConnection: close\r\n\r\n", "0\r\n\r\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Str all = str_from(cases[i].sent);
        for (size_t cut = 0; cut <= all.n; cut++) {
            ProxyHead h = { 0 };
            Error err = { 0 };
            Feed fed = proxy_head_feed(&h, str_sub(all, 0, cut), &err);
            if (fed == FEED_MORE) fed = proxy_head_feed(&h, str_sub(all, cut, all.n), &err);
            else cut = all.n;
            if (fed != FEED_READY) fail_msg("%s: %s", cases[i].sent, err.msg);
            assert_string_equal(h.target.host, cases[i].host);
            assert_int_equal(h.target.port, cases[i].port);
            assert_str(buf_str(&h.forward), cases[i].forward);
            assert_int_equal(h.connect, !*cases[i].forward);
            if (cut < all.n) assert_str(h.rest, cases[i].rest);
            proxy_head_clear(&h);
        }
    }
}

static void bad_heads(void **state) {
    (void)state;
    static const char *const cases[] = {
        "\r\n\r\n", "GET\r\n\r\n", "GET http://a.com/\r\n\r\n", "GET  http://a.com/ HTTP/1.1\r\n\r\n",
            "GET http://a.com/ HTTP/1.1 \r\n\r\n", " GET http://a.com/ HTTP/1.1\r\n\r\n",
        "GET http://a.com/ HTTP/2.0\r\n\r\n", "GET http://a.com/ HTTP/1.2\r\n\r\n", "GET http://a.com/ http/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.com\r\n\r\n",
        "GET a.com HTTP/1.1\r\n\r\n", "GET ftp://a.com/ HTTP/1.1\r\n\r\n", "GET https://a.com/ HTTP/1.1\r\n\r\n",
            "GET http:// HTTP/1.1\r\n\r\n", "GET http:///x HTTP/1.1\r\n\r\n",
        "GET http://u@a.com/ HTTP/1.1\r\n\r\n", "GET http://a.com:0/ HTTP/1.1\r\n\r\n", "GET http://a.com:x/ HTTP/1.1\r\n\r\n",
            "GET http://a.com/#f HTTP/1.1\r\n\r\n",
        "GET http://a.com\\x/ HTTP/1.1\r\n\r\n", "GET http://a.com/\xc3\xbc HTTP/1.1\r\n\r\n", "GET http://a.com/\tx HTTP/1.1\r\n\r\n",
            "G/T http://a.com/ HTTP/1.1\r\n\r\n",
        "GET http://a.com/ HTTP/1.1\r\nHost: b.com\r\n\r\n", "GET http://a.com/ HTTP/1.1\r\nHost: a.com:81\r\n\r\n",
            "GET http://a.com/ HTTP/1.1\r\nHost: a.com\r\nHost: a.com\r\n\r\n",
        "GET http://a.com/ HTTP/1.1\r\nHost:\r\n\r\n", "GET http://a.com/ HTTP/1.1\r\nHost : a.com\r\n\r\n",
            "GET http://a.com/ HTTP/1.1\r\nX: 1\r\n folded\r\n\r\n",
        "GET http://a.com/ HTTP/1.1\r\nnocolon\r\n\r\n", "GET http://a.com/ HTTP/1.1\r\n: x\r\n\r\n", "GET http://a.com/ HTTP/1.1\nHost: a.com\r\n\r\n",
        "GET http://a.com/ HTTP/1.1\r\nX: a\nY: b\r\n\r\n", "GET http://a.com/ HTTP/1.1\r\nX: a\rY: b\r\n\r\n", "GET http://a.com/ HTTP/1.1\r\nX: \x01\r\n\r\n",
        "GET http://a.com/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
            "GET http://a.com/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET http://a.com/ HTTP/1.1\r\nContent-Length: +1\r\n\r\n", "GET http://a.com/ HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n",
            "GET http://a.com/ HTTP/1.1\r\nContent-Length: \r\n\r\n",
        "GET http://a.com/ HTTP/1.1\r\nContent-Length: 9999999999999999999\r\n\r\n", "GET http://a.com/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "GET http://a.com/ HTTP/1.1\r\nTransfer-Encoding: identity\r\n\r\n",
            "GET http://a.com/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET http://a.com/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "CONNECT a.com HTTP/1.1\r\n\r\n", "CONNECT http://a.com:443 HTTP/1.1\r\n\r\n",
        "CONNECT a.com:443/ HTTP/1.1\r\n\r\n", "CONNECT :443 HTTP/1.1\r\n\r\n", "CONNECT a.com:443@b.com:443 HTTP/1.1\r\n\r\n",
            "connect a.com:443 HTTP/1.1\r\n\r\n",
        "CONNECT [fe80::1%lo]:443 HTTP/1.1\r\n\r\n", "CONNECT ::1:443 HTTP/1.1\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ProxyHead h = { 0 };
        Error err = { 0 };
        if (proxy_head_feed(&h, str_from(cases[i]), &err) != FEED_BAD) fail_msg("%s", cases[i]);
        assert_int_equal(err.kind, ERR_PROTOCOL);
        proxy_head_clear(&h);
    }
    ProxyHead h = { 0 };
    assert_int_equal(proxy_head_feed(&h, (Str){ "GET http://a.com/ HTTP/1.1\r\nX: \0\r\n\r\n", 36 }, NULL), FEED_BAD);
    proxy_head_clear(&h);
}

static void long_heads(void **state) {
    (void)state;
    Buf text = { 0 };
    Error err = { 0 };
    ProxyHead h = { 0 };
    while (text.n < PROXY_HEAD_MAX) buf_add(&text, STR("aaaaaaaaaaaaaaaa"));
    assert_int_equal(proxy_head_feed(&h, buf_str(&text), &err), FEED_MORE);
    assert_int_equal(proxy_head_feed(&h, STR("a"), &err), FEED_BAD);
    assert_int_equal(err.kind, ERR_LIMIT);
    proxy_head_clear(&h);
    for (int over = 0; over < 2; over++) {
        buf_reset(&text);
        buf_add(&text, STR("GET http://a.com/ HTTP/1.1\r\n"));
        for (int i = 0; i < PROXY_HEADERS_MAX + over; i++) buf_add(&text, STR("x: y\r\n"));
        buf_add(&text, STR("\r\n"));
        assert_int_equal(proxy_head_feed(&h, buf_str(&text), &err), over ? FEED_BAD : FEED_READY);
        if (!over) assert_true(str_ends(buf_str(&h.forward), STR("x: y\r\nConnection: close\r\n\r\n")));
        if (over) assert_int_equal(err.kind, ERR_LIMIT);
        proxy_head_clear(&h);
    }
    buf_clear(&text);
}

static void bodies(void **state) {
    (void)state;
    static const struct { bool chunked; uint64_t length; const char *sent; size_t used; Feed feed; } cases[] = {
        { false, 0, "GET", 0, FEED_READY }, { false, 3, "abcGET", 3, FEED_READY }, { false, 4, "abc", 3, FEED_MORE },
            { true, 0, "0\r\n\r\nGET", 5, FEED_READY },
        { true, 0, "3\r\nabc\r\n0\r\n\r\nGET", 13, FEED_READY }, { true, 0, "0003\r\nabc\r\n00\r\n\r\n", 17, FEED_READY },
            { true, 0, "A\r\n0123456789\r\n0\r\n\r\n", 20, FEED_READY },
        { true, 0, "3\r\nab", 5, FEED_MORE }, { true, 0, "3\nabc\r\n0\r\n\r\n", 0, FEED_BAD }, { true, 0, "\r\n", 0, FEED_BAD },
            { true, 0, "3;ext=1\r\nabc", 0, FEED_BAD },
        { true, 0, "0\r\nTrailer: 1\r\n\r\n", 0, FEED_BAD }, { true, 0, "3\r\nabcd\r\n", 0, FEED_BAD }, { true, 0, "-1\r\n", 0, FEED_BAD },
            { true, 0, "0x3\r\n", 0, FEED_BAD },
        { true, 0, "fffffffffffff\r\n", 0, FEED_BAD }, { true, 0, " 3\r\n", 0, FEED_BAD }, { true, 0, "3 \r\n", 0, FEED_BAD },
            { true, 0, "0\r\n\rx", 0, FEED_BAD },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Str all = str_from(cases[i].sent);
        for (size_t cut = 0; cut <= all.n; cut++) {
            ProxyHead h = { .chunked = cases[i].chunked, .length = cases[i].length };
            ProxyBody b;
            size_t used = 0, more = 0;
            proxy_body_start(&b, &h);
            Feed fed = proxy_body_feed(&b, str_sub(all, 0, cut), &used);
            if (fed == FEED_MORE) fed = proxy_body_feed(&b, str_sub(all, cut, all.n), &more);
            if (fed != cases[i].feed || (fed != FEED_BAD && used + more != cases[i].used)) fail_msg("%s cut at %zu: %d %zu", cases[i].sent,
                cut, fed, used + more);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(good_heads), cmocka_unit_test(bad_heads), cmocka_unit_test(long_heads), cmocka_unit_test(bodies) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
