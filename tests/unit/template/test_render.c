/* The plain renderer: what the shared table cannot cover (positions, limits, values without a JSON form). */
#include <stdlib.h>
#include <time.h>
#include "template_unit.h"

static void check(const char *text, const char *json, const char *expected) {
    Heap *h = heap_new(0);
    Template *t = NULL;
    Buf out = { 0 };
    Error err = { 0 };
    if (!template_compile(str_from(text), NULL, &t, &err)) fail_msg("%s: %s", text, err.msg);
    buf_add(&out, STR("<"));
    if (!template_render(t, unit_json(h, json), &out, &err)) fail_msg("%s: %s", text, err.msg);
    if (out.at[0] != '<' || strcmp(out.at + 1, expected) != 0) fail_msg("%s: [%s], not [%s]", text, out.at + 1, expected);
    buf_clear(&out);
    template_free(t);
    heap_free(h);
}

static void test_text(void **state) {
    (void)state;
    check("", "{}", "");
    check("plain { text } }}", "{}", "plain { text } }}");
    check("Hello {{name}}!", "{\"name\":\"Ann\"}", "Hello Ann!");
    check("{{#each l}}{{this}}{{#unless @last}}, {{/unless}}{{/each}}", "{\"l\":[1,\"b\",2.5,true,null]}", "1, b, 2.5, true, ");
    check("{{n}}", "{\"n\":123456789012345678901234567890}", "123456789012345678901234567890");
    check("{{a}}{{b}}", "{\"a\":1,\"b\":2}", "12");
    check("{{#each o}}{{@key}}{{/each}}", "{\"o\":{\"b\":1,\"1\":2,\"a\":3}}", "b1a");
    check("<{{x}}>", "{\"x\":\"<&>\"}", "<<&>>");
}

static void check_bad(const char *text, uint32_t line, uint32_t column, const char *words) {
    Template *t = NULL;
    Error err = { 0 };
    if (template_compile(str_from(text), NULL, &t, &err)) fail_msg("%s: was not refused", text);
    if (!strstr(err.msg, words)) fail_msg("%s: %s", text, err.msg);
    if (err.line != line || err.column != column) fail_msg("%s: at %u:%u, not %u:%u", text, err.line, err.column, line, column);
    assert_int_equal(err.kind, ERR_PARSE);
    assert_false(template_compile(str_from(text), NULL, &t, NULL));
}

static void test_errors(void **state) {
    (void)state;
    check_bad("a\nbé {{", 2, 6, "{{ without }}");
    check_bad("a\nb {{x", 2, 3, "{{ without }}");
    check_bad("{{#if a}}", 1, 1, "is never closed");
    check_bad("{{#if a}}{{else if b}}", 1, 10, "is never closed");
    check_bad("x {{/if}}", 1, 3, "closes nothing");
    check_bad("{{else}}", 1, 1, "outside a block");
    check_bad("{{#if a}}\n{{/each}}", 2, 1, "closes {{#if}}");
    check_bad("{{#foo a}}", 1, 4, "unknown block \"foo\"");
    check_bad("{{foo bar}}", 1, 7, "only one name");
    check_bad("{{> p}}", 1, 1, "partials");
    check_bad("{{#> p}}", 1, 1, "partials");
    check_bad("{{* d}}", 1, 1, "decorators");
    check_bad("{{{{raw}}}}", 1, 1, "raw blocks");
    check_bad("{{#each l as |x|}}", 1, 11, "block parameters");
    check_bad("{{\"a\"}}", 1, 3, "text in quotes");
    check_bad("{{12}}", 1, 3, "literals");
    check_bad("{{#if (a)}}", 1, 7, "subexpressions");
    check_bad("{{^x}}", 1, 1, "{{#unless x}}");
    check_bad("{{if}}", 1, 1, "name of a helper");
    check_bad("{{log}}", 1, 1, "name of a helper");
    check_bad("{{l.0}}", 1, 5, ".[0]");
    check_bad("{{a.this}}", 1, 5, "may only start a path");
    check_bad("{{!-- a }}", 1, 1, "{{!-- without");
    check_bad("a\xff", 1, 2, "UTF-8");
    Error err = { 0 };
    Template *t;
    assert_false(template_compile(STR("a\0b"), NULL, &t, &err));
    assert_int_equal(err.column, 2);
}

static char *repeat(const char *s, size_t n, const char *middle, const char *end) {
    Buf b = { 0 };
    for (size_t i = 0; i < n; i++) buf_add(&b, str_from(s));
    buf_add(&b, str_from(middle));
    for (size_t i = 0; i < n && *end; i++) buf_add(&b, str_from(end));
    return buf_take(&b);
}

static void test_depth(void **state) {
    (void)state;
    char *deep = repeat("{{#if a}}", 100, "x", "{{/if}}"), *deeper = repeat("{{#if a}}", 101, "x", "{{/if}}");
    check(deep, "{\"a\":1}", "x");
    Template *t;
    refused(ERR_LIMIT, "blocks nested more than 100 deep", template_compile(str_from(deeper), NULL, &t, &err));
    free(deep), free(deeper);
    char *endless = repeat("{{#if a}}{{else if b}}", 50000, "", "");
    refused(ERR_LIMIT, "blocks nested more than 100 deep", template_compile(str_from(endless), NULL, &t, &err));
    free(endless);
    char *path = repeat("a.", 70, "a}}", ""), *tag = repeat("{{", 1, path, "");
    assert_false(template_compile(str_from(tag), NULL, &t, NULL));
    free(path), free(tag);
}

static void test_limits(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Template *t = NULL;
    Buf out = { 0 };
    must(template_compile(STR("{{#each l}}{{x}}{{/each}}"), &(TemplateOptions){ .max_output = 10 }, &t, &err));
    must(template_render(t, unit_json(h, "{\"l\":[{\"x\":\"12345\"},{\"x\":\"67890\"}]}"), &out, &err));
    assert_string_equal(out.at, "1234567890");
    refused(ERR_LIMIT, "the output is longer than 10 bytes", template_render(t, unit_json(h, "{\"l\":[{\"x\":\"123456\"},{\"x\":\"78901\"}]}"), &out, &err));
    assert_int_equal(out.n, 10);
    template_free(t);

    /* 1000^4 iterations that write nothing */
    Buf list = { 0 };
    buf_add(&list, STR("{\"l\":[0"));
    for (int i = 1; i < 1000; i++) buf_add_fmt(&list, ",%d", i);
    buf_add(&list, STR("]}"));
    must(template_compile(STR("{{#each l}}{{#each @root.l}}{{#each @root.l}}{{#each @root.l}}{{/each}}{{/each}}{{/each}}{{/each}}"), NULL, &t, &err));
    refused(ERR_LIMIT, "the template takes more than 10000000 steps", template_render(t, unit_json(h, list.at), &out, &err));
    template_free(t);
    buf_clear(&list);

    char *nest = repeat("[", 150, "", "]");
    must(template_compile(STR("{{this}}"), NULL, &t, &err));
    refused(ERR_LIMIT, "lists nested more than 100 deep", template_render(t, unit_json(h, nest), &out, &err));
    refused(ERR_VALIDATION, "a set has no text form", template_render(t, value_from_object(made(set_new(h, 0, &err))), &out, &err));
    refused(ERR_INTERNAL, "a template that was not compiled as a command", template_render_command(t, VALUE_NONE, &out, &err));
    free(nest);
    template_free(t);
    buf_clear(&out);
    heap_free(h);
}

/* The thread sanitizer reads all of the text for every search in it. */
#ifdef __has_feature
#define THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define THREAD_SANITIZER 0
#endif

/* Time must be linear in the size: with quadratic time, 1 MiB of these would exceed the test's timeout. */
static void test_large(void **state) {
    (void)state;
    static const char *const units[] = { "{{x}}", "{{#if x}}y{{/if}}", "{{! c }}", "\\{{x}}", " {{~x~}} ", "\n", "{{!-- --}}\n", "{ ",
        "a.b ", "\\", "\xc2\xa0" };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t n = (UNIT_HOSTILE || THREAD_SANITIZER ? 1 << 17 : 1 << 20) / strlen(units[i]);
        char *text = repeat(units[i], n, "", "");
        Template *t = NULL;
        must(template_compile(str_from(text), NULL, &t, &err));
        template_free(t);
        free(text);
    }
    Template *t;
    char *huge = repeat("x", (2 << 20) + 1, "", "");
    refused(ERR_LIMIT, "a template may not be longer than 2097152 bytes", template_compile(str_from(huge), NULL, &t, &err));
    free(huge);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text), cmocka_unit_test(test_errors), cmocka_unit_test(test_depth), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
