#include "bench.h"

#include <math.h>
#include "starlark/vm/view.h"
#include "value/int.h"
#include "value/range.h"

static void test_strings(void **state) {
    (void)state;
    static const struct { Str in; const char *want; } cases[] = {
        { STR(""), "\"\"" }, { STR("abc"), "\"abc\"" }, { STR("a\"b\\c'"), "\"a\\\"b\\\\c'\"" },
        { STR("\a\b\f\n\r\t\v"), "\"\\a\\b\\f\\n\\r\\t\\v\"" }, { STR("\0\x1b\x7f"), "\"\\x00\\x1b\\x7f\"" },
        { STR("é世😿"), "\"é世😿\"" }, { STR("\xff"), "\"\\xff\"" }, { STR("a\xe4\xb8"), "\"a\\xe4\\xb8\"" },
        { STR("\u00ad\u200b\u2028\U000e0001"), "\"\\u00ad\\u200b\\u2028\\U000e0001\"" }, { STR("\u00a0"), "\"\\u00a0\"" },
        { STR("\xed\xa0\x80"), "\"\\xed\\xa0\\x80\"" }, { STR("\xef\xbf\xbd"), "\"\xef\xbf\xbd\"" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Buf b = { 0 };
        repr_string(&b, cases[i].in);
        assert_str(buf_str(&b), cases[i].want);
        buf_reset(&b);
        repr_bytes(&b, cases[i].in);
        assert_int_equal(b.at[0], 'b');
        assert_str(str_sub(buf_str(&b), 1, b.n), cases[i].want);
        buf_clear(&b);
    }
}

static void test_floats(void **state) {
    (void)state;
    static const struct { double d; const char *g, *e, *f; } cases[] = {
        { 0, "0.0", "0.000000e+00", "0.000000" }, { -0.0, "-0.0", "-0.000000e+00", "-0.000000" },
        { 1, "1.0", "1.000000e+00", "1.000000" }, { -1.5, "-1.5", "-1.500000e+00", "-1.500000" },
        { 100000, "100000.0", "1.000000e+05", "100000.000000" }, { 1e6, "1e+06", "1.000000e+06", "1000000.000000" },
        { 123456789, "1.23456789e+08", "1.234568e+08", "123456789.000000" },
        { 1e20, "1e+20", "1.000000e+20", "100000000000000000000.000000" },
        { 1e-4, "0.0001", "1.000000e-04", "0.000100" }, { 1e-5, "1e-05", "1.000000e-05", "0.000010" },
        { 0.1, "0.1", "1.000000e-01", "0.100000" }, { 123.456, "123.456", "1.234560e+02", "123.456000" },
        { 0.5e-6, "5e-07", "5.000000e-07", "0.000000" }, { 1.5e-6, "1.5e-06", "1.500000e-06", "0.000002" },
        { 0.0000005000001, "5.000001e-07", "5.000001e-07", "0.000001" }, { 2.5, "2.5", "2.500000e+00", "2.500000" },
        { 0.9999999, "0.9999999", "9.999999e-01", "1.000000" }, { 5e-324, "5e-324", "4.940656e-324", "0.000000" },
        { 1.7976931348623157e308, "1.7976931348623157e+308", "1.797693e+308", NULL },
        { INFINITY, "+inf", "+inf", "+inf" }, { -INFINITY, "-inf", "-inf", "-inf" }, { NAN, "nan", "nan", "nan" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Buf b = { 0 };
        repr_float(&b, cases[i].d);
        assert_str(buf_str(&b), cases[i].g);
        buf_reset(&b);
        assert_true(repr_format_float(&b, 'e', cases[i].d));
        assert_str(buf_str(&b), cases[i].e);
        buf_reset(&b);
        assert_true(repr_format_float(&b, 'F', cases[i].d));
        if (cases[i].f) assert_str(buf_str(&b), cases[i].f);
        else assert_int_equal(b.n, 309 + 7);
        buf_clear(&b);
    }
    Buf b = { 0 };
    assert_true(repr_format_float(&b, 'G', 1e100) && repr_format_float(&b, 'E', 2));
    assert_str(buf_str(&b), "1E+1002.000000E+00");
    assert_false(repr_format_float(&b, 'd', 1));
    buf_clear(&b);
}

/* Compares our %f with that of the C library, which is exact too. */
static void test_fixed(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 200000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double d = (double)(int64_t)(seed >> 11) / (double)((uint64_t)1 << (seed % 70 % 64)) * (seed & 1024 ? 1 : -1);
        if (i % 3 == 0) d = (double)(seed >> 40) / 128;   /* many of them are ties */
        if (i % 7 == 0) d = (double)(seed >> 44) / 64 / 1048576;
        char want[400];
        snprintf(want, sizeof want, "%.6f", d);
        Buf b = { 0 };
        repr_format_float(&b, 'f', d);
        assert_str(buf_str(&b), want);
        buf_clear(&b);
    }
}

static void test_values(void **state) {
    (void)state;
    static const struct { const char *json, *want; } cases[] = {
        { "null", "None" }, { "true", "True" }, { "false", "False" }, { "-7", "-7" }, { "\"x\"", "\"x\"" },
        { "123456789012345678901234567890", "123456789012345678901234567890" },
        { "[]", "[]" }, { "[1]", "[1]" }, { "[1, \"a\", [null]]", "[1, \"a\", [None]]" }, { "{}", "{}" },
        { "{\"a\": 1, \"b\": [2.0, {}]}", "{\"a\": 1, \"b\": [2.0, {}]}" },
    };
    Bench b = bench_new(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        bench_expect(cases[i].json, bench_repr(&b, bench_json(&b, cases[i].json)), cases[i].want);
    bench_free(&b);
}

static void test_other_types(void **state) {
    (void)state;
    Bench b = bench_new(0);
    Error err = { 0 };
    Value r;
    bench_expect("()", bench_repr(&b, bench_tuple(&b, bench_json(&b, "[]"))), "()");
    bench_expect("(1,)", bench_repr(&b, bench_tuple(&b, bench_json(&b, "[1]"))), "(1,)");
    bench_expect("(1, [2])", bench_repr(&b, bench_tuple(&b, bench_json(&b, "[1, [2]]"))), "(1, [2])");
    assert_true(range_new(b.heap, 0, 10, 1, &r, &err));
    bench_expect("range", bench_repr(&b, r), "range(10)");
    assert_true(range_new(b.heap, 1, 10, 1, &r, &err));
    bench_expect("range", bench_repr(&b, r), "range(1, 10)");
    assert_true(range_new(b.heap, 0, -10, -2, &r, &err));
    bench_expect("range", bench_repr(&b, r), "range(0, -10, -2)");
    Dict *set = set_new(b.heap, 0, &err);
    bench_expect("set", bench_repr(&b, value_from_object(set)), "set([])");
    for (int i = 1; i <= 3; i++) assert_true(dict_put(b.heap, set, value_from_small(i), VALUE_NONE, &err));
    assert_true(dict_remove(set, value_from_small(1), &r, &err));
    bench_expect("set", bench_repr(&b, value_from_object(set)), "set([2, 3])");
    static const NativeDef len = { .name = "len" }, append = { .name = "append" };
    bench_expect("native", bench_repr(&b, value_from_object(native_new(b.heap, &len, NULL, &err))), "<built-in function len>");
    bench_expect("bound", bench_repr(&b, value_from_object(native_bind(b.heap, &append, bench_json(&b, "[]"), &err))),
                 "<built-in method append of list value>");
    bench_expect("module", bench_repr(&b, value_from_object(native_module_new(b.heap, STR("json"), &err))), "<module \"json\">");
    bench_free(&b);
}

static void test_cycles(void **state) {
    (void)state;
    Bench b = bench_new(0);
    Error err = { 0 };
    Value list = bench_json(&b, "[1]"), dict = bench_json(&b, "{}");
    assert_true(list_push(b.heap, value_list(list), list, &err));
    assert_true(list_push(b.heap, value_list(list), dict, &err));
    assert_true(dict_put_str(b.heap, value_dict(dict), STR("d"), dict, &err));
    assert_true(dict_put_str(b.heap, value_dict(dict), STR("l"), list, &err));
    bench_expect("cycle", bench_repr(&b, list), "[1, [...], {\"d\": {...}, \"l\": [...]}]");
    Value twice = bench_json(&b, "[[]]");
    assert_true(list_push(b.heap, value_list(twice), value_list(twice)->at[0], &err));
    bench_expect("no cycle", bench_repr(&b, twice), "[[], []]");
    bench_free(&b);
}

static Value nested(Bench *b, size_t depth) {
    Error err = { 0 };
    Value v = bench_json(b, "[]");
    for (size_t i = 1; i < depth; i++) v = value_from_object(list_from(b->heap, &v, 1, &err));
    return v;
}

static void test_limits(void **state) {
    (void)state;
    Bench b = bench_new(0);
    Error err = { 0 };
    Buf out = { 0 };
    assert_true(repr_value(b.vm, &out, nested(&b, 10000), &err));
    assert_int_equal(out.n, 20000);
    assert_false(repr_value(b.vm, &out, nested(&b, 10001), &err));
    assert_string_equal(err.msg, "value nested too deeply");
    buf_clear(&out);
    bench_free(&b);

    b = bench_new(4 << 20);                               /* a value whose text is much larger than the heap */
    Value v = bench_json(&b, "[\"0123456789\"]");
    for (int i = 0; i < 30; i++) {
        Value pair[] = { v, v };
        v = value_from_object(list_from(b.heap, pair, 2, &err));
    }
    assert_false(repr_value(b.vm, &out, v, &err));
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_true(out.n < (size_t)8 << 20);
    buf_clear(&out);

    char *at;                                             /* each byte is printed as four */
    String *s = string_room(b.heap, 2 << 20, &at, &err);
    memset(at, 1, 2 << 20);
    err = (Error){ 0 };
    assert_false(repr_value(b.vm, &out, value_from_object(s), &err));
    assert_int_equal(err.kind, ERR_LIMIT);
    buf_clear(&out);
    bench_free(&b);
}

static void test_str(void **state) {
    (void)state;
    Bench b = bench_new(0);
    Buf out = { 0 };
    Error err = { 0 };
    assert_true(repr_str(b.vm, &out, bench_string(&b, "a\"b"), &err));
    assert_true(repr_str(b.vm, &out, bench_json(&b, "[\"x\"]"), &err));
    assert_true(repr_str(b.vm, &out, bench_json(&b, "\"\""), &err));
    assert_str(buf_str(&out), "a\"b[\"x\"]");
    buf_clear(&out);
    bench_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings), cmocka_unit_test(test_floats), cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_values), cmocka_unit_test(test_other_types), cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_limits), cmocka_unit_test(test_str),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
