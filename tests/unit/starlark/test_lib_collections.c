#include "calls.h"

static void check(const MethodCase *t, size_t n) {
    Calls c;
    calls_begin(&c);
    calls_check_methods(&c, t, n);
    calls_end(&c);
}

static void test_list(void **state) {
    (void)state;
    static const MethodCase t[] = {
        { "[1]", "append", "2", "None", "[1, 2]" }, { "[1]", "append", "", "error: append: got 0 arguments, want 1", NULL },
        { "[1, 2]", "clear", "", "None", "[]" }, { "[1]", "extend", "(2, 3)", "None", "[1, 2, 3]" },
        { "[1]", "extend", "range(0, 2, 1)", "None", "[1, 0, 1]" }, { "[1]", "extend", "{'a': 1}", "None", "[1, \"a\"]" },
        { "[]", "extend", "[]", "None", "[]" }, { "[1]", "extend", "1", "error: extend: for parameter 1: got int, want iterable", NULL },
        { "['a', 'b', 'a']", "index", "'a'", "0", NULL }, { "['a', 'b', 'a']", "index", "'a', 1", "2", NULL },
        { "['a', 'b', 'a']", "index", "'a', -2, 3", "2", NULL }, { "['a', 'b']", "index", "'a', None, None", "0", NULL },
        { "['a', 'b', 'a']", "index", "'a', 1, 2", "error: index: value not in list", NULL },
        { "['a', 'b']", "index", "'b', -100, 100", "1", NULL },
        { "['a']", "index", "'a', 'x'", "error: index: invalid start index: got string, want int", NULL },
        { "['a']", "index", "'a', 0, 36893488147419103232", "error: index: invalid end index: 36893488147419103232 out of range", NULL },
        { "[1, 2]", "insert", "0, 9", "None", "[9, 1, 2]" }, { "[1, 2]", "insert", "-1, 9", "None", "[1, 9, 2]" },
        { "[1, 2]", "insert", "99, 9", "None", "[1, 2, 9]" }, { "[1, 2]", "insert", "-99, 9", "None", "[9, 1, 2]" },
        { "[1]", "insert", "'x', 9", "error: insert: for parameter 1: got string, want int", NULL },
        { "[1, 2, 3]", "pop", "", "3", "[1, 2]" }, { "[1, 2, 3]", "pop", "0", "1", "[2, 3]" }, { "[1, 2, 3]", "pop", "-2", "2", "[1, 3]" },
        { "[1, 2]", "pop", "2", "error: pop: list index 2 out of range [-2:1]", NULL },
        { "[1, 2]", "pop", "-3", "error: pop: list index -3 out of range [-2:1]", NULL },
        { "[]", "pop", "", "error: pop: index -1 out of range: empty list", NULL },
        { "[1, 2, 1]", "remove", "1", "None", "[2, 1]" }, { "[1]", "remove", "2", "error: remove: element not found", NULL },
    };
    check(t, CALLS_COUNT(t));
}

static void test_dict(void **state) {
    (void)state;
    static const MethodCase t[] = {
        { "{'a': 1}", "clear", "", "None", "{}" }, { "{'a': 1}", "get", "'a'", "1", NULL }, { "{'a': 1}", "get", "'b'", "None", NULL },
        { "{'a': 1}", "get", "'b', 7", "7", NULL }, { "{}", "get", "[]", "error: get: unhashable type: list", NULL },
        { "{'a': 1, 'b': 2}", "items", "", "[(\"a\", 1), (\"b\", 2)]", NULL }, { "{'a': 1, 'b': 2}", "keys", "", "[\"a\", \"b\"]", NULL },
        { "{'a': 1, 'b': 2}", "values", "", "[1, 2]", NULL }, { "{'a': 1}", "pop", "'a'", "1", "{}" },
        { "{'a': 1}", "pop", "'b'", "error: pop: missing key", NULL }, { "{'a': 1}", "pop", "'b', None", "None", NULL },
        { "{'a': 1, 'b': 2}", "popitem", "", "(\"a\", 1)", "{\"b\": 2}" }, { "{}", "popitem", "", "error: popitem: empty dict", NULL },
        { "{'a': 1}", "setdefault", "'a', 5", "1", NULL }, { "{'a': 1}", "setdefault", "'b', 5", "5", "{\"a\": 1, \"b\": 5}" },
        { "{}", "setdefault", "'b'", "None", "{\"b\": None}" }, { "{}", "setdefault", "[]", "error: setdefault: unhashable type: list", NULL },
        { "{'a': 1}", "update", "{'b': 2}", "None", "{\"a\": 1, \"b\": 2}" }, { "{'a': 1}", "update", "[('a', 3)], c=4", "None", "{\"a\": 3, \"c\": 4}" },
        { "{'a': 1}", "update", "", "None", NULL }, { "{'a': 1}", "update", "1, 2", "error: update: got 2 arguments, want at most 1", NULL },
        { "{'a': 1}", "update", "[1]", "error: update: dictionary update sequence element #0 is not iterable (int)", NULL },
        { "{'a': 1}", "update", "1", "error: update: got int, want iterable", NULL },
        { "{}", "update", "[range(0, 2, 1)]", "None", "{0: 1}" },
    };
    check(t, CALLS_COUNT(t));
}

static void test_set(void **state) {
    (void)state;
    static const MethodCase t[] = {
        { "set[1]", "add", "2", "None", "set([1, 2])" }, { "set[1]", "add", "1", "None", NULL },
            { "set[1]", "add", "[]", "error: add: unhashable type: list", NULL },
        { "set[1]", "clear", "", "None", "set([])" }, { "set[1, 2]", "discard", "1", "None", "set([2])" }, { "set[1]", "discard", "5", "None", NULL },
        { "set[1, 2]", "remove", "1", "None", "set([2])" }, { "set[1]", "remove", "5", "error: remove: missing key", NULL },
        { "set[3, 1]", "pop", "", "3", "set([1])" }, { "set[]", "pop", "", "error: pop: empty set", NULL },
        { "set[1, 2]", "union", "[3], (4, 1)", "set([1, 2, 3, 4])", NULL }, { "set[1]", "union", "", "set([1])", NULL },
        { "set[1]", "union", "1", "error: union: argument #1 is not iterable: int", NULL },
        { "set[1]", "union", "x=1", "error: union: does not accept keyword arguments", NULL },
        { "set[1]", "update", "[2], [3]", "None", "set([1, 2, 3])" }, { "set[1]", "update", "[[]]", "error: update: unhashable type: list", NULL },
        { "set[1, 2, 3]", "difference", "[2, 9]", "set([1, 3])", NULL }, { "set[1, 2, 3]", "difference", "[1], [2]", "set([3])", NULL },
        { "set[1]", "difference", "1", "error: difference: for parameter 1: got int, want iterable", NULL },
        { "set[1, 2, 3]", "intersection", "[3, 2]", "set([3, 2])", NULL }, { "set[1, 2, 3]", "intersection", "[3, 2], [2]", "set([2])", NULL },
        { "set[1, 2]", "symmetric_difference", "[2, 3]", "set([1, 3])", NULL },
        { "set[1, 2, 3]", "difference_update", "[2]", "None", "set([1, 3])" }, { "set[1, 2]", "intersection_update", "[2]", "None", "set([2])" },
        { "set[1, 2]", "symmetric_difference_update", "[2, 3]", "None", "set([1, 3])" },
        { "set[1, 2]", "issubset", "[1, 2, 3]", "True", NULL }, { "set[1, 2]", "issubset", "[1, 1]", "False", NULL },
        { "set[1, 2]", "issuperset", "[1]", "True", NULL }, { "set[1, 2]", "issuperset", "[3]", "False", NULL },
            { "set[1]", "isdisjoint", "[2]", "True", NULL },
        { "set[1]", "isdisjoint", "[1]", "False", NULL }, { "set[1]", "issubset", "1", "error: issubset: for parameter 1: got int, want iterable", NULL },
    };
    check(t, CALLS_COUNT(t));
}

static bool call_method(Calls *c, Value self, const char *name, const Value *args, uint32_t n, Value *out, Error *err) {
    const NativeDef *def = native_method((ObjectType)value_object(self)->type, str_from(name));
    assert_non_null(def);
    return calls_call(c, value_from_object(native_bind(c->heap, def, self, NULL)), args, n, out, err);
}

/* A collection passed to its own method. */
static void test_self(void **state) {
    (void)state;
    Calls c;
    calls_begin(&c);
    Value out, l = calls_read(&c, "[1, 2]"), d = calls_read(&c, "{'a': 1}"), s = calls_read(&c, "set[1, 2]");
    dict_put_str(c.heap, c.kept, STR("l"), l, NULL);
    dict_put_str(c.heap, c.kept, STR("d"), d, NULL);
    dict_put_str(c.heap, c.kept, STR("s"), s, NULL);
    Error err = { 0 };
    for (int i = 0; i < 5; i++) assert_true(call_method(&c, l, "extend", &l, 1, &out, &err));
    assert_int_equal(value_list(l)->n, 64);
    assert_int_equal(value_small(value_list(l)->at[63]), 2);
    assert_true(call_method(&c, d, "update", &d, 1, &out, &err));
    assert_int_equal(value_dict(d)->n, 1);
    assert_true(call_method(&c, s, "difference_update", &s, 1, &out, &err));
    assert_int_equal(value_set(s)->n, 0);
    calls_end(&c);
}

static const struct { const char *self, *method, *args, *frozen, *busy; } refusals[] = {
    { "[1]", "append", "1", "append: cannot append to frozen list", "append: cannot append to list during iteration" },
    { "[1]", "clear", "", "clear: cannot clear frozen list", "clear: cannot clear list during iteration" },
    { "[1]", "extend", "[]", "extend: cannot extend frozen list", "extend: cannot extend list during iteration" },
    { "[1]", "insert", "0, 1", "insert: cannot insert into frozen list", "insert: cannot insert into list during iteration" },
    { "[1]", "pop", "", "pop: cannot pop from frozen list", "pop: cannot pop from list during iteration" },
    { "[1]", "remove", "1", "remove: cannot remove from frozen list", "remove: cannot remove from list during iteration" },
    { "{1: 2}", "clear", "", "clear: cannot clear frozen hash table", "clear: cannot clear hash table during iteration" },
    { "{1: 2}", "pop", "1", "pop: cannot delete from frozen hash table", "pop: cannot delete from hash table during iteration" },
    { "{1: 2}", "popitem", "", "popitem: cannot delete from frozen hash table", "popitem: cannot delete from hash table during iteration" },
    { "{1: 2}", "setdefault", "3", "setdefault: cannot insert into frozen hash table", "setdefault: cannot insert into hash table during iteration" },
    { "{1: 2}", "update", "{3: 4}", "update: cannot insert into frozen hash table", "update: cannot insert into hash table during iteration" },
    { "set[1]", "add", "1", "add: cannot insert into frozen hash table", "add: cannot insert into hash table during iteration" },
    { "set[1]", "discard", "7", "discard: cannot delete from frozen hash table", "discard: cannot delete from hash table during iteration" },
    { "set[1]", "difference_update", "[1]", "difference_update: cannot delete from frozen hash table",
      "difference_update: cannot delete from hash table during iteration" },
};

static void test_frozen_and_busy(void **state) {
    (void)state;
    for (size_t i = 0; i < CALLS_COUNT(refusals); i++)
        for (int frozen = 0; frozen < 2; frozen++) {
            Calls c;
            calls_begin(&c);
            Value v, self = calls_read(&c, refusals[i].self);
            dict_put_str(c.heap, c.kept, STR("self"), self, NULL);
            Error err = { 0 };
            CallArgs a = calls_args(&c, refusals[i].args);
            if (frozen) value_freeze(self);
            else if (value_is_list(self)) value_list(self)->busy = 1;
            else ((Dict *)value_object(self))->busy = 1;
            assert_false(call_method(&c, self, refusals[i].method, a.at, a.n, &v, &err));
            assert_string_equal(err.msg, frozen ? refusals[i].frozen : refusals[i].busy);
            calls_end(&c);
        }
}

static void test_operators(void **state) {
    (void)state;
    typedef bool Op(Vm *, const Dict *, const Dict *, Dict **, Error *);
    static const struct { Op *op; const char *a, *b, *want; } t[] = {
        { setops_union, "set[1, 2]", "set[3, 1]", "set([1, 2, 3])" }, { setops_intersection, "set[1, 2, 3]", "set[3, 1, 9]", "set([3, 1])" },
        { setops_difference, "set[1, 2, 3]", "set[2]", "set([1, 3])" }, { setops_symmetric_difference, "set[1, 2]", "set[2, 3]", "set([1, 3])" },
        { setops_dict_union, "{1: 2, 3: 4}", "{3: 5, 6: 7}", "{1: 2, 3: 5, 6: 7}" },
    };
    Calls c;
    calls_begin(&c);
    Buf b = { 0 };
    for (size_t i = 0; i < CALLS_COUNT(t); i++) {
        Dict *out;
        const Dict *x = (Dict *)value_object(calls_read(&c, t[i].a)), *y = (Dict *)value_object(calls_read(&c, t[i].b));
        assert_true(t[i].op(c.vm, x, y, &out, NULL));
        calls_show(&c, true, value_from_object(out), NULL, &b);
        assert_str(buf_str(&b), t[i].want);
    }
    static const struct { const char *a, *op, *b; bool want; } compare[] = {
        { "set[1]", "<=", "set[1]", true }, { "set[1]", "<", "set[1]", false }, { "set[1]", "<", "set[1, 2]", true }, { "set[1, 2]", ">", "set[1]", true },
        { "set[1, 2]", ">=", "set[1, 2]", true }, { "set[1]", ">=", "set[2]", false }, { "set[]", "<", "set[2]", true }, { "set[3]", "<=", "set[1, 2]", false },
    };
    for (size_t i = 0; i < CALLS_COUNT(compare); i++) {
        bool out;
        assert_true(setops_compare(c.vm, compare[i].op, value_set(calls_read(&c, compare[i].a)), value_set(calls_read(&c, compare[i].b)), &out, NULL));
        assert_int_equal(out, compare[i].want);
    }
    buf_clear(&b);
    calls_end(&c);
}

static void test_tables_are_sorted(void **state) {
    (void)state;
    static const ObjectType types[] = { OBJECT_STRING, OBJECT_BYTES, OBJECT_LIST, OBJECT_DICT, OBJECT_SET };
    for (size_t k = 0; k < CALLS_COUNT(types); k++) {
        size_t n;
        const NativeDef *table = native_method_table(types[k], &n);
        assert_true(n > 0);
        for (size_t i = 1; i < n; i++) assert_true(strcmp(table[i - 1].name, table[i].name) < 0);
        for (size_t i = 0; i < n; i++) assert_ptr_equal(native_method(types[k], str_from(table[i].name)), &table[i]);
    }
    assert_null(native_method(OBJECT_LIST, STR("appen")));
    assert_null(native_method(OBJECT_TUPLE, STR("append")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list), cmocka_unit_test(test_dict), cmocka_unit_test(test_set), cmocka_unit_test(test_self),
        cmocka_unit_test(test_frozen_and_busy), cmocka_unit_test(test_operators), cmocka_unit_test(test_tables_are_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
