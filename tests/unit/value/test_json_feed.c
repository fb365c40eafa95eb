#include "json_feed.h"
#include "unit.h"
#include "value/json.h"
#include "value/list.h"

static Heap *heap;

static int setup(void **state) {
    (void)state;
    heap = heap_new(64 << 20);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    heap_free(heap);
    return 0;
}

/* What came out, as lines: a document's compact text, or "L:C message". */
static void note(Buf *log, Feed feed, Value v, const Error *err) {
    if (feed == FEED_READY) assert_true(json_write(log, v, NULL, NULL));
    else buf_add_fmt(log, "%u:%u %s", err->line, err->column, err->msg);
    buf_add_char(log, '\n');
}

static void drain(JsonFeed *f, Str bytes, Buf *log) {
    Feed feed;
    Value v = VALUE_GONE;
    Error err = { 0 };
    while ((feed = json_feed(f, heap, bytes, &v, &err)) != FEED_MORE) {
        note(log, feed, v, &err);
        bytes = STR("");
    }
}

static void finish(JsonFeed *f, Buf *log) {
    Feed feed;
    Value v = VALUE_GONE;
    Error err = { 0 };
    while ((feed = json_feed_end(f, heap, &v, &err)) != FEED_MORE) note(log, feed, v, &err);
}

static void check_log(Str text, const JsonRead *options, size_t a, size_t b, size_t step, const char *expected, int line) {
    JsonFeed *f = json_feed_new(options);
    Buf log = { 0 };
    if (step) {
        for (size_t i = 0; i < text.n; i += step) drain(f, str_sub(text, i, i + step), &log);
    } else {
        drain(f, str_sub(text, 0, a), &log);
        drain(f, str_sub(text, a, b), &log);
        drain(f, str_sub(text, b, text.n), &log);
    }
    finish(f, &log);
    if (!str_eq(buf_str(&log), str_from(expected)))
        fail_msg("line %d, split at %zu and %zu, step %zu:\n%s\nexpected:\n%s", line, a, b, step, buf_str(&log).at, expected);
    buf_clear(&log);
    json_feed_free(f);
}

/* The outcome must not depend on where the bytes are split. */
static void check_feed(Str text, const JsonRead *options, const char *expected, int line) {
    check_log(text, options, text.n, text.n, 0, expected, line);
    check_log(text, options, 0, 0, 1, expected, line);
    check_log(text, options, 0, 0, 3, expected, line);
    for (size_t a = 0; a <= text.n; a++)
        for (size_t b = a; b <= text.n; b += text.n > 60 ? 7 : 1) check_log(text, options, a, b, 0, expected, line);
}
#define feeds(text, expected) check_feed(STR(text), NULL, (expected), __LINE__)

static void test_documents(void **state) {
    (void)state;
    feeds("", "");
    feeds(" \n\t\r\n", "");
    feeds("{}", "{}\n");
    feeds("{\"a\":1}\n{\"b\":[2, 3]}\n", "{\"a\":1}\n{\"b\":[2,3]}\n");
    feeds("{}[]{}", "{}\n[]\n{}\n");
    feeds("1 2\n3", "1\n2\n3\n");
    feeds("-1.5e3 0 0.5 1E+2", "-1500.0\n0\n0.5\n100.0\n");
    feeds("1[2]\"a\"\"b\"true{}null", "1\n[2]\n\"a\"\n\"b\"\ntrue\n{}\nnull\n");
    feeds("true false\nnull ", "true\nfalse\nnull\n");
    feeds("\"\\\"\\\\\" \"\\u00e9\\ud83d\\ude00\"", "\"\\\"\\\\\"\n\"é😀\"\n");
    feeds("[\n1,\n{\"k\" : [ ] ,\"l\":\"日本\"}\n]\r\n[0,-0,[]]", "[1,{\"k\":[],\"l\":\"日本\"}]\n[0,0,[]]\n");
}

static void test_bad(void **state) {
    (void)state;
    feeds("x\n1\n", "1:1 json: line 1: expected a value, got 'x'\n1\n");
    feeds("{}\n {]} {}\n{\"a\":1}\n", "{}\n2:3 json: line 2: expected a key in double quotes or '}', got ']'\n{\"a\":1}\n");
    feeds("[1,\n2 3]\n4", "2:3 json: line 2: expected ',' or ']' after a value, got '3'\n4\n");
    feeds("1 é é x\n2", "1\n1:3 json: line 1: expected a value, got the byte 0xc3\n2\n");
    feeds("\"é\" ]\n2", "\"é\"\n1:5 json: line 1: expected a value, got ']'\n2\n");
    feeds("12ab\n3", "1:3 json: line 1: expected the end of the text after the value, got 'a'\n3\n");
    feeds("truefalse 1\n3", "1:5 json: line 1: expected the end of the text after the value, got 'f'\n3\n");
    feeds("01\n3", "1:1 json: line 1: a number must not start with 0\n3\n");
    feeds("[tru]\n3", "1:2 json: line 1: expected a value, got 'tru'\n3\n");
    feeds("\"a\nb\"\n", "1:3 json: line 1: control character U+000A in a string must be escaped\n"
                        "2:1 json: line 2: expected a value, got 'b'\n");
    feeds("\"\\x\"\n3", "1:2 json: line 1: unknown escape in a string: \\ before 'x'\n3\n");
    feeds("\"\\u12x\"\n3", "1:2 json: line 1: expected four hex digits after \\u\n3\n");
}

static void test_bad_content(void **state) {
    (void)state;
    feeds("[1e400]\n3", "1:2 json: line 1: number 1e400 is too large for a float\n3\n");
    feeds("\n[\"a\",\n\"\xff\"] 1\n3", "3:2 json: line 3: invalid UTF-8: byte 0xff\n3\n");
    feeds("[\"\xff\",\n5]\n3", "1:3 json: line 1: invalid UTF-8: byte 0xff\n"
                               "2:2 json: line 2: expected the end of the text after the value, got ']'\n3\n");
    feeds("\"\\ud800\"\n3", "1:2 json: line 1: lone surrogate \\ud800 in a string\n3\n");
    feeds("\xef\xbb\xbf{}\n3", "1:1 json: line 1: the text starts with a byte-order mark, which JSON does not allow\n3\n");
    feeds("[\0]\n3", "1:2 json: line 1: expected a value, got U+0000\n3\n");
    check_feed(STR("{\"a\":1,\"a\":2}\n3"), &(JsonRead){ .reject_duplicates = true }, "1:8 json: line 1: duplicate key \"a\"\n3\n", __LINE__);
    check_feed(STR("[[]]\n[[[]]]\n3"), &(JsonRead){ .max_depth = 2 }, "[[]]\n2:3 json: line 2: nested deeper than 2 levels\n3\n", __LINE__);
}

static void test_truncated(void **state) {
    (void)state;
    feeds("{\"a\":1", "1:7 json: line 1: expected ',' or '}' after a value, got the end of the text\n");
    feeds("1\n[", "1\n2:2 json: line 2: expected a value, got the end of the text\n");
    feeds("\"abc", "1:5 json: line 1: expected '\"' at the end of a string, got the end of the text\n");
    feeds("-", "1:2 json: line 1: expected a digit after '-', got the end of the text\n");
    feeds("nul", "1:1 json: line 1: expected a value, got 'nul'\n");
    feeds("\xef\xbb", "1:1 json: line 1: expected a value, got the byte 0xef\n");
}

static void test_limit(void **state) {
    (void)state;
    const JsonRead options = { .max_bytes = 8 };
    check_feed(STR("[1,2,3]\n[1,2,33]\n12345678\n\"123456\"\n"), &options, "[1,2,3]\n[1,2,33]\n12345678\n\"123456\"\n", __LINE__);
    check_feed(STR("[1,2,333]\n1\n123456789 5\n2\n\"1234567\"\n3"), &options,
               "1:9 json: line 1: the document is over the limit of 8 bytes\n1\n"
               "3:9 json: line 3: the document is over the limit of 8 bytes\n2\n"
               "5:9 json: line 5: the document is over the limit of 8 bytes\n3\n", __LINE__);
    check_feed(STR("                    1              2           \n3"), &options, "1\n2\n3\n", __LINE__);
}

/* A stream without end, fed in pieces: what has been taken does not pile up. */
static void test_bounded(void **state) {
    (void)state;
    JsonFeed *f = json_feed_new(&(JsonRead){ .max_bytes = 1000 });
    Value v;
    Error err = { 0 };
    Heap *small = heap_new(1 << 20);
    size_t documents = 0;
    for (int i = 0; i < 200000; i++) {
        Str piece = i % 2 ? STR("1,\"two\"]\n[3") : STR(",4,5,");
        for (Feed feed = json_feed(f, small, i ? piece : STR("["), &v, &err); feed != FEED_MORE; feed = json_feed(f, small, STR(""), &v, &err))
            documents += feed == FEED_READY;
        if (i % 100 == 0) heap_reset(small);
    }
    assert_true(documents > 99000);
    bool bad = false;
    for (int i = 0; i < 100000; i++) bad |= json_feed(f, small, STR("\"no newline in sight"), &v, &err) == FEED_BAD;
    assert_true(bad);
    json_feed_free(f);
    heap_free(small);
}

static void test_heap_limit(void **state) {
    (void)state;
    JsonFeed *f = json_feed_new(NULL);
    Heap *small = heap_new(64 << 10);
    Buf text = { 0 };
    buf_add_char(&text, '[');
    while (text.n < 100000) buf_add(&text, STR("\"abcdef\","));
    buf_add(&text, STR("0]\n7\n"));
    Value v;
    Error err = { 0 };
    assert_int_equal(json_feed(f, small, buf_str(&text), &v, &err), FEED_BAD);
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_int_equal(err.line, 1);
    heap_reset(small);
    assert_int_equal(json_feed(f, small, STR(""), &v, &err), FEED_READY);
    assert_int_equal(value_small(v), 7);
    assert_int_equal(json_feed_end(f, small, &v, &err), FEED_MORE);
    buf_clear(&text);
    json_feed_free(f);
    heap_free(small);
}

static void test_goes_on_after_end(void **state) {
    (void)state;
    JsonFeed *f = json_feed_new(NULL);
    Buf log = { 0 };
    drain(f, STR("?? bad"), &log);
    finish(f, &log);
    drain(f, STR("[1] 2"), &log);
    finish(f, &log);
    assert_str(buf_str(&log), "1:1 json: line 1: expected a value, got '?'\n[1]\n2\n");
    buf_clear(&log);
    json_feed_free(f);
    json_feed_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_documents, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_content, setup, teardown),
        cmocka_unit_test_setup_teardown(test_truncated, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_heap_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_goes_on_after_end, setup, teardown) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
