#include "value_unit.h"

static void check(const List *l, const int *want, size_t n) {
    assert_int_equal(l->n, n);
    for (size_t i = 0; i < n; i++) assert_int_equal(value_small(l->at[i]), want[i]);
}

static void lists_change_in_the_middle(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    List *l = made(list_new(h, 0, &err));
    check(l, NULL, 0);
    must(list_insert(h, l, 0, unit_small(2), &err));
    must(list_insert(h, l, 0, unit_small(1), &err));
    must(list_insert(h, l, 2, unit_small(4), &err));
    must(list_insert(h, l, 2, unit_small(3), &err));
    check(l, (int[]){ 1, 2, 3, 4 }, 4);
    Value out = VALUE_NONE;
    must(list_remove_at(l, 0, &out, &err));
    assert_int_equal(value_small(out), 1);
    must(list_remove_at(l, 2, NULL, &err));
    check(l, (int[]){ 2, 3 }, 2);
    must(list_clear(l, &err));
    check(l, NULL, 0);
    must(list_push(h, l, unit_small(9), &err));
    must(list_remove_at(l, 0, &out, &err));
    check(l, NULL, 0);
    heap_free(h);
}

static void random_edits_match_an_array(void **state) {
    (void)state;
    enum { MOST = 3000 };
    Heap *h = heap_new(0);
    Rng rng = { 3 };
    List *l = made(list_new(h, 0, &err));
    Value keep = value_from_object(l);
    heap_pin(h, &keep, 1);
    static int model[MOST + 1];
    size_t n = 0;
    for (int step = 0; step < 30000; step++) {
        size_t what = rng_below(&rng, 100);
        if (what < 62 && n < MOST) {
            size_t i = what < 30 ? n : rng_below(&rng, n + 1);
            if (i == n) must(list_push(h, l, unit_small(step), &err));
            else must(list_insert(h, l, i, unit_small(step), &err));
            memmove(model + i + 1, model + i, (n - i) * sizeof *model);
            model[i] = step;
            n++;
        } else if (what < 99 && n) {
            size_t i = rng_below(&rng, n);
            Value out = VALUE_NONE;
            must(list_remove_at(l, i, &out, &err));
            assert_int_equal(value_small(out), model[i]);
            memmove(model + i, model + i + 1, (n - i - 1) * sizeof *model);
            n--;
        } else if (what == 99 && rng_below(&rng, 50) == 0) {
            must(list_clear(l, &err));
            n = 0;
        }
        if (step % 300 == 0) { heap_collect(h); check(l, model, n); }
    }
    check(l, model, n);
    heap_free(h);
}

static void reserving_past_the_limit_is_refused(void **state) {
    (void)state;
    Heap *h = heap_new(1 << 20);
    List *l = value_list(LIST(h, unit_small(1), unit_small(2), unit_small(3)));
    static const size_t more[] = { SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 2, SIZE_MAX - 3, SIZE_MAX / 8, LIST_MAX, LIST_MAX - 2 };
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        refused(ERR_LIMIT, "too many items in a list (limit 268435456)", list_reserve(h, l, more[i], &err));
    refused(ERR_LIMIT, "heap limit of 1048576 bytes reached", list_reserve(h, l, LIST_MAX - 3, &err));
    refused(ERR_LIMIT, "too many items in a list (limit 268435456)", list_new(h, SIZE_MAX, &err));
    refused(ERR_LIMIT, "too many items in a list (limit 268435456)", list_from(h, NULL, LIST_MAX + 1, &err));
    refused(ERR_LIMIT, "too many items in a tuple (limit 268435456)", tuple_new(h, LIST_MAX + 1, &err));
    refused(ERR_LIMIT, "too many items in a tuple (limit 268435456)", tuple_new(h, SIZE_MAX / 8, &err));
    must(list_reserve(h, l, 0, &err));
    must(list_reserve(h, l, 1000, &err));
    assert_true(l->cap >= 1003);
    Value *at = l->at;
    for (int i = 0; i < 1000; i++) must(list_push(h, l, unit_small(i), &err));
    assert_ptr_equal(l->at, at);                           /* does not move within the reserved capacity */
    heap_free(h);
}

static void a_busy_or_frozen_list_refuses(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    List *l = value_list(LIST(h, unit_small(1)));
    Value out = VALUE_NONE;
    l->busy = 1;
    refused(ERR_SCRIPT, "cannot append to list during iteration", list_push(h, l, VALUE_NONE, &err));
    refused(ERR_SCRIPT, "cannot insert into list during iteration", list_insert(h, l, 0, VALUE_NONE, &err));
    refused(ERR_SCRIPT, "cannot pop from list during iteration", list_remove_at(l, 0, &out, &err));
    refused(ERR_SCRIPT, "cannot clear list during iteration", list_clear(l, &err));
    refused(ERR_SCRIPT, "cannot sort list during iteration", list_check_mutable(l, "sort", &err));
    l->busy = 0;
    must(list_check_mutable(l, "sort", &err));
    value_freeze(value_from_object(l));
    refused(ERR_SCRIPT, "cannot append to frozen list", list_push(h, l, VALUE_NONE, &err));
    refused(ERR_SCRIPT, "cannot insert into frozen list", list_insert(h, l, 0, VALUE_NONE, &err));
    refused(ERR_SCRIPT, "cannot pop from frozen list", list_remove_at(l, 0, &out, &err));
    refused(ERR_SCRIPT, "cannot clear frozen list", list_clear(l, &err));
    refused(ERR_SCRIPT, "cannot sort frozen list", list_check_mutable(l, "sort", &err));
    assert_true(value_is_none(out));
    check(l, (int[]){ 1 }, 1);
    heap_free(h);
}

static void tuples_start_as_none(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    for (size_t n = 0; n < 3000; n += 1 + n / 3) {
        Tuple *t = made(tuple_new(h, n, &err));
        assert_int_equal(t->n, n);
        for (size_t i = 0; i < n; i++) assert_true(value_is_none(t->at[i]));
    }
    Tuple *t = value_tuple(TUPLE(h, unit_small(4), VALUE_TRUE));
    assert_int_equal(value_small(t->at[0]), 4);
    assert_true(value_is_tuple(value_from_object(t)) && !value_is_list(value_from_object(t)));
    assert_int_equal(made(tuple_from(h, NULL, 0, &err))->n, 0);
    heap_free(h);
}

static void pushing_a_million_is_linear(void **state) {
    (void)state;
    Heap *h = heap_new(64 << 20);                          /* too small for copies of all intermediate sizes */
    List *l = made(list_new(h, 0, &err));
    for (int i = 0; i < 1000000; i++) must(list_push(h, l, unit_small(i), &err));
    for (int i = 0; i < 1000000; i++) assert_int_equal(value_small(l->at[i]), i);
    assert_true(heap_stats(h).used < 20 << 20);
    heap_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_change_in_the_middle),
        cmocka_unit_test(random_edits_match_an_array),
        cmocka_unit_test(reserving_past_the_limit_is_refused),
        cmocka_unit_test(a_busy_or_frozen_list_refuses),
        cmocka_unit_test(tuples_start_as_none),
        cmocka_unit_test(pushing_a_million_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
