#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "value/frontmatter.h"

static void check(const char *text, const char *yaml, const char *body, uint32_t body_line) {
    Frontmatter f;
    Error err = { 0 };
    if (!frontmatter_split(str_from(text), &f, &err)) fail_msg("[%s]: %s", text, err.msg);
    if (!str_eq(f.yaml, str_from(yaml))) fail_msg("[%s]: yaml is [" STR_FMT "]", text, STR_ARG(f.yaml));
    if (!str_eq(f.body, str_from(body))) fail_msg("[%s]: body is [" STR_FMT "]", text, STR_ARG(f.body));
    assert_int_equal(f.yaml_line, 2);
    assert_int_equal(f.body_line, body_line);
}

static void test_splits(void **state) {
    (void)state;
    check("---\na: 1\n---\nbody\n", "a: 1\n", "body\n", 4);
    check("---\na: 1\n---\n", "a: 1\n", "", 4);
    check("---\na: 1\n---", "a: 1\n", "", 4);
    check("---\n---\n", "", "", 3);
    check("---\n---", "", "", 3);
    check("\xef\xbb\xbf---\na: 1\n---\nb", "a: 1\n", "b", 4);
    check("---\r\na: 1\r\n---\r\nb\r\n", "a: 1\r\n", "b\r\n", 4);
    check("---  \na: 1\n--- \t\nb", "a: 1\n", "b", 4);
    check("--- \r\na: 1\n---\t\r\nb", "a: 1\n", "b", 4);
    check("---\na: |\n  ---\n---\nb", "a: |\n  ---\n", "b", 5);
    check("---\n----\n--- a\n ---\n---x\n---\nb", "----\n--- a\n ---\n---x\n", "b", 7);
    check("---\na: 1\n---\nb\n---\nc\n", "a: 1\n", "b\n---\nc\n", 4);
    check("---\n\n\n---\n\nb", "\n\n", "\nb", 5);
}

static void check_missing(Str text, uint32_t line) {
    Frontmatter f;
    Error err = { 0 };
    if (frontmatter_split(text, &f, &err)) fail_msg("[" STR_FMT "] was split", STR_ARG(text));
    assert_string_equal(err.msg, "missing frontmatter delimiter");
    assert_int_equal(err.kind, ERR_PARSE);
    assert_int_equal(err.line, line);
    assert_int_equal(err.column, 1);
    assert_false(frontmatter_split(text, &f, NULL));
}

static void test_missing(void **state) {
    (void)state;
    check_missing(STR(""), 1);
    check_missing((Str){ NULL, 0 }, 1);
    check_missing(STR("\xef\xbb\xbf"), 1);
    check_missing(STR("a: 1\n---\n"), 1);
    check_missing(STR("\n---\na: 1\n---\n"), 1);
    check_missing(STR(" ---\na: 1\n---\n"), 1);
    check_missing(STR("--"), 1);
    check_missing(STR("----\na\n---\n"), 1);
    check_missing(STR("--- a\n---\n"), 1);
    check_missing(STR("---\0\n---\n"), 1);
    check_missing(STR("---"), 2);
    check_missing(STR("---\n"), 2);
    check_missing(STR("---\na: 1\n"), 3);
    check_missing(STR("---\na: 1\n --- \n"), 4);
    check_missing(STR("---\na: 1\n---x"), 4);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_splits), cmocka_unit_test(test_missing) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
