#include "calls.h"

static void check(const CallCase *t, size_t n) {
    Calls c;
    calls_begin(&c);
    calls_check(&c, t, n);
    calls_end(&c);
}

static void test_numbers(void **state) {
    (void)state;
    static const CallCase t[] = {
        { "abs", "-3", "3" }, { "abs", "-3.5", "3.5" }, { "abs", "-36893488147419103232", "36893488147419103232" },
        { "abs", "'x'", "error: got string, want int or float" },
        { "abs", "", "error: abs: got 0 arguments, want 1" },
        { "abs", "1, 2", "error: abs: got 2 arguments, want 1" },
        { "abs", "x=1", "error: abs: unexpected keyword arguments" },
        { "range", "3", "range(3)" }, { "range", "1, 3", "range(1, 3)" }, { "range", "10, 0, -2", "range(10, 0, -2)" },
        { "range", "1, 2, 0", "error: range: step argument must not be zero" },
        { "range", "1.0", "error: range: for parameter 1: got float, want int" },
        { "range", "1, 36893488147419103232",
          "error: range: for parameter 2: 36893488147419103232 out of range (want value in signed 64-bit range)" },
        { "hash", "'abc'", "96354" }, { "hash", "''", "0" }, { "hash", "b'abc'", "440920331" },
        { "hash", "1", "error: hash: got int, want string or bytes" },
        { "chr", "65", "\"A\"" }, { "chr", "233", "\"é\"" }, { "chr", "-1", "error: chr: Unicode code point -1 out of range (<0)" },
        { "chr", "1114112", "error: chr: Unicode code point U+110000 out of range (>0x10FFFF)" },
        { "chr", "x=1", "error: chr does not accept keyword arguments" },
        { "ord", "'A'", "65" }, { "ord", "'é'", "233" }, { "ord", "b'A'", "65" },
        { "ord", "'AB'", "error: ord: string encodes 2 Unicode code points, want 1" },
        { "ord", "''", "error: ord: string encodes 0 Unicode code points, want 1" },
        { "ord", "b''", "error: ord: bytes has length 0, want 1" },
        { "ord", "1", "error: ord: got int, want string or bytes" },
    };
    check(t, CALLS_COUNT(t));
}

static void test_int(void **state) {
    (void)state;
    static const CallCase t[] = {
        { "int", "'12'", "12" }, { "int", "'-12'", "-12" }, { "int", "'+12'", "12" }, { "int", "'ff', 16", "255" },
        { "int", "'0xff', 16", "255" }, { "int", "'0xff', 0", "255" }, { "int", "'-0b11', 0", "-3" }, { "int", "'0o17', 0", "15" },
        { "int", "'0b1', 16", "177" }, { "int", "'0', 0", "0" }, { "int", "'000', 0", "0" }, { "int", "'z', 36", "35" },
        { "int", "'123456789012345678901234567890'", "123456789012345678901234567890" },
        { "int", "'0755', 0", "error: int: invalid literal with base 0: 0755" },
        { "int", "'0x', 16", "error: int: invalid literal with base 16: 0x" },
        { "int", "''", "error: int: invalid literal with base 10: " },
        { "int", "'--1'", "error: int: invalid literal with base 10: --1" },
        { "int", "'1_0'", "error: int: invalid literal with base 10: 1_0" },
        { "int", "'0x-4', 16", "error: int: invalid literal with base 16: 0x-4" },
        { "int", "' 1'", "error: int: invalid literal with base 10:  1" },
        { "int", "'1', 1", "error: int: base must be an integer >= 2 && <= 36" },
        { "int", "'1', base=37", "error: int: base must be an integer >= 2 && <= 36" },
        { "int", "'1', 'x'", "error: int: for base, got string, want int" },
        { "int", "1, 10", "error: int: can't convert non-string with explicit base" },
        { "int", "", "error: int: missing argument for x" },
        { "int", "1, bass=3", "error: int: unexpected keyword argument \"bass\" (did you mean base?)" },
        { "int", "1, x=3", "error: int: got multiple values for keyword argument \"x\"" },
        { "int", "True", "1" }, { "int", "1.9", "1" }, { "int", "-1.9", "-1" }, { "int", "1e30", "1000000000000000019884624838656" },
        { "int", "inf", "error: int: cannot convert float infinity to integer" },
        { "int", "nan", "error: int: cannot convert float NaN to integer" },
        { "int", "[]", "error: int: cannot convert list to int" },
    };
    check(t, CALLS_COUNT(t));
}

static void test_float(void **state) {
    (void)state;
    static const CallCase t[] = {
        { "float", "", "0.0" }, { "float", "3", "3.0" }, { "float", "True", "1.0" }, { "float", "'1.5e3'", "1500.0" },
        { "float", "'-.5'", "-0.5" }, { "float", "'5.'", "5.0" }, { "float", "'+1'", "1.0" }, { "float", "'1_000.5'", "1000.5" },
        { "float", "'0x1p-2'", "0.25" }, { "float", "'0x.8p1'", "1.0" }, { "float", "'0x1.fffffffffffff8p0'", "2.0" },
        { "float", "'inf'", "+inf" }, { "float", "'-Infinity'", "-inf" }, { "float", "'NaN'", "nan" },
        { "float", "'5e-324'", "5e-324" }, { "float", "'0x1p-1074'", "5e-324" }, { "float", "'0x1p-1080'", "0.0" },
        { "float", "''", "error: float: empty string" },
        { "float", "'1e999'", "error: floating-point number too large" },
        { "float", "'0x1p99999999999'", "error: floating-point number too large" },
        { "float", "'x'", "error: invalid float literal: x" }, { "float", "'1_'", "error: invalid float literal: 1_" },
        { "float", "'0x1'", "error: invalid float literal: 0x1" }, { "float", "'.'", "error: invalid float literal: ." },
        { "float", "'1e'", "error: invalid float literal: 1e" }, { "float", "'infinite'", "error: invalid float literal: infinite" },
        { "float", "' 1'", "error: invalid float literal:  1" },
        { "float", "[]", "error: float got list, want number or string" },
    };
    check(t, CALLS_COUNT(t));
}

static void test_conversions(void **state) {
    (void)state;
    static const CallCase t[] = {
        { "bool", "", "False" }, { "bool", "[]", "False" }, { "bool", "'x'", "True" }, { "bool", "0.0", "False" },
        { "str", "'x'", "\"x\"" }, { "str", "12", "\"12\"" }, { "str", "[1, 'a']", "\"[1, \\\"a\\\"]\"" }, { "str", "b'abc'", "\"abc\"" },
        { "str", "", "error: str: got 0 arguments, want exactly 1" }, { "str", "x=1", "error: str does not accept keyword arguments" },
        { "repr", "'x'", "\"\\\"x\\\"\"" }, { "type", "1", "\"int\"" }, { "type", "len", "\"builtin_function_or_method\"" },
        { "type", "json", "\"module\"" }, { "str", "json", "\"<module \\\"json\\\">\"" }, { "repr", "len", "\"<built-in function len>\"" },
        { "bytes", "'abc'", "b\"abc\"" }, { "bytes", "[65, 66]", "b\"AB\"" }, { "bytes", "b'x'", "b\"x\"" },
        { "bytes", "[65, 256]", "error: bytes: at index 1, 256 out of range (want value in unsigned 8-bit range)" },
        { "bytes", "['x']", "error: bytes: at index 0, got string, want int" },
        { "bytes", "1", "error: bytes: got int, want string, bytes, or iterable of ints" },
        { "list", "", "[]" }, { "list", "(1, 2)", "[1, 2]" }, { "list", "{'a': 1}", "[\"a\"]" }, { "list", "range(0, 3, 1)", "[0, 1, 2]" },
        { "list", "set[3, 1]", "[3, 1]" }, { "list", "range(9223372036854775800, 9223372036854775803, 2)",
          "[9223372036854775800, 9223372036854775802]" },
        { "list", "range(-9223372036854775808, 9223372036854775807, 4611686018427387904)",
          "[-9223372036854775808, -4611686018427387904, 0, 4611686018427387904]" },
        { "list", "'abc'", "error: list: for parameter 1: got string, want iterable" },
        { "tuple", "[1]", "(1,)" }, { "tuple", "", "()" }, { "tuple", "1", "error: tuple: for parameter 1: got int, want iterable" },
        { "set", "[1, 2, 1]", "set([1, 2])" }, { "set", "", "set([])" }, { "set", "[[]]", "error: set: unhashable type: list" },
        { "set", "[range(0, 1, 1)]", "error: set: unhashable: range" }, { "set", "set[1]", "set([1])" },
        { "dict", "", "{}" }, { "dict", "[('a', 1), ['b', 2]], c=3", "{\"a\": 1, \"b\": 2, \"c\": 3}" },
        { "dict", "{'a': 1}, a=2", "{\"a\": 2}" },
        { "dict", "[1]", "error: dict: dictionary update sequence element #0 is not iterable (int)" },
        { "dict", "[(1,)]", "error: dict: dictionary update sequence element #0 has length 1, want 2" },
        { "dict", "[('a', 1), 'ab']", "error: dict: dictionary update sequence element #1 is not iterable (string)" },
        { "dict", "1", "error: dict: got int, want iterable" }, { "dict", "1, 2", "error: dict: got 2 arguments, want at most 1" },
        { "dict", "[([], 1)]", "error: dict: unhashable type: list" },
    };
    check(t, CALLS_COUNT(t));
}

static void test_sequences(void **state) {
    (void)state;
    static const CallCase t[] = {
        { "len", "[1, 2]", "2" }, { "len", "'é'", "2" }, { "len", "{1: 2}", "1" }, { "len", "range(0, 10, 3)", "4" },
        { "len", "1", "error: len: value of type int has no len" },
        { "any", "[0, 1]", "True" }, { "any", "[]", "False" }, { "all", "[1, 0]", "False" }, { "all", "[]", "True" },
        { "all", "1", "error: all: for parameter 1: got int, want iterable" },
        { "reversed", "[1, 2, 3]", "[3, 2, 1]" }, { "reversed", "{'a': 1, 'b': 2}", "[\"b\", \"a\"]" }, { "reversed", "()", "[]" },
        { "enumerate", "['a', 'b']", "[(0, \"a\"), (1, \"b\")]" }, { "enumerate", "['a'], 7", "[(7, \"a\")]" },
        { "enumerate", "['a', 'b'], 9223372036854775807", "[(9223372036854775807, \"a\"), (9223372036854775808, \"b\")]" },
        { "enumerate", "1", "error: enumerate: for parameter 1: got int, want iterable" },
        { "enumerate", "[], 'x'", "error: enumerate: for parameter 2: got string, want int" },
        { "zip", "", "[]" }, { "zip", "[1, 2], ('a', 'b', 'c')", "[(1, \"a\"), (2, \"b\")]" }, { "zip", "[1]", "[(1,)]" },
        { "zip", "[1], 2", "error: zip: argument #2 is not iterable: int" }, { "zip", "x=[]", "error: zip does not accept keyword arguments" },
        { "dir", "b''", "[\"elems\"]" }, { "dir", "1", "[]" }, { "dir", "json", "[\"decode\", \"encode\", \"encode_indent\", \"indent\"]" },
        { "dir", "[]", "[\"append\", \"clear\", \"extend\", \"index\", \"insert\", \"pop\", \"remove\"]" },
        { "getattr", "[], 'append'", "<built-in method append of list value>" }, { "getattr", "[], 'x', 5", "5" },
        { "getattr", "[], 'x'", "error: getattr: list has no .x field or method" }, { "getattr", "1, 'x', None", "None" },
        { "getattr", "json, 'decode'", "<built-in function json.decode>" },
        { "hasattr", "'', 'join'", "True" }, { "hasattr", "1, 'join'", "False" }, { "hasattr", "json, 'encode'", "True" },
        { "hasattr", "1, 2", "error: hasattr: for parameter 2: got int, want string" },
        { "fail", "'a', 1, ['b']", "error: fail: a 1 [\"b\"]" }, { "fail", "1, 2, sep='-'", "error: fail: 1-2" }, { "fail", "", "error: fail: " },
        { "fail", "sep=1", "error: fail: for parameter \"sep\": got int, want string" },
        { "print", "end=1", "error: print: unexpected keyword argument \"end\"" },
    };
    check(t, CALLS_COUNT(t));
}

static void test_order(void **state) {
    (void)state;
    static const CallCase t[] = {
        { "sorted", "[3, 1, 2]", "[1, 2, 3]" }, { "sorted", "[3, 1, 2], reverse=True", "[3, 2, 1]" },
        { "sorted", "['b', 'a', 'aa', '']", "[\"\", \"a\", \"aa\", \"b\"]" },
        { "sorted", "['abcdefghZ', 'abcdefgh', 'abcdefghA'], reverse=True", "[\"abcdefghZ\", \"abcdefghA\", \"abcdefgh\"]" },
        { "sorted", "[1.5, 1, nan, -inf, 2]", "[-inf, 1, 1.5, 2, nan]" }, { "sorted", "[0.0, -0.0, -1.5]", "[-1.5, 0.0, -0.0]" },
        { "sorted", "[2.5, nan, -3.0]", "[-3.0, 2.5, nan]" },
        { "sorted", "['two', 'three', 'four', 'ab'], key=len", "[\"ab\", \"two\", \"four\", \"three\"]" },
        { "sorted", "['bb', 'a', 'cc', 'd'], key=len, reverse=True", "[\"bb\", \"cc\", \"a\", \"d\"]" },
        { "sorted", "[(2, 'a'), (1, 'z'), (1, 'b')]", "[(1, \"b\"), (1, \"z\"), (2, \"a\")]" },
        { "sorted", "[36893488147419103232, 5, -36893488147419103232]", "[-36893488147419103232, 5, 36893488147419103232]" },
        { "sorted", "[True, False]", "[False, True]" },
        { "sorted", "[1, 'one']", "error: string < int not implemented" },
        { "sorted", "[1, 'one'], reverse=True", "error: int < string not implemented" },
        { "sorted", "[1, 2, None, 3]", "error: int < NoneType not implemented" },
        { "sorted", "[1], key=1", "error: sorted: for parameter \"key\": got int, want callable" },
        { "sorted", "1", "error: sorted: for parameter iterable: got int, want iterable" },
        { "sorted", "", "error: sorted: missing argument for iterable" },
        { "sorted", "['a', 1], key=len", "error: len: value of type int has no len" },
        { "min", "[3, 1, 2]", "1" }, { "max", "[3, 1, 2]", "3" }, { "max", "1, 2.5, 2", "2.5" }, { "max", "'a', 'b'", "\"b\"" },
        { "max", "['aa', 'b', 'cc'], key=len", "\"aa\"" }, { "min", "'aa', 'b', 'c', key=len", "\"b\"" }, { "max", "[1, nan]", "nan" },
        { "min", "", "error: min requires at least one positional argument" },
        { "max", "[]", "error: max: argument is an empty sequence" }, { "max", "1", "error: max: int value is not iterable" },
        { "max", "1, 'a'", "error: max: string > int not implemented" }, { "min", "1, 'a'", "error: min: string < int not implemented" },
        { "max", "[1], key=2", "error: max: for parameter \"key\": got int, want callable" },
    };
    check(t, CALLS_COUNT(t));
}

static void test_print(void **state) {
    (void)state;
    Calls c;
    calls_begin(&c);
    static const CallCase t[] = {
        { "print", "", "None" }, { "print", "'a', 1, b'xyz', ['q']", "None" }, { "print", "1, 2, sep=', '", "None" },
    };
    calls_check(&c, t, CALLS_COUNT(t));
    assert_str(buf_str(&c.printed), "\na 1 xyz [\"q\"]\n1, 2\n");
    calls_end(&c);
}

/* ---- sorting large lists ---- */

static uint64_t next_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* Sorts strings that begin with their number by length: equal lengths must keep their order. */
static void test_sort_is_stable(void **state) {
    (void)state;
    static const size_t sizes[] = { 2, 23, 24, 25, 63, 64, 65, 500, 3000 };
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
        for (int reverse = 0; reverse < 2; reverse++)
            for (int shape = 0; shape < 4; shape++) {
                Calls c;
                calls_begin(&c);
                uint64_t seed = sizes[k];
                List *l = list_new(c.heap, 0, NULL);
                for (size_t i = 0; i < sizes[k]; i++) {
                    size_t pad = shape == 0 ? next_random(&seed) % 7 : shape == 1 ? i / 100 : shape == 2 ? (sizes[k] - i) / 50 : i % 40;
                    String *s = string_fmt(c.heap, NULL, "%04zu%*s", i, (int)pad, "");
                    list_push(c.heap, l, value_from_object(s), NULL);
                }
                CallArgs a = { .at = { value_from_object(l), universe_get(c.universe, STR("len")), value_from_bool(reverse) }, .n = 3 };
                Value v;
                Error err = { 0 };
                assert_true(calls_do(&c, universe_get(c.universe, STR("sorted")), &a, &v, &err));
                const List *s = value_list(v);
                assert_int_equal(s->n, sizes[k]);
                for (uint32_t i = 1; i < s->n; i++) {
                    Str x = value_str(s->at[i - 1]), y = value_str(s->at[i]);
                    if (x.n == y.n) assert_true(str_cmp(str_sub(x, 0, 4), str_sub(y, 0, 4)) < 0);
                    else assert_true(reverse ? x.n > y.n : x.n < y.n);
                }
                calls_end(&c);
            }
}

static void test_sort_many(void **state) {
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        Calls c;
        calls_begin(&c);
        uint64_t seed = 7;
        List *l = list_new(c.heap, 0, NULL);
        for (int i = 0; i < 20000; i++) {
            uint64_t r = next_random(&seed);
            Value v = value_from_small((int64_t)r - (1 << 30));
            if (kind == 1) v = value_from_float(((double)r - 1e9) / 7);
            if (kind == 2) v = value_from_object(string_fmt(c.heap, NULL, "name %u", (unsigned)r));
            if (kind == 3) v = r % 2 ? v : value_from_float((double)r - 1e9);
            list_push(c.heap, l, v, NULL);
        }
        CallArgs a = { .at = { value_from_object(l) }, .n = 1 };
        Value v;
        Error err = { 0 };
        assert_true(calls_do(&c, universe_get(c.universe, STR("sorted")), &a, &v, &err));
        const List *s = value_list(v);
        for (uint32_t i = 1; i < s->n; i++) {
            int order = 1;
            assert_true(value_compare(s->at[i - 1], s->at[i], "<", &order, NULL) && order <= 0);
        }
        calls_end(&c);
    }
}

/* ---- limits ---- */

static void test_heap_limit(void **state) {
    (void)state;
    static const CallCase t[] = {
        { "list", "range(0, 1000000000, 1)", "" }, { "tuple", "range(0, 1000000000, 1)", "" }, { "set", "range(0, 1000000000, 1)", "" },
        { "sorted", "range(0, 1000000000, 1)", "" }, { "enumerate", "range(0, 1000000000, 1)", "" }, { "bytes", "range(0, 1000000000, 1)", "" },
        { "zip", "range(0, 1000000000, 1), range(0, 1000000000, 1)", "" }, { "reversed", "range(0, 1000000000, 1)", "" },
        { "json.encode", "range(0, 1000000000, 1)", "" },
    };
    for (size_t i = 0; i < CALLS_COUNT(t); i++) {
        Calls c;
        calls_begin_with(&c, 1 << 20, NULL);
        Error err = { 0 };
        Value v;
        CallArgs a = calls_args(&c, t[i].args);
        assert_false(calls_do(&c, calls_function(&c, t[i].fn), &a, &v, &err));
        if (strcmp(t[i].fn, "bytes") != 0) assert_int_equal(err.kind, ERR_LIMIT);
        calls_end(&c);
    }
}

static void test_cancel(void **state) {
    (void)state;
    static const CallCase t[] = {
        { "all", "range(1, 9223372036854775807, 1)", "" },
        { "max", "range(1, 9223372036854775807, 1)", "" }, { "json.encode", "range(1, 9223372036854775807, 1)", "" },
    };
    for (size_t i = 0; i < CALLS_COUNT(t); i++) {
        Calls c;
        Cancel *cancel = cancel_new(NULL, 20 * 1000 * 1000);
        calls_begin_with(&c, 0, cancel);
        Error err = { 0 };
        Value v;
        CallArgs a = calls_args(&c, t[i].args);
        assert_false(calls_do(&c, calls_function(&c, t[i].fn), &a, &v, &err));
        assert_int_equal(err.kind, ERR_TIMEOUT);
        calls_end(&c);
        cancel_free(cancel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_int), cmocka_unit_test(test_float), cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_sequences), cmocka_unit_test(test_order), cmocka_unit_test(test_print),
        cmocka_unit_test(test_sort_is_stable), cmocka_unit_test(test_sort_many), cmocka_unit_test(test_heap_limit),
        cmocka_unit_test(test_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
