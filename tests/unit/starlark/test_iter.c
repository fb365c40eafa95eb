#include "calls.h"

#include "starlark/vm/iter.h"

static void test_walk(void **state) {
    (void)state;
    static const struct { const char *of, *want; ptrdiff_t length; } t[] = {
        { "[1, 2]", "1 2 ", 2 }, { "(1, 'a')", "1 \"a\" ", 2 }, { "{'a': 1, 'b': 2}", "\"a\" \"b\" ", 2 }, { "set[3, 1]", "3 1 ", 2 },
        { "range(5, 0, -2)", "5 3 1 ", 3 }, { "range(0, 0, 1)", "", 0 }, { "[]", "", 0 },
        { "range(9223372036854775805, 9223372036854775807, 1)", "9223372036854775805 9223372036854775806 ", 2 },
    };
    Calls c;
    calls_begin(&c);
    for (size_t i = 0; i < CALLS_COUNT(t); i++) {
        Value v = calls_read(&c, t[i].of), item;
        Iter it;
        Buf b = { 0 };
        Error err = { 0 };
        assert_true(iter_is_iterable(v));
        assert_int_equal(iter_length(v), t[i].length);
        assert_true(iter_begin(c.vm, &it, v, &err));
        while (iter_next(&it, &item)) {
            assert_true(repr_value(c.vm, &b, item, &err));
            buf_add_char(&b, ' ');
        }
        assert_true(iter_end(&it));
        assert_str(buf_str(&b), t[i].want);
        List *l;
        assert_true(iter_to_list(c.vm, v, &l, &err));
        assert_int_equal(l->n, t[i].length);
        buf_clear(&b);
    }
    calls_end(&c);
}

static void test_what_is_not_iterable(void **state) {
    (void)state;
    Calls c;
    calls_begin(&c);
    static const char *const t[] = { "1", "'abc'", "b'abc'", "None", "len", "1.5", "json" };
    for (size_t i = 0; i < CALLS_COUNT(t); i++) {
        Iter it;
        List *l;
        Error err = { 0 };
        Value v = calls_read(&c, t[i]);
        assert_false(iter_is_iterable(v));
        assert_false(iter_begin(c.vm, &it, v, &err));
        assert_non_null(strstr(err.msg, ", want iterable"));
        assert_false(iter_to_list(c.vm, v, &l, &err));
    }
    assert_int_equal(iter_length(calls_read(&c, "'abc'")), 3);
    assert_int_equal(iter_length(value_from_small(1)), -1);
    calls_end(&c);
}

static void test_busy(void **state) {
    (void)state;
    Calls c;
    calls_begin(&c);
    Error err = { 0 };
    Iter outer, inner;
    Value l = calls_read(&c, "[1]"), d = calls_read(&c, "{1: 2}"), frozen = calls_read(&c, "[1]");
    assert_true(iter_begin(c.vm, &outer, l, &err) && iter_begin(c.vm, &inner, l, &err));
    assert_int_equal(value_list(l)->busy, 2);
    assert_false(list_push(c.heap, value_list(l), l, &err));
    iter_end(&inner);
    iter_end(&outer);
    assert_true(list_push(c.heap, value_list(l), VALUE_NONE, &err));
    assert_true(iter_begin(c.vm, &outer, d, &err));
    assert_false(dict_put(c.heap, value_dict(d), l, l, &err));
    iter_end(&outer);
    assert_int_equal(value_dict(d)->busy, 0);
    value_freeze(frozen);
    assert_true(iter_begin(c.vm, &outer, frozen, &err));
    assert_int_equal(value_list(frozen)->busy, 0);
    iter_end(&outer);
    calls_end(&c);
}

/* An item that does not fit the heap ends the iteration, and iter_end reports it. */
static void test_heap_limit(void **state) {
    (void)state;
    Calls c;
    calls_begin(&c);
    Error err = { 0 };
    Iter it;
    Value item;
    size_t n = 0;
    assert_true(iter_begin(c.vm, &it, calls_read(&c, "range(9000000000000000000, 9223372036854775807, 1)"), &err));
    heap_set_limit(c.heap, 1);
    while (iter_next(&it, &item)) n++;
    assert_false(iter_end(&it));
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_true(n < 100000);
    calls_end(&c);
}

/* ---- a host type that has items ---- */

typedef struct { Classed c; List *items; } Bag;
static void bag_trace(Tracer *t, Classed *o) { tracer_value(t, value_from_object(((Bag *)o)->items)); }
static bool bag_items(Vm *vm, Value self, List **out, Error *err) {
    (void)vm, (void)err;
    return *out = ((Bag *)value_object(self))->items, true;
}
static ptrdiff_t bag_length(Value self) { return ((Bag *)value_object(self))->items->n; }
static const NativeClass bag_class = { .base = { .name = "bag", .trace = bag_trace }, .items = bag_items, .length = bag_length };

static void test_host_type(void **state) {
    (void)state;
    Calls c;
    calls_begin(&c);
    Error err = { 0 };
    Bag *bag = heap_alloc_classed(c.heap, OBJECT_CLASSED, &bag_class.base, sizeof *bag, &err);
    bag->items = value_list(calls_read(&c, "[3, 1, 2]"));
    Value v = value_from_object(bag), out;
    dict_put_str(c.heap, c.kept, STR("bag"), v, NULL);
    List *l;
    assert_true(iter_to_list(c.vm, v, &l, &err));
    assert_ptr_not_equal(l, bag->items);
    static const struct { const char *fn, *want; } t[] = {
        { "sorted", "[1, 2, 3]" }, { "list", "[3, 1, 2]" }, { "max", "3" }, { "len", "3" }, { "json.encode", "\"[3,1,2]\"" },
            { "enumerate", "[(0, 3), (1, 1), (2, 2)]" },
    };
    Buf b = { 0 };
    for (size_t i = 0; i < CALLS_COUNT(t); i++) {
        bool ok = calls_call(&c, calls_function(&c, t[i].fn), &v, 1, &out, &err);
        calls_show(&c, ok, out, &err, &b);
        assert_str(buf_str(&b), t[i].want);
        assert_int_equal(bag->items->busy, 0);
    }
    buf_clear(&b);
    calls_end(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walk), cmocka_unit_test(test_what_is_not_iterable), cmocka_unit_test(test_busy), cmocka_unit_test(test_heap_limit),
        cmocka_unit_test(test_host_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
