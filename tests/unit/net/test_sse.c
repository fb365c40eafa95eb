#include "unit.h"
#include "net/sse.h"

/* Events as text: "type|data|id;" each. */
static void take(SseReader *r, Str bytes, Buf *out) {
    SseEvent e;
    Error err = { 0 };
    Feed fed = sse_feed(r, bytes, &e, &err);
    for (; fed == FEED_READY; fed = sse_feed(r, STR(""), &e, &err))
        buf_add_fmt(out, STR_FMT "|" STR_FMT "|" STR_FMT ";", STR_ARG(e.type), STR_ARG(e.data), STR_ARG(e.id));
    if (fed == FEED_BAD) buf_add_fmt(out, "bad: %s", err.msg);
}

static const struct { const char *stream, *events; int64_t retry; } cases[] = {
    { "data: hello\n\n", "message|hello|;", -1 },
    { "data:a\r\ndata: b\r\ndata:  c\r\n\r\n", "message|a\nb\n c|;", -1 },
    { "data: a\r\rdata: b\r\r", "message|a|;message|b|;", -1 },
    { "\xEF\xBB\xBF" "data: a\n\n", "message|a|;", -1 },
    { "\n\n\xEF\xBB\xBF" "data: a\n\n", "", -1 },
    { ": comment\n:\ndata: a\n\n:x\n\n", "message|a|;", -1 },
    { "event: tick\ndata: 1\nid: 7\n\ndata: 2\n\nid\ndata: 3\n\n", "tick|1|7;message|2|7;message|3|;", -1 },
    { "event: lost\n\ndata: x\n\n", "message|x|;", -1 },
    { "data\n\ndata\ndata\n\ndata:", "message||;message|\n|;", -1 },
    { "retry: 250\nretry: x\nretry:\nretry: -1\nretry: 9999999999\n\n", "", 250 },
    { "unknown: 1\nDATA: no\n data: no\ndata : no\ndata:yes\n\n", "message|yes|;", -1 },
    { "data: gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\n\n", "message|gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80|;", -1 },
    { "data: \xff\xc3(\n\n", "message|\xef\xbf\xbd\xef\xbf\xbd(|;", -1 },
    { "data: {\"a\":1}\n\ndata: [DONE]\n\n", "message|{\"a\":1}|;message|[DONE]|;", -1 },
    { "data: unfinished\n", "", -1 },
    { "", "", -1 },
};

static void every_split(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Str all = str_from(cases[i].stream);
        for (size_t a = 0; a <= all.n; a++)
            for (size_t b = a; b <= all.n; b++) {
                SseReader *r = sse_new(0);
                Buf out = { 0 };
                take(r, str_sub(all, 0, a), &out);
                take(r, str_sub(all, a, b), &out);
                take(r, str_sub(all, b, all.n), &out);
                assert_str(buf_str(&out), cases[i].events);
                assert_int_equal(sse_retry_ms(r), cases[i].retry);
                buf_clear(&out);
                sse_free(r);
            }
    }
}

static void byte_by_byte_and_queued(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Str all = str_from(cases[i].stream);
        SseReader *r = sse_new(0);
        Buf out = { 0 };
        for (size_t a = 0; a < all.n; a++) take(r, str_sub(all, a, a + 1), &out);
        assert_str(buf_str(&out), cases[i].events);
        buf_clear(&out);
        sse_free(r);
    }
    SseReader *r = sse_new(0);                         /* fed before everything was read */
    SseEvent e;
    assert_int_equal(sse_feed(r, STR("data: 1\n\ndata: 2\n\nda"), &e, NULL), FEED_READY);
    assert_str(e.data, "1");
    assert_int_equal(sse_feed(r, STR("ta: 3\n\n"), &e, NULL), FEED_READY);
    assert_str(e.data, "2");
    assert_int_equal(sse_feed(r, STR(""), &e, NULL), FEED_READY);
    assert_str(e.data, "3");
    assert_int_equal(sse_feed(r, STR("id: 9\n"), &e, NULL), FEED_MORE);
    assert_str(sse_last_id(r), "9");
    assert_int_equal(sse_feed(r, (Str){ "id: a\0b\n", 8 }, &e, NULL), FEED_MORE);
    assert_str(sse_last_id(r), "9");
    sse_free(r);
    sse_free(NULL);
}

static void limits(void **state) {
    (void)state;
    SseEvent e;
    Error err = { 0 };
    SseReader *r = sse_new(20);
    assert_int_equal(sse_feed(r, STR("data: 01234567890123\n\n"), &e, &err), FEED_READY);
    assert_int_equal(sse_feed(r, STR("data: 012345678901234"), &e, &err), FEED_BAD);
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_int_equal(sse_feed(r, STR("\n\ndata: 1\n\n"), &e, &err), FEED_BAD);
    sse_free(r);
    r = sse_new(20);
    Feed fed = FEED_MORE;
    int n = 0;
    for (; fed == FEED_MORE && n < 100; n++) fed = sse_feed(r, STR("data: 0\n"), &e, &err);
    assert_int_equal(fed, FEED_BAD);
    assert_true(n < 10);
    sse_free(r);
    r = sse_new(20);
    for (n = 0, fed = FEED_MORE; fed == FEED_MORE && n < 100; n++) fed = sse_feed(r, STR("x"), &e, &err);
    assert_int_equal(fed, FEED_BAD);
    sse_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_split), cmocka_unit_test(byte_by_byte_and_queued), cmocka_unit_test(limits) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
