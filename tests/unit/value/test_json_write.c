#include "unit.h"
#include <math.h>
#include "base/cancel.h"
#include "value/json.h"
#include "value/list.h"
#include "value/range.h"

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

static Value read_text(Str text) {
    Value v = VALUE_GONE;
    Error err = { 0 };
    if (!json_read(heap, text, NULL, &v, &err)) fail_msg("%s", err.msg);
    return v;
}

static Value string(Str s) { return value_from_object(string_new(heap, s, NULL)); }

static Value list_of(const Value *v, size_t n) { return value_from_object(list_from(heap, v, n, NULL)); }

static void check(Value v, const JsonWrite *options, const char *expected, int line) {
    Buf out = { 0 };
    Error err = { 0 };
    if (!json_write(&out, v, options, &err)) fail_msg("line %d: %s", line, err.msg);
    if (!str_eq(buf_str(&out), str_from(expected))) fail_msg("line %d: %s != %s", line, out.at, expected);
    buf_clear(&out);
}
#define writes(v, expected) check((v), NULL, (expected), __LINE__)
#define writes_with(v, expected, ...) check((v), &(JsonWrite){ __VA_ARGS__ }, (expected), __LINE__)

static void test_scalars(void **state) {
    (void)state;
    writes(VALUE_NONE, "null");
    writes(VALUE_TRUE, "true");
    writes(VALUE_FALSE, "false");
    writes(value_from_small(0), "0");
    writes(value_from_small(VALUE_INT_MAX), "562949953421311");
    writes(value_from_small(VALUE_INT_MIN), "-562949953421312");
    writes(value_from_float(1), "1.0");
    writes(value_from_float(-0.0), "-0.0");
    writes(value_from_float(0.1), "0.1");
    writes(value_from_float(1e21), "1e+21");
    writes(value_from_float(1.7976931348623157e308), "1.7976931348623157e+308");
    writes(value_from_float(5e-324), "5e-324");
}

static void test_strings(void **state) {
    (void)state;
    writes(string(STR("")), "\"\"");
    writes(string(STR("plain")), "\"plain\"");
    writes(string(STR("a\"b\\c/d")), "\"a\\\"b\\\\c/d\"");
    writes(string(STR("\b\f\n\r\t")), "\"\\b\\f\\n\\r\\t\"");
    writes(string(STR("\0\x01\x1f\x7f")), "\"\\u0000\\u0001\\u001f\x7f\"");
    writes(string(STR("naïve 日本語 😀 \xe2\x80\xa8")), "\"naïve 日本語 😀 \xe2\x80\xa8\"");
    writes(string(STR("</script>&")), "\"</script>&\"");
    writes_with(string(STR("</script>&\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa é\n")),
                "\"\\u003c/script\\u003e\\u0026\\u2028\\u2029\xe2\x80\xaa é\\n\"", .html_safe = true);
}

/* Every length and position of a special character: the output reads back unchanged. */
static void test_string_lengths(void **state) {
    (void)state;
    static const char *const special[] = { "x", "\n", "é", "\"", "\x1f", "\\", "\x7f" };
    for (size_t s = 0; s < sizeof special / sizeof *special; s++)
        for (size_t n = 0; n < 40; n++)
            for (size_t at = 0; at <= n; at++) {
                char fill[80], text[160];
                memset(fill, 'a', sizeof fill);
                snprintf(text, sizeof text, "%.*s%s%.*s", (int)at, fill, special[s], (int)(n - at), fill);
                Buf out = { 0 };
                assert_true(json_write(&out, string(str_from(text)), NULL, NULL));
                assert_str(value_str(read_text(buf_str(&out))), text);
                buf_clear(&out);
            }
}

static void test_containers(void **state) {
    (void)state;
    Value items[] = { value_from_small(1), VALUE_NONE, string(STR("x")) };
    writes(list_of(items, 0), "[]");
    writes(list_of(items, 3), "[1,null,\"x\"]");
    writes(value_from_object(tuple_from(heap, items, 2, NULL)), "[1,null]");
    writes(value_from_object(tuple_from(heap, items, 0, NULL)), "[]");
    Value range;
    assert_true(range_new(heap, 10, -2, -5, &range, NULL));
    writes(range, "[10,5,0]");
    Dict *d = dict_new(heap, 0, NULL);
    writes(value_from_object(d), "{}");
    assert_true(dict_put_str(heap, d, STR("gone"), VALUE_TRUE, NULL));
    assert_true(dict_put_str(heap, d, STR("b"), range, NULL));
    assert_true(dict_put_str(heap, d, STR("a"), list_of(items, 1), NULL));
    Value out;
    assert_true(dict_remove(d, string(STR("gone")), &out, NULL));
    writes(value_from_object(d), "{\"b\":[10,5,0],\"a\":[1]}");
    writes_with(value_from_object(d), "{\"a\":[1],\"b\":[10,5,0]}", .sort_keys = true);
    assert_true(dict_remove(d, string(STR("a")), &out, NULL) && dict_remove(d, string(STR("b")), &out, NULL));
    writes(value_from_object(d), "{}");
    writes_with(value_from_object(d), "{}", .sort_keys = true, .indent = 2);
}

static void test_pretty(void **state) {
    (void)state;
    Value v = read_text(STR("{\"b\":[1,[],{}],\"a\":{\"y\":[{\"k\":null}],\"x\":2}}"));
    writes_with(v, "{\n  \"b\": [\n    1,\n    [],\n    {}\n  ],\n  \"a\": {\n    \"y\": [\n      {\n        \"k\": null\n"
                   "      }\n    ],\n    \"x\": 2\n  }\n}", .indent = 2);
    writes_with(v, "{\n \"a\": {\n  \"x\": 2,\n  \"y\": [\n   {\n    \"k\": null\n   }\n  ]\n },\n \"b\": [\n  1,\n  [],\n  {}\n ]\n}",
                .indent = 1, .sort_keys = true);
    writes_with(read_text(STR("[]")), "[]", .indent = 4);
}

static void test_sorted(void **state) {
    (void)state;
    writes_with(read_text(STR("{\"b\":1,\"\":2,\"é\":3,\"B\":4,\"bb\":5,\"a\":[{\"z\":1,\"y\":2}]}")),
                "{\"\":2,\"B\":4,\"a\":[{\"y\":2,\"z\":1}],\"b\":1,\"bb\":5,\"é\":3}", .sort_keys = true);
}

static void test_round_trip(void **state) {
    (void)state;
    static const char *const text[] = {
        "{\"a\":[1,-2,3.5,1e+21,1e-7,0.1,-0.0,123456789012345678901234567890],\"é\":\"\\u0001\\n\\\"/\x7f日\"}",
        "[[[[]]],{},{\"\":{\"\":\"\"}},true,false,null]", "0.30000000000000004", "\"\"", "-1" };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) writes(read_text(str_from(text[i])), text[i]);
}

static void check_fails(Value v, const JsonWrite *options, const char *msg, int line) {
    Buf out = { 0 };
    buf_add(&out, STR("before"));
    Error err = { 0 };
    if (json_write(&out, v, options, &err)) fail_msg("line %d: was written: %s", line, out.at);
    if (strcmp(err.msg, msg) != 0) fail_msg("line %d: %s, expected %s", line, err.msg, msg);
    assert_str(buf_str(&out), "before");
    assert_false(json_write(&out, v, options, NULL));
    buf_clear(&out);
}
#define fails(v, msg) check_fails((v), NULL, (msg), __LINE__)

static Value put_at(const char *text, Value v) {        /* replaces item 3's price in a value like .items[3].price */
    Value root = read_text(str_from(text));
    List *items = value_list(*dict_find_str(value_dict(root), STR("items")));
    *dict_find_str(value_dict(items->at[items->n - 1]), STR("price")) = v;
    return root;
}

static void test_errors(void **state) {
    (void)state;
    const char *shape = "{\"name\":1,\"items\":[1,2,3,{\"x\":1,\"price\":0,\"y\":2}]}";
    fails(put_at(shape, value_from_float(NAN)), "json: at .items[3].price: NaN has no JSON form");
    fails(put_at(shape, value_from_float(INFINITY)), "json: at .items[3].price: infinity has no JSON form");
    fails(put_at(shape, value_from_float(-INFINITY)), "json: at .items[3].price: -infinity has no JSON form");
    fails(put_at(shape, value_from_object(bytes_new(heap, STR("x"), NULL))), "json: at .items[3].price: bytes has no JSON form");
    fails(put_at(shape, value_from_object(set_new(heap, 0, NULL))), "json: at .items[3].price: set has no JSON form");
    fails(put_at(shape, string(STR("a\xff"))), "json: at .items[3].price: a string is not valid UTF-8");
    fails(value_from_float(NAN), "json: NaN has no JSON form");
    check_fails(put_at(shape, value_from_float(NAN)), &(JsonWrite){ .sort_keys = true, .indent = 2 },
                "json: at .items[3].price: NaN has no JSON form", __LINE__);

    Dict *d = dict_new(heap, 0, NULL);
    assert_true(dict_put(heap, d, value_from_small(1), VALUE_TRUE, NULL));
    fails(put_at(shape, value_from_object(d)), "json: at .items[3].price: a key must be a string, not int");
    check_fails(value_from_object(d), &(JsonWrite){ .sort_keys = true }, "json: a key must be a string, not int", __LINE__);

    Value odd = read_text(STR("{\"two words\\n\":{\"\":[0]}}"));
    Value *inner = dict_find_str(value_dict(*dict_find_str(value_dict(odd), STR("two words\n"))), STR(""));
    value_list(*inner)->at[0] = value_from_float(NAN);
    fails(odd, "json: at [\"two words\\n\"][\"\"][0]: NaN has no JSON form");
}

static void test_depth(void **state) {
    (void)state;
    Value v = list_of(NULL, 0);
    for (int i = 1; i < JSON_DEPTH_MAX; i++) v = list_of(&v, 1);
    Buf out = { 0 };
    assert_true(json_write(&out, v, NULL, NULL));
    assert_int_equal(out.n, 2 * JSON_DEPTH_MAX);
    read_text(buf_str(&out));
    buf_clear(&out);

    Error err = { 0 };
    v = list_of(&v, 1);
    assert_false(json_write(&out, v, NULL, &err));
    assert_non_null(strstr(err.msg, "[0][0]: nested deeper than 512 levels, or in a cycle"));
    assert_non_null(strstr(err.msg, "json: at …[0]"));

    List *cycle = list_new(heap, 1, NULL);
    assert_true(list_push(heap, cycle, value_from_object(cycle), NULL));
    assert_false(json_write(&out, value_from_object(cycle), &(JsonWrite){ .sort_keys = true }, &err));
    Dict *self = dict_new(heap, 1, NULL);
    assert_true(dict_put_str(heap, self, STR("self"), value_from_object(self), NULL));
    assert_false(json_write(&out, value_from_object(self), &(JsonWrite){ .sort_keys = true }, &err));
    assert_non_null(strstr(err.msg, ".self.self: nested deeper"));
    assert_int_equal(out.n, 0);
    buf_clear(&out);
}

static void test_limits(void **state) {
    (void)state;
    Value v = read_text(STR("[1,\"two\",{\"three\":[4.5]}]"));
    Error err = { 0 };
    for (size_t limit = 1; limit < 40; limit++) {
        bool fits = limit >= 25;
        Buf out = { 0 };
        buf_add(&out, STR("ab"));
        assert_int_equal(json_write(&out, v, &(JsonWrite){ .max_bytes = limit }, &err), fits);
        assert_int_equal(out.n, fits ? 27 : 2);
        out.n = 2;
        out.limit = limit + 2;
        assert_int_equal(json_write(&out, v, NULL, &err), fits);
        assert_int_equal(out.n, fits ? 27 : 2);
        assert_int_equal(out.limit, limit + 2);
        buf_clear(&out);
    }
    Buf out = { 0 };
    Value huge;
    assert_true(range_new(heap, 0, INT64_C(1) << 40, 1, &huge, NULL));
    assert_false(json_write(&out, huge, &(JsonWrite){ .max_bytes = 100000 }, &err));
    assert_string_equal(err.msg, "json: output is over the limit of 100000 bytes");
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_true(out.cap < 1 << 20);
    buf_clear(&out);
}

static void test_cancel(void **state) {
    (void)state;
    Cancel *cancel = cancel_new(NULL, 0);
    cancel_fire(cancel);
    Value huge;
    assert_true(range_new(heap, 0, INT64_C(1) << 40, 1, &huge, NULL));
    Buf out = { 0 };
    Error err = { 0 };
    assert_false(json_write(&out, huge, &(JsonWrite){ .cancel = cancel }, &err));
    assert_int_equal(err.kind, ERR_CANCELLED);
    cancel_free(cancel);
    buf_clear(&out);
}

static void check_string(Str s, bool html, const char *expected) {
    Buf out = { 0 };
    json_write_string(&out, s, html);
    assert_str(buf_str(&out), expected);
    buf_clear(&out);
}

static void test_write_string(void **state) {
    (void)state;
    check_string(STR(""), false, "\"\"");
    check_string(STR("a\n\"<"), false, "\"a\\n\\\"<\"");
    check_string(STR("a\n\"<"), true, "\"a\\n\\\"\\u003c\"");
    check_string(STR("\xff\xe2\x82z\xc3"), false, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd\"");
    check_string(STR("\xe2\x80"), true, "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    Buf out = { .limit = 8 };
    buf_add(&out, STR("ab"));
    json_write_string(&out, STR("1234"), false);
    assert_str(buf_str(&out), "ab\"1234\"");
    json_write_string(&out, STR("5"), false);
    assert_str(buf_str(&out), "ab\"1234\"");
    assert_true(out.full);
    json_write_string(&out, STR(""), false);
    assert_str(buf_str(&out), "ab\"1234\"");
    buf_clear(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_scalars, setup, teardown),
        cmocka_unit_test_setup_teardown(test_strings, setup, teardown),
        cmocka_unit_test_setup_teardown(test_string_lengths, setup, teardown),
        cmocka_unit_test_setup_teardown(test_containers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pretty, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sorted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_depth, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cancel, setup, teardown),
        cmocka_unit_test_setup_teardown(test_write_string, setup, teardown) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
