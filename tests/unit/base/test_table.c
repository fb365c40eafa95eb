#include "unit.h"
#include "base/arena.h"
#include "base/table.h"

static void empty_table_has_nothing(void **state) {
    (void)state;
    Table t = { 0 };
    assert_null(table_get(&t, STR("a")));
    assert_false(table_has(&t, STR("")));
    table_clear(&t);
}

static void keeps_insertion_order(void **state) {
    (void)state;
    Table t = { 0 };
    int one, two;
    assert_null(table_put(&t, STR("b"), &one));
    assert_null(table_put(&t, STR("a"), &one));
    assert_ptr_equal(table_put(&t, STR("b"), &two), &one);
    assert_null(table_put(&t, STR(""), NULL));
    assert_int_equal(t.n, 3);
    assert_str(t.entry[0].key, "b");
    assert_str(t.entry[1].key, "a");
    assert_ptr_equal(table_get(&t, STR("b")), &two);
    assert_null(table_get(&t, STR("")));
    assert_true(table_has(&t, STR("")));
    table_clear(&t);
    assert_int_equal(t.n, 0);
}

static void holds_many(void **state) {
    (void)state;
    enum { N = 50000 };
    Table t = { 0 };
    Arena a = { 0 };
    for (uintptr_t i = 0; i < N; i++)
        assert_null(table_put(&t, str_from(arena_fmt(&a, "key%zu", (size_t)i)), (void *)(i + 1)));
    for (uintptr_t i = 0; i < N; i++) {
        Str key = str_from(arena_fmt(&a, "key%zu", (size_t)i));
        assert_ptr_equal(table_get(&t, key), (void *)(i + 1));
        assert_true(str_eq(t.entry[i].key, key));
    }
    assert_false(table_has(&t, STR("key50000")));
    assert_int_equal(t.n, N);
    table_clear(&t);
    arena_clear(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_table_has_nothing),
        cmocka_unit_test(keeps_insertion_order),
        cmocka_unit_test(holds_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
