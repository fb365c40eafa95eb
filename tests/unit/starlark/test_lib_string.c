#include "bench.h"

#include "starlark/vm/iter.h"
#include "starlark/vm/universe.h"
#include "value/int.h"

typedef struct { const char *self, *method, *args, *want; } Case;

/* args is JSON; "(…)" instead of the first argument's list means a tuple. A result that starts with '!' is an error. */
static const Case cases[] = {
    { "hELLO wORLD", "capitalize", "", "\"Hello world\"" }, { "", "capitalize", "", "\"\"" }, { "éÀ", "capitalize", "", "\"Éà\"" },
    { "ǆx", "capitalize", "", "\"ǅx\"" },
    { "banana", "count", "\"an\"", "2" }, { "banana", "count", "\"\"", "7" }, { "世界", "count", "\"\"", "3" },
    { "banana", "count", "\"a\", 2", "2" }, { "banana", "count", "\"a\", -4, -1", "1" }, { "aaa", "count", "\"aa\"", "1" },
    { "banana", "count", "\"a\", 4, 2", "0" }, { "aaaaaaaaaaaaaaaaaaaab", "count", "\"a\"", "20" },
    { "banana", "find", "\"an\"", "1" }, { "banana", "find", "\"x\"", "-1" }, { "banana", "find", "\"an\", 2", "3" },
    { "banana", "find", "\"an\", null, 2", "-1" }, { "abc", "find", "\"\", 5", "3" }, { "abc", "find", "\"\", 2, 1", "2" },
    { "banana", "find", "\"a\", \"x\"", "!invalid start index: got string, want int" },
    { "banana", "find", "\"a\", 0, 1.0", "!invalid end index: got float, want int" },
    { "banana", "find", "\"a\", 99999999999", "!invalid start index: 99999999999 out of range" },
    { "banana", "rfind", "\"an\"", "3" }, { "banana", "rfind", "\"x\"", "-1" }, { "banana", "rfind", "\"an\", 0, 4", "1" },
    { "abc", "rfind", "\"\"", "3" }, { "banana", "index", "\"n\"", "2" }, { "banana", "index", "\"x\"", "!substring not found" },
    { "banana", "rindex", "\"n\"", "4" }, { "banana", "rindex", "\"x\"", "!substring not found" },
    { "foo.c", "endswith", "\".c\"", "True" }, { "foo.c", "endswith", "\".h\"", "False" }, { "foo.c", "endswith", "(\".h\", \".c\")", "True" },
    { "foo.c", "endswith", "()", "False" }, { "foo.c", "endswith", "(\".h\", 1)", "!want string, got int, for element 1" },
    { "foo.c", "startswith", "1", "!got int, want string or tuple of string" },
        { "foo.c", "startswith", "[\"f\"]", "!got list, want string or tuple of string" },
    { "foo.c", "startswith", "\"foo\"", "True" }, { "foo.c", "startswith", "\"o\", 1", "True" }, { "foo.c", "startswith", "\"oo\", 1, 2", "False" },
    { "foo", "startswith", "\"\", 3, 1", "True" },
    { "aß1", "isalnum", "", "True" }, { "", "isalnum", "", "False" }, { "a b", "isalnum", "", "False" }, { "é世", "isalpha", "", "True" },
    { "é1", "isalpha", "", "False" }, { "12٣", "isdigit", "", "True" }, { "1a", "isdigit", "", "False" }, { "²", "isdigit", "", "False" },
    { " \t\n\u00a0\u3000", "isspace", "", "True" }, { " x", "isspace", "", "False" }, { "", "isspace", "", "False" },
    { "abc1", "islower", "", "True" }, { "aBc", "islower", "", "False" }, { "123", "islower", "", "False" }, { "a\xff", "islower", "", "False" },
    { "ß", "islower", "", "True" }, { "ABC1", "isupper", "", "True" }, { "É", "isupper", "", "True" }, { "AbC", "isupper", "", "False" },
    { "Hello, World", "istitle", "", "True" }, { "hello", "istitle", "", "False" }, { "HAL-9000", "istitle", "", "False" },
    { "123", "istitle", "", "False" }, { "ǅenan", "istitle", "", "True" }, { "Él", "istitle", "", "False" },
    { ", ", "join", "[\"a\", \"b\", \"c\"]", "\"a, b, c\"" }, { ", ", "join", "[]", "\"\"" }, { ",", "join", "[\"x\"]", "\"x\"" },
    { "", "join", "(\"a\", \"b\")", "\"ab\"" }, { "-", "join", "{\"k\": 1, \"l\": 2}", "\"k-l\"" },
    { ",", "join", "[\"a\", 1]", "!in list, want string, got int" },
    { "HELLO, É World!", "lower", "", "\"hello, é world!\"" }, { "ABCDEFGHIJKLMNOPQRSTUVWXYZ[@`{", "lower", "", "\"abcdefghijklmnopqrstuvwxyz[@`{\"" },
    { "hello ɐß!", "upper", "", "\"HELLO Ɐß!\"" }, { "abcdefghijklmnopqrstuvwxyz[@`{", "upper", "", "\"ABCDEFGHIJKLMNOPQRSTUVWXYZ[@`{\"" },
    { "a\xff", "upper", "", "\"A\xef\xbf\xbd\"" }, { "İ", "lower", "", "\"i\"" },
    { "hElLo, WoRlD! o'neil", "title", "", "\"Hello, World! O'Neil\"" }, { "ǆenan", "title", "", "\"ǅenan\"" },
    { "  ab  ", "strip", "", "\"ab\"" }, { "  ab  ", "lstrip", "", "\"ab  \"" }, { "  ab  ", "rstrip", "", "\"  ab\"" },
    { "\u00a0\n x\u3000", "strip", "", "\"x\"" }, { "xyaxzyx", "strip", "\"xy\"", "\"axz\"" }, { "éaé", "strip", "\"é\"", "\"a\"" },
    { "xx", "strip", "\"x\"", "\"\"" }, { "", "strip", "", "\"\"" }, { "  a", "strip", "\"\"", "\"a\"" },
        { "\xff" "a\xff", "strip", "\"a\"", "\"\\xffa\\xff\"" },
    { "α12β", "strip", "\"αβγδεζηθικλμνξοπρςστυφχψω\"", "\"12\"" },
    { "one/two/three", "partition", "\"/\"", "(\"one\", \"/\", \"two/three\")" }, { "one", "partition", "\"/\"", "(\"one\", \"\", \"\")" },
    { "one/two/three", "rpartition", "\"/\"", "(\"one/two\", \"/\", \"three\")" }, { "one", "rpartition", "\"/\"", "(\"\", \"\", \"one\")" },
    { "one", "partition", "\"\"", "!empty separator" }, { "/", "partition", "\"/\"", "(\"\", \"/\", \"\")" },
    { "foofoo", "removeprefix", "\"foo\"", "\"foo\"" }, { "foofoo", "removesuffix", "\"foo\"", "\"foo\"" }, { "x", "removeprefix", "\"foo\"", "\"x\"" },
    { "x", "removesuffix", "\"\"", "\"x\"" }, { "x", "removesuffix", "\"x\"", "\"\"" },
    { "banana", "replace", "\"a\", \"o\"", "\"bonono\"" }, { "banana", "replace", "\"a\", \"o\", 2", "\"bonona\"" },
    { "banana", "replace", "\"a\", \"o\", -1", "\"bonono\"" }, { "banana", "replace", "\"a\", \"o\", 0", "\"banana\"" },
    { "banana", "replace", "\"an\", \"\"", "\"ba\"" }, { "banana", "replace", "\"x\", \"y\"", "\"banana\"" }, { "世界", "replace", "\"\", \"-\"", "\"-世-界-\"" },
    { "ab", "replace", "\"\", \"-\", 2", "\"-a-b\"" }, { "", "replace", "\"\", \"x\"", "\"x\"" }, { "aaa", "replace", "\"aa\", \"bbbb\"", "\"bbbba\"" },
    { "a,b,,c", "split", "\",\"", "[\"a\", \"b\", \"\", \"c\"]" }, { "a,b,c", "split", "\",\", 1", "[\"a\", \"b,c\"]" },
        { "a,b,c", "split", "\",\", 0", "[\"a,b,c\"]" },
    { "a,b,c", "split", "\",\", -1", "[\"a\", \"b\", \"c\"]" }, { "", "split", "\",\"", "[\"\"]" }, { "a--b--c", "split", "\"--\"", "[\"a\", \"b\", \"c\"]" },
    { ",", "split", "\",\"", "[\"\", \"\"]" }, { "a", "split", "\"\"", "!empty separator" }, { "a", "split", "1", "!got int for separator, want string" },
    { "a,b,c", "rsplit", "\",\", 1", "[\"a,b\", \"c\"]" }, { "a,b,c", "rsplit", "\",\"", "[\"a\", \"b\", \"c\"]" },
        { "a,b,c", "rsplit", "\",\", 0", "[\"a,b,c\"]" },
    { "aaa", "rsplit", "\"aa\", 1", "[\"\", \"a\"]" }, { "a,b,c", "rsplit", "\",\", 9", "[\"a\", \"b\", \"c\"]" },
    { "  a b\t c\n", "split", "", "[\"a\", \"b\", \"c\"]" }, { "  a b  c ", "split", "null, 1", "[\"a\", \"b  c \"]" },
        { " a b ", "split", "null, 0", "[\"a b \"]" },
    { " a b ", "split", "null, 2", "[\"a\", \"b\"]" }, { "  ", "split", "", "[]" }, { "", "split", "", "[]" },
        { "a\u00a0b\u3000", "split", "", "[\"a\", \"b\"]" },
    { "  a b  c ", "rsplit", "null, 1", "[\"  a b\", \"c\"]" }, { " a b ", "rsplit", "null, 0", "[\" a b\"]" },
        { " a b ", "rsplit", "null, 5", "[\"a\", \"b\"]" },
    { "  ", "rsplit", "null, 1", "[]" },
    { "a\nb\n", "splitlines", "", "[\"a\", \"b\"]" }, { "a\nb", "splitlines", "true", "[\"a\\n\", \"b\"]" },
        { "a\n\n", "splitlines", "true", "[\"a\\n\", \"\\n\"]" },
    { "\n", "splitlines", "", "[\"\"]" }, { "", "splitlines", "", "[]" }, { "a\r\nb", "splitlines", "", "[\"a\\r\", \"b\"]" },
    { "aé", "elems", "", "\"aé\".elems()" }, { "aé", "elem_ords", "", "\"aé\".elem_ords()" }, { "aé", "codepoints", "", "\"aé\".codepoints()" },
    { "aé", "codepoint_ords", "", "\"aé\".codepoint_ords()" },
    { "{} {}", "format", "1, \"x\"", "\"1 x\"" },
};

static const NativeDef *method_named(const char *name) {
    for (size_t i = 0; i < lib_string_n; i++)
        if (strcmp(lib_string[i].name, name) == 0) return &lib_string[i];
    fail_msg("no method %s", name);
    return NULL;
}

/* Passes the arguments as a call does. */
static bool call(Bench *b, Value self, const char *method, const char *args, Value *out, Error *err) {
    char json[400];
    bool tuple = args[0] == '(';
    snprintf(json, sizeof json, "[%s]", args);
    for (char *p = json; tuple && *p; p++) *p = *p == '(' ? '[' : *p == ')' ? ']' : *p;
    List *list = value_list(bench_json(b, json));
    if (tuple) list->at[0] = bench_tuple(b, list->at[0]);
    const NativeDef *def = method_named(method);
    Value at[8] = { VALUE_GONE };
    for (uint32_t i = 0; i < list->n; i++) at[i] = list->at[i];
    uint32_t n = def->flags & NATIVE_VARIADIC ? list->n : def->n_params;
    assert_true(list->n <= n && list->n >= def->min);
    *out = VALUE_NONE;
    return def->fn(b->vm, &(NativeArgs){ .def = def, .self = self, .at = at, .n = n }, out, err);
}

static void test_methods(void **state) {
    (void)state;
    Bench b = bench_new(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Case *c = &cases[i];
        char what[300];
        snprintf(what, sizeof what, "\"%s\".%s(%s)", c->self, c->method, c->args);
        Error err = { 0 };
        Value out;
        bool ok = call(&b, bench_string(&b, c->self), c->method, c->args, &out, &err);
        if (c->want[0] == '!') bench_expect(what, ok ? bench_repr(&b, out) : err.msg, c->want + 1);
        else bench_expect(what, ok ? bench_repr(&b, out) : err.msg, c->want);
    }
    bench_free(&b);
}

static void test_table(void **state) {
    (void)state;
    for (size_t i = 1; i < lib_string_n; i++)
        assert_true(strcmp(lib_string[i - 1].name, lib_string[i].name) < 0);
}

static const NativeClass *class_of(Value v) { return (const NativeClass *)((Classed *)value_object(v))->cls; }

static void test_views(void **state) {
    (void)state;
    static const struct { const char *method, *type, *items; int length; } views[] = {
        { "elems", "string.elems", "[\"a\", \"\\xc3\", \"\\xa9\", \"a\", \"\\xff\"]", 5 },
        { "elem_ords", "string.elems", "[97, 195, 169, 97, 255]", 5 },
        { "codepoints", "string.codepoints", "[\"a\", \"é\", \"a\", \"\xef\xbf\xbd\"]", -1 },
        { "codepoint_ords", "string.codepoints", "[97, 233, 97, 65533]", -1 },
    };
    Bench b = bench_new(0);
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        Error err = { 0 };
        Value v, item;
        List *items;
        assert_true(call(&b, bench_string(&b, "aéa\xff"), views[i].method, "", &v, &err));
        assert_string_equal(value_type_name(v), views[i].type);
        assert_true(class_of(v)->items(b.vm, v, &items, &err));
        bench_expect(views[i].method, bench_repr(&b, value_from_object(items)), views[i].items);
        assert_int_equal(class_of(v)->length != NULL, views[i].length >= 0);
        if (views[i].length < 0) continue;
        assert_int_equal(class_of(v)->length(v), views[i].length);
        assert_true(class_of(v)->index(b.vm, v, value_from_small(-2), &item, &err));
        bench_expect("[-2]", bench_repr(&b, item), i == 0 ? "\"a\"" : "97");
        assert_false(class_of(v)->index(b.vm, v, value_from_small(5), &item, &err));
        assert_string_equal(err.msg, "string.elems index 5 out of range [-5:4]");
        assert_false(class_of(v)->index(b.vm, v, VALUE_NONE, &item, &err));
        assert_string_equal(err.msg, "string.elems index: got NoneType, want int");
    }
    bench_free(&b);
}

static void test_bytes(void **state) {
    (void)state;
    Bench b = bench_new(0);
    Error err = { 0 };
    Value self = value_from_object(bytes_new(b.heap, STR("a\xff"), &err)), v;
    List *items;
    assert_int_equal(lib_bytes_n, 1);
    assert_true(lib_bytes[0].fn(b.vm, &(NativeArgs){ .def = lib_bytes, .self = self }, &v, &err));
    bench_expect("repr", bench_repr(&b, v), "b\"a\\xff\".elems()");
    assert_string_equal(value_type_name(v), "bytes.elems");
    assert_true(class_of(v)->items(b.vm, v, &items, &err));
    bench_expect("items", bench_repr(&b, value_from_object(items)), "[97, 255]");
    assert_null(class_of(v)->length);
    bench_free(&b);
}

/* A result that does not fit the heap fails immediately with a limit error. */
static void test_limits(void **state) {
    (void)state;
    static const struct { const char *method, *args; } calls[] = {
        { "replace", "\"a\", \"0123456789\"" }, { "replace", "\"\", \"0123456789\"" }, { "split", "\"a\"" }, { "elems", "" }, { "upper", "" },
    };
    Bench b = bench_new(3 << 20);
    Error err = { 0 };
    char *at;
    String *s = string_room(b.heap, 2 << 20, &at, &err);
    memset(at, 'a', 2 << 20);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        Value out;
        List *items;
        err = (Error){ 0 };
        bool ok = call(&b, value_from_object(s), calls[i].method, calls[i].args, &out, &err);
        if (ok && strcmp(calls[i].method, "elems") == 0) ok = class_of(out)->items(b.vm, out, &items, &err);
        if (ok || err.kind != ERR_LIMIT) fail_msg("%s(%s): %s", calls[i].method, calls[i].args, ok ? "no error" : err.msg);
    }
    bench_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods), cmocka_unit_test(test_table), cmocka_unit_test(test_views),
        cmocka_unit_test(test_bytes), cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
