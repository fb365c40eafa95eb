#include "unit.h"
#include "mcp/wire/uri_template.h"
#include "value/json.h"

/* vars as JSON; "" when it does not match. */
static const struct { const char *pattern, *uri, *vars; } cases[] = {
    { "demo://x", "demo://x", "{}" },
    { "demo://x", "demo://xy", "" },
    { "demo://x", "demo://", "" },
    { "demo://{id}", "demo://1", "{\"id\":\"1\"}" },
    { "demo://{id}", "demo://", "" },
    { "demo://{id}", "demo://a/b", "" },
    { "demo://{id}", "demo://a?b", "" },
    { "demo://{id}", "demo://a%2Fb%20c", "{\"id\":\"a/b c\"}" },
    { "demo://{id}", "demo://%C3%A9", "{\"id\":\"\xc3\xa9\"}" },
    { "demo://{id}", "demo://\xc3\xa9", "{\"id\":\"\xc3\xa9\"}" },
    { "demo://{id}", "demo://%FF", "" },
    { "demo://{id}", "demo://%00", "" },
    { "demo://{id}", "demo://%4", "" },
    { "demo://{id}", "demo://%zz", "" },
    { "demo://{a}/{b}/data", "demo://1/2/data", "{\"a\":\"1\",\"b\":\"2\"}" },
    { "demo://{a}/{b}/data", "demo://1/2/3/data", "" },
    { "demo://{a}/data", "demo:///data", "" },
    { "demo://{a}-{b}", "demo://1-2-3", "{\"a\":\"1\",\"b\":\"2-3\"}" },
    { "demo://{a}-x", "demo://1-x-x", "{\"a\":\"1-x\"}" },
    { "demo://{a}/{a}", "demo://1/1", "{\"a\":\"1\"}" },
    { "demo://{a}/{a}", "demo://1/2", "" },
    { "{all}", "word", "{\"all\":\"word\"}" },
    { "demo://{a}{b}", "demo://xyz", "{\"a\":\"x\",\"b\":\"yz\"}" },
    { "demo://{a}{b}", "demo://x", "" },
};

static void test_match(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Heap *h = heap_new(0);
        Buf text = { 0 };
        Error err = { 0 };
        Value vars;
        if (uri_template_match(str_from(cases[i].pattern), str_from(cases[i].uri), h, &vars, &err)) assert_true(json_write(&text, vars,
            &(JsonWrite){ 0 }, &err));
        assert_int_equal(err.kind, ERR_NONE);
        assert_string_equal(buf_str(&text).at, cases[i].vars);
        buf_clear(&text);
        heap_free(h);
    }
}

static void test_long(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Buf uri = { 0 };
    Error err = { 0 };
    Value vars;
    buf_add(&uri, STR("demo://"));
    while (uri.n <= URI_TEMPLATE_MAX) buf_add_char(&uri, 'x');
    assert_false(uri_template_match(STR("demo://{a}"), buf_str(&uri), h, &vars, &err));
    assert_true(uri_template_match(STR("demo://{a}"), str_sub(buf_str(&uri), 0, URI_TEMPLATE_MAX), h, &vars, &err));
    buf_clear(&uri);
    heap_free(h);
}

static void test_names(void **state) {
    (void)state;
    size_t at = 0;
    Str name;
    Str pattern = STR("x://{one}/{two}");
    assert_true(uri_template_next(pattern, &at, &name) && str_eq(name, STR("one")));
    assert_true(uri_template_next(pattern, &at, &name) && str_eq(name, STR("two")));
    assert_false(uri_template_next(pattern, &at, &name));
}

static void test_file(void **state) {
    (void)state;
    Buf uri = { 0 };
    uri_template_file(&uri, STR("/a b/\xc3\xa9%.txt"));
    assert_string_equal(uri.at, "file:///a%20b/%C3%A9%25.txt");
    buf_clear(&uri);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_match), cmocka_unit_test(test_long), cmocka_unit_test(test_names), cmocka_unit_test(test_file) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
