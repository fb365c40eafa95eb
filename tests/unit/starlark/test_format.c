#include "bench.h"

#include "starlark/vm/format.h"

typedef struct { const char *format, *args, *want; } Case;

/* args is JSON; a list means a tuple. A result that starts with '!' is an error. */
static const Case percent[] = {
    { "plain", "[]", "plain" }, { "", "[]", "" }, { "%s", "\"a\"", "a" }, { "%r", "\"a\"", "\"a\"" },
    { "%s %s", "[1, \"x\"]", "1 x" }, { "%s", "[[1, \"x\"]]", "[1, \"x\"]" }, { "%s", "{\"a\": 1}", "{\"a\": 1}" },
    { "%d%%", "[50]", "50%" }, { "%%", "[]", "%" }, { "%d", "[-3.9]", "-3" }, { "%i", "[7]", "7" },
    { "%d", "[123456789012345678901234567890]", "123456789012345678901234567890" },
    { "%o %x %X", "[8, 255, 255]", "10 ff FF" }, { "%x", "[-255]", "-ff" },
    { "%X", "[1311768467463790320000]", "471C71C71C71C6D980" },
    { "%e %f %g", "[1, 1.5, 2]", "1.000000e+00 1.500000 2.0" }, { "%E %F %G", "[1, 1.5, 1e100]", "1.000000E+00 1.500000 1E+100" },
    { "%c%c%c", "[65, 945, \"é\"]", "Aαé" }, { "%c", "[55296]", "\xef\xbf\xbd" },
    { "%(a)s-%(b)d", "{\"a\": \"x\", \"b\": 2}", "x-2" }, { "no keys", "{\"a\": 1}", "no keys" }, { "%s", "[null]", "None" },
    { "%(a)s", "[1]", "!format requires a mapping" }, { "%(a", "{\"a\": 1}", "!incomplete format key" },
    { "%(b)s", "{\"a\": 1}", "!key not found: b" }, { "%(a)", "{\"a\": 1}", "!incomplete format" },
    { "%s", "[]", "!not enough arguments for format string" }, { "%s%s", "1", "!not enough arguments for format string" },
    { "x", "[1]", "!too many arguments for format string" }, { "x", "1", "!too many arguments for format string" },
    { "%", "[1]", "!incomplete format" }, { "%", "[]", "!not enough arguments for format string" },
    { "%y", "[1]", "!unknown conversion %y" }, { "%5d", "[1]", "!unknown conversion %5" }, { "%\xc3\xa9", "[1]", "!unknown conversion %Ã" },
    { "%d", "[\"x\"]", "!%d format requires integer: cannot convert string to int" },
    { "%f", "[\"x\"]", "!%f format requires float, not string" },
    { "%c", "[\"ab\"]", "!%c format requires a single-character string" }, { "%c", "[\"\"]", "!%c format requires a single-character string" },
    { "%c", "[1.0]", "!%c format requires int or single-character string, not float" },
    { "%c", "[1114112]", "!%c format requires a valid Unicode code point, got 1114112" },
    { "%c", "[-1]", "!%c format requires a valid Unicode code point, got -1" },
};

static void check(Bench *b, const char *what, bool ok, Value out, const Error *err, const char *want) {
    if (want[0] == '!') {
        if (ok) fail_msg("%s: no error, got %s", what, bench_repr(b, out));
        bench_expect(what, err->msg, want + 1);
        return;
    }
    if (!ok) fail_msg("%s: %s", what, err->msg);
    bench_expect(what, value_string(out)->at, want);
}

static void test_percent(void **state) {
    (void)state;
    Bench b = bench_new(0);
    for (size_t i = 0; i < sizeof percent / sizeof *percent; i++) {
        Value args = bench_json(&b, percent[i].args), out = VALUE_NONE;
        if (value_is_list(args)) args = bench_tuple(&b, args);
        Error err = { 0 };
        bool ok = format_percent(b.vm, value_string(bench_string(&b, percent[i].format)), args, &out, &err);
        check(&b, percent[i].format, ok, out, &err, percent[i].want);
    }
    bench_free(&b);
}

/* Each is called with the positional arguments in args and with name="N", n=1. */
static const Case method[] = {
    { "", "[]", "" }, { "x", "[]", "x" }, { "a{}b", "[1]", "a1b" }, { "{}{}", "[1, \"x\"]", "1x" }, { "{1}{0}{1}", "[1, 2]", "212" },
    { "{name}/{n}", "[]", "N/1" }, { "{{}}", "[]", "{}" }, { "{{{}}}", "[1]", "{1}" }, { "{!r}", "[\"a\"]", "\"a\"" },
    { "{!s}", "[\"a\"]", "a" }, { "{0!r}{name!r}", "[\"a\"]", "\"a\"\"N\"" }, { "{}", "[[\"a\"]]", "[\"a\"]" }, { "{:}", "[1]", "1" },
    { "}", "[]", "!single '}' in format" }, { "a}b", "[]", "!single '}' in format" }, { "{", "[1]", "!unmatched '{' in format" },
    { "{0", "[1]", "!unmatched '{' in format" }, { "{}{1}", "[1, 2]",
      "!cannot switch from automatic field numbering to manual field specification" },
    { "{1}{}", "[1, 2]", "!cannot switch from manual field specification to automatic field numbering" },
    { "{}", "[]", "!tuple index out of range" }, { "{2}", "[1, 2]", "!tuple index out of range" },
    { "{99999999999999999999}", "[]", "!keyword 99999999999999999999 not found" },
    { "{x}", "[]", "!keyword x not found" }, { "{a.b}", "[]", "!attribute syntax x.y is not supported in replacement fields: a.b" },
    { "{a[0]}", "[]", "!element syntax a[i] is not supported in replacement fields: a[0]" },
    { "{a{}}", "[]", "!nested replacement fields not supported" },
    { "{:>5}", "[1]", "!format spec features not supported in replacement fields: >5" }, { "{!x}", "[1]", "!unknown conversion \"x\"" },
    { "{!}", "[1]", "!unknown conversion \"\"" }, { "{!r:x}", "[1]", "!format spec features not supported in replacement fields: x" },
};

static void test_method(void **state) {
    (void)state;
    Bench b = bench_new(0);
    NativeNamed named[] = { { value_string(bench_string(&b, "name")), bench_string(&b, "N") },
                            { value_string(bench_string(&b, "n")), value_from_small(1) } };
    for (size_t i = 0; i < sizeof method / sizeof *method; i++) {
        List *list = value_list(bench_json(&b, method[i].args));
        NativeArgs a = { .self = bench_string(&b, method[i].format), .at = list->at, .n = list->n, .named = named, .n_named = 2 };
        Error err = { 0 };
        Value out = VALUE_NONE;
        bool ok = format_method(b.vm, &a, &out, &err);
        check(&b, method[i].format, ok, out, &err, method[i].want);
    }
    bench_free(&b);
}

/* A result that does not fit the heap fails before it is built. */
static void test_limit(void **state) {
    (void)state;
    Bench b = bench_new(4 << 20);
    Error err = { 0 };
    Buf format = { 0 }, json = { 0 };
    buf_add_char(&json, '[');
    for (int i = 0; i < 1000; i++) {
        buf_add(&format, STR("%s"));
        buf_add(&json, i ? STR(",null") : STR("null"));
    }
    buf_add_char(&json, ']');
    Value args = bench_tuple(&b, bench_json(&b, json.at)), out;
    char *at;
    String *big = string_room(b.heap, 100000, &at, &err);
    memset(at, 'x', 100000);
    for (int i = 0; i < 1000; i++) value_tuple(args)->at[i] = value_from_object(big);
    assert_false(format_percent(b.vm, value_string(bench_string(&b, format.at)), args, &out, &err));
    assert_int_equal(err.kind, ERR_LIMIT);
    buf_clear(&format);
    buf_clear(&json);
    bench_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_percent), cmocka_unit_test(test_method), cmocka_unit_test(test_limit) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
