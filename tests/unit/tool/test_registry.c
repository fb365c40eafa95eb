#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "tool/kind/kind.h"
#include "tool/registry.h"

static bool nothing(ToolCallFrame *f, Error *err) {
    (void)f;
    (void)err;
    return true;
}

static ToolEntry entry(const char *name, const char *scope) {
    return (ToolEntry){ .def = { .name = str_from(name), .parameters = VALUE_GONE }, .scope = str_from(scope), .execute = nothing };
}

static bool add(Registry *r, const char *name, const char *scope) {
    ToolEntry e = entry(name, scope);
    Error err;
    return registry_add(r, &e, &err);
}

static void test_scopes(void **state) {
    (void)state;
    Registry *r = registry_new();
    Str run1 = STR("run1"), run2 = STR("run2");
    assert_true(add(r, "a", ""));
    assert_false(add(r, "a", ""));
    assert_false(add(r, "a", "run1"));                    /* a public one and a run's would collide */
    assert_true(add(r, "b", "run1"));
    assert_true(add(r, "b", "run2"));                     /* two runs never collide */
    assert_false(add(r, "b", ""));
    assert_null(registry_find(r, STR("b"), NULL, 0));
    assert_string_equal(registry_find(r, STR("b"), &run1, 1)->scope.at, "run1");
    assert_string_equal(registry_find(r, STR("b"), &run2, 1)->scope.at, "run2");
    registry_drop(r, run1);
    assert_null(registry_find(r, STR("b"), &run1, 1));
    assert_non_null(registry_find(r, STR("b"), &run2, 1));
    assert_true(add(r, "b", "run1"));                     /* the name is free again */
    const ToolEntry **list;
    assert_int_equal(registry_list(r, &run2, 1, &list), 2);
    free(list);
    registry_free(r);
}

static void test_aliases(void **state) {
    (void)state;
    Registry *r = registry_new();
    Str aliases[] = { STR("x"), STR("y") };
    ToolEntry e = entry("long_name", "");
    Error err = { 0 };
    e.def.aliases = (StrList){ aliases, 2 };
    assert_true(registry_add(r, &e, &err));
    assert_ptr_equal(registry_find(r, STR("y"), NULL, 0), registry_find(r, STR("long_name"), NULL, 0));
    assert_false(add(r, "x", ""));
    assert_true(str_eq(registry_nearest(r, STR("long_nane"), NULL, 0), STR("long_name")));
    assert_int_equal(registry_nearest(r, STR("zzzzzz"), NULL, 0).n, 0);
    registry_free(r);
}

static void test_refused_entries_leave_nothing(void **state) {
    (void)state;
    Registry *r = registry_new();
    Str aliases[] = { STR("free"), STR("taken") }, pattern = STR("(");
    ToolEntry e = entry("new", ""), bad = entry("bad", "");
    Error err = { 0 };
    assert_true(add(r, "taken", ""));
    e.def.aliases = (StrList){ aliases, 2 };
    assert_false(registry_add(r, &e, &err));
    assert_null(registry_find(r, STR("free"), NULL, 0));
    assert_null(registry_find(r, STR("new"), NULL, 0));
    bad.safety.redact = (StrList){ &pattern, 1 };
    assert_false(registry_add(r, &bad, &err));
    assert_non_null(strstr(err.msg, "safety.redact[0]"));
    registry_free(r);
}

static void test_implement(void **state) {
    (void)state;
    Registry *r = registry_new();
    ToolEntry e = entry("later", "");
    Error err = { 0 };
    e.execute = kind_missing;
    assert_true(registry_add(r, &e, &err));
    assert_true(registry_implement(r, STR("later"), nothing, r, &err));
    assert_ptr_equal(registry_find(r, STR("later"), NULL, 0)->data, r);
    assert_false(registry_implement(r, STR("later"), nothing, NULL, &err));
    assert_false(registry_implement(r, STR("never"), nothing, NULL, &err));
    registry_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_refused_entries_leave_nothing),
        cmocka_unit_test(test_implement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
