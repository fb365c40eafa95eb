#include "unit.h"
#include <math.h>
#include "base/cancel.h"
#include "value/int.h"
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

static Value read_ok(Str text, const JsonRead *options) {
    Value v = VALUE_GONE;
    Error err = { 0 };
    if (!json_read(heap, text, options, &v, &err)) fail_msg("\"%.*s\": %s", STR_ARG(text), err.msg);
    return v;
}

/* Reads the text and compares its compact form. */
static void check_as(Str text, const char *expected, int line) {
    Buf out = { 0 };
    Error err = { 0 };
    if (!json_write(&out, read_ok(text, NULL), NULL, &err)) fail_msg("line %d: %s", line, err.msg);
    if (!str_eq(buf_str(&out), str_from(expected))) fail_msg("line %d: %s != %s", line, out.at, expected);
    buf_clear(&out);
}
#define reads_as(text, expected) check_as(STR(text), expected, __LINE__)

static void test_values(void **state) {
    (void)state;
    reads_as("null", "null");
    reads_as(" \t\r\n true \n", "true");
    reads_as("false", "false");
    reads_as("[]", "[]");
    reads_as("{}", "{}");
    reads_as("[ ]", "[]");
    reads_as("{ }", "{}");
    reads_as("[1, [2, [3, []]], {}]", "[1,[2,[3,[]]],{}]");
    reads_as("{\"a\" : {\"b\": [true , null]} , \"c\":\"d\"}", "{\"a\":{\"b\":[true,null]},\"c\":\"d\"}");
    assert_true(value_is_none(read_ok(STR("null"), NULL)));
    assert_int_equal(value_list(read_ok(STR("[1,2,3]"), NULL))->n, 3);
}

static void test_ints(void **state) {
    (void)state;
    reads_as("0", "0");
    reads_as("-0", "0");
    reads_as("-7", "-7");
    static const char *const digits[] = {
        "999999999999999", "562949953421311", "562949953421312", "-562949953421312", "-562949953421313",
        "999999999999999999", "-999999999999999999", "1000000000000000000", "9223372036854775807", "-9223372036854775808",
        "18446744073709551616", "123456789012345678901234567890", "-123456789012345678901234567890" };
    for (size_t i = 0; i < sizeof digits / sizeof *digits; i++) check_as(str_from(digits[i]), digits[i], __LINE__);
    assert_true(value_is_small(read_ok(STR("562949953421311"), NULL)));
    assert_false(value_is_small(read_ok(STR("562949953421312"), NULL)));
}

static void test_long_ints(void **state) {
    (void)state;
    enum { DIGITS = 100000, TOO_MANY = 200000 };
    char *text = malloc(TOO_MANY + 1);
    memset(text, '7', TOO_MANY);
    text[DIGITS] = 0;
    check_as((Str){ text, DIGITS }, text, __LINE__);
    text[DIGITS] = '7';
    Value v;
    Error err = { 0 };
    assert_false(json_read(heap, (Str){ text, TOO_MANY }, NULL, &v, &err));
    assert_non_null(strstr(err.msg, "json: line 1: int too large"));
    assert_int_equal(err.kind, ERR_LIMIT);
    free(text);
}

static void test_floats(void **state) {
    (void)state;
    reads_as("1.0", "1.0");
    reads_as("-0.0", "-0.0");
    reads_as("1e2", "100.0");
    reads_as("1E+2", "100.0");
    reads_as("15e-1", "1.5");
    reads_as("0.1", "0.1");
    reads_as("0e999999999999", "0.0");
    reads_as("1e-400", "0.0");
    reads_as("3.141592653589793", "3.141592653589793");
    reads_as("1.7976931348623157e308", "1.7976931348623157e+308");
    reads_as("5e-324", "5e-324");
    reads_as("9007199254740993.0", "9007199254740992.0");
    reads_as("123456789012345678901234567890.0", "1.2345678901234568e+29");
    reads_as("0.000000000000000000000000000001", "1e-30");
    reads_as("100000000000000000000000000000000e-32", "1.0");
    static const struct { const char *text; double value; } exact[] = {
        { "1.5", 1.5 }, { "2.2250738585072014e-308", 2.2250738585072014e-308 }, { "8.41e21", 8.41e21 },
        { "9007199254740991e22", 9007199254740991e22 }, { "-1234.5678e-10", -1234.5678e-10 }, { "6.02214076e23", 6.02214076e23 } };
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        assert_true(value_float(read_ok(str_from(exact[i].text), NULL)) == exact[i].value);
}

static void test_strings(void **state) {
    (void)state;
    static const struct { Str text, value; } cases[] = {
        { STR("\"\""), STR("") },
        { STR("\"a\""), STR("a") },
        { STR("\"exactly sixteen.\""), STR("exactly sixteen.") },
        { STR("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), STR("\"\\/\b\f\n\r\t") },
        { STR("\"\\u0041\\u00e9\\u20AC\\ud83d\\uDE00\""), STR("Aé€😀") },
        { STR("\"a\\u0000b\""), STR("a\0b") },
        { STR("\"\x7f\""), STR("\x7f") },
        { STR("\"naïve 日本語 😀\""), STR("naïve 日本語 😀") },
        { STR("\"long enough for a block, then \\\\ and é and \\n, and on again to the end\""),
          STR("long enough for a block, then \\ and é and \n, and on again to the end") },
        { STR("\"\\ufffe\\uffff\\udbff\\udfff\""), STR("\xef\xbf\xbe\xef\xbf\xbf\xf4\x8f\xbf\xbf") } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Str got = value_str(read_ok(cases[i].text, NULL));
        if (!str_eq(got, cases[i].value)) fail_msg("%.*s gave \"%.*s\"", STR_ARG(cases[i].text), STR_ARG(got));
    }
}

/* Every length and every position of a special character, so that every scanning path is used. */
static void test_string_lengths(void **state) {
    (void)state;
    static const struct { const char *raw, *value; } special[] = { { "x", "x" }, { "\\n", "\n" }, { "é", "é" }, { "\\\"", "\"" } };
    for (size_t s = 0; s < 4; s++)
        for (size_t n = 0; n < 70; n++)
            for (size_t at = 0; at <= n; at++) {
                char fill[80], text[160], value[160];
                memset(fill, 'a', sizeof fill);
                snprintf(text, sizeof text, "\"%.*s%s%.*s\"", (int)at, fill, special[s].raw, (int)(n - at), fill);
                snprintf(value, sizeof value, "%.*s%s%.*s", (int)at, fill, special[s].value, (int)(n - at), fill);
                assert_str(value_str(read_ok(str_from(text), NULL)), value);
            }
}

/* An allocation of exactly n bytes, so that a sanitizer detects reads beyond it. */
static char *exact_copy(const char *at, size_t n) {
    char *copy = malloc(n ? n : 1);
    memcpy(copy, at, n);
    return copy;
}

typedef struct { Str text; uint32_t line, column; const char *msg; } Bad;

static void check_bad(const Bad *bad, size_t n, const JsonRead *options) {
    for (size_t i = 0; i < n; i++) {
        Value v = VALUE_TRUE;
        Error err = { 0 };
        char *copy = exact_copy(bad[i].text.at, bad[i].text.n);
        if (json_read(heap, (Str){ copy, bad[i].text.n }, options, &v, &err)) fail_msg("case %zu was read: %.*s", i, STR_ARG(bad[i].text));
        if (strcmp(err.msg, bad[i].msg) != 0 || err.line != bad[i].line || err.column != bad[i].column)
            fail_msg("case %zu: %u:%u %s, expected %u:%u %s", i, err.line, err.column, err.msg, bad[i].line, bad[i].column, bad[i].msg);
        assert_true(value_same(v, VALUE_TRUE));         /* out is written only on success */
        assert_false(json_read(heap, (Str){ copy, bad[i].text.n }, options, &v, NULL));
        free(copy);
    }
}

static void test_bad(void **state) {
    (void)state;
    static const Bad bad[] = {
        { STR(""), 1, 1, "json: line 1: the text is empty, expected a value" },
        { STR(" \n "), 2, 2, "json: line 2: the text is empty, expected a value" },
        { STR("\xef\xbb\xbf{}"), 1, 1, "json: line 1: the text starts with a byte-order mark, which JSON does not allow" },
        { STR("{\n\"a\": 1\n]"), 3, 1, "json: line 3: expected ',' or '}' after a value, got ']'" },
        { STR("[1 2]"), 1, 4, "json: line 1: expected ',' or ']' after a value, got '2'" },
        { STR("[1,"), 1, 4, "json: line 1: expected a value, got the end of the text" },
        { STR("[1"), 1, 3, "json: line 1: expected ',' or ']' after a value, got the end of the text" },
        { STR("[1,]"), 1, 4, "json: line 1: expected a value, got ']'" },
        { STR("[,1]"), 1, 2, "json: line 1: expected a value, got ','" },
        { STR("{\"a\":1,}"), 1, 8, "json: line 1: expected a key in double quotes after ',', got '}'" },
        { STR("{a:1}"), 1, 2, "json: line 1: expected a key in double quotes or '}', got 'a'" },
        { STR("{'a':1}"), 1, 2, "json: line 1: expected a key in double quotes or '}', got a single quote" },
        { STR("{\"a\" 1}"), 1, 6, "json: line 1: expected ':' after a key, got '1'" },
        { STR("{\"a\":}"), 1, 6, "json: line 1: expected a value, got '}'" },
        { STR("{\"a\""), 1, 5, "json: line 1: expected ':' after a key, got the end of the text" },
        { STR("1 2"), 1, 3, "json: line 1: expected the end of the text after the value, got '2'" },
        { STR("[]]"), 1, 3, "json: line 1: expected the end of the text after the value, got ']'" },
        { STR("]"), 1, 1, "json: line 1: expected a value, got ']'" },
        { STR("NaN"), 1, 1, "json: line 1: expected a value, got 'NaN'" },
        { STR("tru"), 1, 1, "json: line 1: expected a value, got 'tru'" },
        { STR("truex"), 1, 5, "json: line 1: expected the end of the text after the value, got 'x'" },
        { STR("// no"), 1, 1, "json: line 1: expected a value, got '/'" },
        { STR("[1,\0]"), 1, 4, "json: line 1: expected a value, got U+0000" },
        { STR("[\x01]"), 1, 2, "json: line 1: expected a value, got U+0001" },
        { STR("[é]"), 1, 2, "json: line 1: expected a value, got U+00E9" },
        { STR("[\xff]"), 1, 2, "json: line 1: expected a value, got the byte 0xff" },
        { STR("\v1"), 1, 1, "json: line 1: expected a value, got U+000B" } };
    check_bad(bad, sizeof bad / sizeof *bad, NULL);
}

static void test_bad_strings(void **state) {
    (void)state;
    static const Bad bad[] = {
        { STR("\"abc"), 1, 5, "json: line 1: expected '\"' at the end of a string, got the end of the text" },
        { STR("\"abc\\"), 1, 6, "json: line 1: expected '\"' at the end of a string, got the end of the text" },
        { STR("\"abc\\\""), 1, 7, "json: line 1: expected '\"' at the end of a string, got the end of the text" },
        { STR("\"a\nb\""), 1, 3, "json: line 1: control character U+000A in a string must be escaped" },
        { STR("\"a\0b\""), 1, 3, "json: line 1: control character U+0000 in a string must be escaped" },
        { STR("[\n\"é\x1f\"]"), 2, 3, "json: line 2: control character U+001F in a string must be escaped" },
        { STR("\"a\\x41\""), 1, 3, "json: line 1: unknown escape in a string: \\ before 'x41'" },
        { STR("\"a\\\n\""), 1, 3, "json: line 1: unknown escape in a string: \\ before U+000A" },
        { STR("\"\\u12g4\""), 1, 2, "json: line 1: expected four hex digits after \\u" },
        { STR("\"\\u12\""), 1, 2, "json: line 1: expected four hex digits after \\u" },
        { STR("\"é\\ud800\""), 1, 3, "json: line 1: lone surrogate \\ud800 in a string" },
        { STR("\"\\ud800x\""), 1, 2, "json: line 1: lone surrogate \\ud800 in a string" },
        { STR("\"\\ud800\\u0041\""), 1, 2, "json: line 1: lone surrogate \\ud800 in a string" },
        { STR("\"\\ud800\\ud800\""), 1, 2, "json: line 1: lone surrogate \\ud800 in a string" },
        { STR("\"\\udc00\""), 1, 2, "json: line 1: lone surrogate \\udc00 in a string" },
        { STR("\"aé\xff\""), 1, 4, "json: line 1: invalid UTF-8: byte 0xff" },
        { STR("\"\xed\xa0\x80\""), 1, 2, "json: line 1: invalid UTF-8: byte 0xed" },
        { STR("\"\xc0\xaf\""), 1, 2, "json: line 1: invalid UTF-8: byte 0xc0" },
        { STR("\"\xe2\x82\""), 1, 2, "json: line 1: invalid UTF-8: byte 0xe2" },
        { STR("\"\xe2\x82"), 1, 2, "json: line 1: invalid UTF-8: byte 0xe2" },
        { STR("{\"k\xfe\":1}"), 1, 4, "json: line 1: invalid UTF-8: byte 0xfe" } };
    check_bad(bad, sizeof bad / sizeof *bad, NULL);
}

static void test_bad_numbers(void **state) {
    (void)state;
    static const Bad bad[] = {
        { STR("-"), 1, 2, "json: line 1: expected a digit after '-', got the end of the text" },
        { STR("-a"), 1, 2, "json: line 1: expected a digit after '-', got 'a'" },
        { STR("+1"), 1, 1, "json: line 1: expected a value, got '+'" },
        { STR(".5"), 1, 1, "json: line 1: expected a value, got '.'" },
        { STR("01"), 1, 1, "json: line 1: a number must not start with 0" },
        { STR("-01"), 1, 2, "json: line 1: a number must not start with 0" },
        { STR("00.5"), 1, 1, "json: line 1: a number must not start with 0" },
        { STR("1."), 1, 3, "json: line 1: expected a digit after '.', got the end of the text" },
        { STR("1.e5"), 1, 3, "json: line 1: expected a digit after '.', got 'e5'" },
        { STR("1e"), 1, 3, "json: line 1: expected a digit in the exponent, got the end of the text" },
        { STR("1e+"), 1, 4, "json: line 1: expected a digit in the exponent, got the end of the text" },
        { STR("1.5e-x"), 1, 6, "json: line 1: expected a digit in the exponent, got 'x'" },
        { STR("[1e400]"), 1, 2, "json: line 1: number 1e400 is too large for a float" },
        { STR("[\n -1e400]"), 2, 2, "json: line 2: number -1e400 is too large for a float" },
        { STR("1234567890123456789012345678901234567890.1e999"), 1, 1,
          "json: line 1: number 1234567890123456789012345678901234567890… is too large for a float" },
        { STR("0x10"), 1, 2, "json: line 1: expected the end of the text after the value, got 'x10'" } };
    check_bad(bad, sizeof bad / sizeof *bad, NULL);
}

static void test_duplicates(void **state) {
    (void)state;
    reads_as("{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}");
    reads_as("{\"a\":1,\"\\u0061\":2}", "{\"a\":2}");
    static const Bad bad[] = {
        { STR("{\"a\":1,\n \"b\":2,\n  \"a\":3}"), 3, 3, "json: line 3: duplicate key \"a\"" },
        { STR("[{\"é\\n\":1, \"é\\n\":2}]"), 1, 12, "json: line 1: duplicate key \"é\\n\"" },
        { STR("{\"a\x7f\":1,\"a\x7f\":2}"), 1, 9, "json: line 1: duplicate key \"a?\"" } };
    check_bad(bad, 2, &(JsonRead){ .reject_duplicates = true });
    read_ok(STR("{\"a\":{\"a\":1},\"b\":{\"a\":1}}"), &(JsonRead){ .reject_duplicates = true });
}

/* Expected keys come from the list; other, longer and shorter ones are read normally. */
static void test_keys(void **state) {
    (void)state;
    JsonKeys *keys = json_keys_new((const char *const[]){ "id", "jsonrpc", "params", "a", "", "a key that is longer than sixteen bytes", NULL });
    const JsonRead options = { .keys = keys, .reject_duplicates = true };
    Value v = read_ok(STR("{\"jsonrpc\":1,\"id\":{\"id\":2,\"i\":3,\"ids\":4},\"\":5,\"a key that is longer than sixteen bytes\":6,\"a key that is longer than sixteen byte!\":7,\"\\u0061\":8}"),
                      &options);
    Buf out = { 0 };
    assert_true(json_write(&out, v, NULL, NULL));
    assert_string_equal(out.at, "{\"jsonrpc\":1,\"id\":{\"id\":2,\"i\":3,\"ids\":4},\"\":5,\"a key that is longer than sixteen bytes\":6,"
                                "\"a key that is longer than sixteen byte!\":7,\"a\":8}");
    const Dict *d = value_dict(v), *inner = value_dict(value_member(v, "id"));
    assert_true(value_same(d->entry[1].key, inner->entry[0].key));
    assert_int_equal(value_small(value_member(v, "a")), 8);
    Error err = { 0 };
    assert_false(json_read(heap, STR("{\"id\":1,\n\"id\":2}"), &options, &v, &err));
    assert_string_equal(err.msg, "json: line 2: duplicate key \"id\"");
    assert_int_equal(err.column, 1);
    buf_clear(&out);
    json_keys_free(keys);
}

/* Many keys, each twice: large dicts go another way than small ones. */
static void test_many_keys(void **state) {
    (void)state;
    for (size_t n = 1; n < 600; n += n < 20 ? 1 : 97) {
        Buf text = { 0 };
        buf_add_char(&text, '{');
        for (size_t i = 0; i < n * 2; i++) buf_add_fmt(&text, "%s\"key%zu\":%zu", i ? "," : "", i % n, i);
        buf_add_char(&text, '}');
        Dict *d = value_dict(read_ok(buf_str(&text), NULL));
        assert_int_equal(d->n, n);
        for (size_t i = 0; i < n; i++) {
            char key[16];
            snprintf(key, sizeof key, "key%zu", i);
            Value *v = dict_find_str(d, str_from(key));
            assert_non_null(v);
            assert_int_equal(value_small(*v), i + n);
            assert_int_equal(dict_index_str(d, str_from(key)), i);
        }
        Error err = { 0 };
        Value v;
        assert_false(json_read(heap, buf_str(&text), &(JsonRead){ .reject_duplicates = true }, &v, &err));
        assert_non_null(strstr(err.msg, "duplicate key \"key0\""));
        buf_clear(&text);
    }
}

static void test_depth(void **state) {
    (void)state;
    enum { DEEP = 10 << 20 };
    char *text = malloc(DEEP);
    memset(text, '[', DEEP / 2);
    memset(text + DEEP / 2, ']', DEEP / 2);
    read_ok((Str){ text + DEEP / 2 - 512, 1024 }, NULL);
    Value v;
    Error err = { 0 };
    assert_false(json_read(heap, (Str){ text + DEEP / 2 - 513, 1026 }, NULL, &v, &err));
    assert_string_equal(err.msg, "json: line 1: nested deeper than 512 levels");
    assert_int_equal(err.column, 513);
    size_t before = heap_stats(heap).used;
    assert_false(json_read(heap, (Str){ text, DEEP }, NULL, &v, &err));
    assert_string_equal(err.msg, "json: line 1: nested deeper than 512 levels");
    assert_true(heap_stats(heap).used - before < 100000);
    for (size_t i = 0; i < DEEP; i += 5) memcpy(text + i, "{\"a\":", DEEP - i < 5 ? DEEP - i : 5);
    assert_false(json_read(heap, (Str){ text, DEEP }, NULL, &v, &err));
    assert_string_equal(err.msg, "json: line 1: nested deeper than 512 levels");
    assert_false(json_read(heap, STR("[[[]]]"), &(JsonRead){ .max_depth = 2 }, &v, &err));
    assert_int_equal(err.column, 3);
    read_ok(STR("[[],{}]"), &(JsonRead){ .max_depth = 2 });
    free(text);
}

static void test_limits(void **state) {
    (void)state;
    Value v;
    Error err = { 0 };
    read_ok(STR("[1,2]"), &(JsonRead){ .max_bytes = 5 });
    assert_false(json_read(heap, STR("[1,2] "), &(JsonRead){ .max_bytes = 5 }, &v, &err));
    assert_string_equal(err.msg, "json: text of 6 bytes is over the limit of 5");
    assert_int_equal(err.kind, ERR_LIMIT);

    static const char *const piece[] = { "1,", "\"twelve bytes\",", "[],", "{\"a\":[]},", "1.5," };
    for (size_t p = 0; p < sizeof piece / sizeof *piece; p++) {
        Buf text = { 0 };
        buf_add_char(&text, '[');
        while (text.n < 2 << 20) buf_add(&text, str_from(piece[p]));
        buf_add(&text, STR("0]"));
        Heap *small = heap_new(1 << 20);
        assert_false(json_read(small, buf_str(&text), NULL, &v, &err));
        assert_int_equal(err.kind, ERR_LIMIT);
        assert_string_equal(err.msg, "json: line 1: heap limit of 1048576 bytes reached");
        assert_true(err.column > 1);
        assert_true(heap_stats(small).used <= 1 << 20);
        heap_free(small);
        buf_clear(&text);
    }
}

static void test_truncated(void **state) {
    (void)state;
    Str text = STR("{\"a\": [1, -2.5e+3, \"x\\u00e9\\n\", true, false, null, {}], \"b\": {\"c\": \"日本\"}}");
    read_ok(text, NULL);
    for (size_t n = 0; n < text.n; n++) {
        char *copy = exact_copy(text.at, n);
        Value v;
        Error err = { 0 };
        assert_false(json_read(heap, (Str){ copy, n }, NULL, &v, &err));
        assert_true(err.line == 1 && err.column >= 1);
        assert_null(strchr(err.msg, '\n'));
        free(copy);
    }
}

static void test_cancel(void **state) {
    (void)state;
    Buf text = { 0 };
    buf_add_char(&text, '[');
    for (int i = 0; i < 20000; i++) buf_add(&text, STR("1,"));
    buf_add(&text, STR("1]"));
    Cancel *cancel = cancel_new(NULL, 0);
    JsonRead options = { .cancel = cancel };
    read_ok(buf_str(&text), &options);
    cancel_fire(cancel);
    Value v;
    Error err = { 0 };
    assert_false(json_read(heap, buf_str(&text), &options, &v, &err));
    assert_int_equal(err.kind, ERR_CANCELLED);
    cancel_free(cancel);
    buf_clear(&text);
}

static void test_names(void **state) {
    (void)state;
    Error err = { 0 };
    Dict *names = dict_new(heap, 0, &err);
    JsonRead options = { .names = names };
    Dict *a = value_dict(read_ok(STR("{\"key\":1,\"\\u006bey2\":2}"), &options));
    Dict *b = value_dict(read_ok(STR("{\"key2\":1,\"key\":2}"), &options));
    assert_true(value_same(a->entry[0].key, b->entry[1].key));
    assert_true(value_same(a->entry[1].key, b->entry[0].key));
    assert_int_equal(names->n, 2);
}

static void check_place(bool known, Place got, uint32_t line, uint32_t column) {
    assert_true(known);
    assert_int_equal(got.line, line);
    assert_int_equal(got.column, column);
}

static void test_places(void **state) {
    (void)state;
    Places *places = places_new();
    Value root = read_ok(STR("\n {\"é\": [10,\n  {\"x\": 1}],\n\"b\": \"日\", \"c\": null, \"b\": 2}"), &(JsonRead){ .places = places });
    Place p;
    check_place(true, places_root(places), 2, 2);
    check_place(places_key(places, root, 0, &p), p, 2, 3);
    check_place(places_value(places, root, 0, &p), p, 2, 8);
    Value list = value_dict(root)->entry[0].value;
    assert_false(places_key(places, list, 0, &p));
    check_place(places_value(places, list, 0, &p), p, 2, 9);
    check_place(places_value(places, list, 1, &p), p, 3, 3);
    check_place(places_field(places, value_list(list)->at[1], STR("x"), &p), p, 3, 4);
    check_place(places_field(places, root, STR("c"), &p), p, 4, 11);
    check_place(places_field(places, root, STR("b"), &p), p, 4, 22);        /* the last of equal keys wins */
    check_place(places_value(places, root, 1, &p), p, 4, 27);
    places_free(places);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_values, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ints, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_ints, setup, teardown),
        cmocka_unit_test_setup_teardown(test_floats, setup, teardown),
        cmocka_unit_test_setup_teardown(test_strings, setup, teardown),
        cmocka_unit_test_setup_teardown(test_string_lengths, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_strings, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_numbers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_duplicates, setup, teardown),
        cmocka_unit_test_setup_teardown(test_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(test_depth, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_truncated, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cancel, setup, teardown),
        cmocka_unit_test_setup_teardown(test_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_places, setup, teardown) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
