#include <pthread.h>
#include "value_unit.h"

static bool frozen(Value v) { return object_frozen(value_object(v)); }

static void freezing_reaches_everything_below(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Value deep = LIST(h, unit_small(1)), apart = LIST(h, deep), key = TUPLE(h, unit_text(h, "k"));
    Dict *d = made(dict_new(h, 0, &err)), *set = made(set_new(h, 0, &err));
    must(dict_put(h, d, key, TUPLE(h, unit_box(h, deep)), &err));
    must(dict_put(h, set, unit_text(h, "member"), VALUE_NONE, &err));
    Value root = LIST(h, value_from_object(d), value_from_object(set), VALUE_NONE);
    value_list(root)->at[2] = root;                        /* a cycle */
    value_freeze(root);
    value_freeze(root);                                    /* twice is allowed */
    assert_true(frozen(root) && frozen(deep) && frozen(key) && frozen(value_from_object(d)) && frozen(value_from_object(set)));
    assert_false(frozen(apart));
    must(list_push(h, value_list(apart), VALUE_NONE, &err));
    refused(ERR_SCRIPT, "cannot append to frozen list", list_push(h, value_list(deep), VALUE_NONE, &err));
    refused(ERR_SCRIPT, "cannot insert into frozen hash table", dict_put(h, d, key, VALUE_NONE, &err));
    refused(ERR_SCRIPT, "cannot insert into frozen hash table", dict_put(h, set, VALUE_NONE, VALUE_NONE, &err));
    value_freeze(VALUE_NONE);
    value_freeze(unit_small(4));
    value_freeze(VALUE_GONE);
    heap_free(h);
}

static void what_is_reached_first_does_not_hide_the_rest(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Value inner = LIST(h, VALUE_NONE), outer = LIST(h, inner, LIST(h, inner, unit_small(1)));
    value_freeze(inner);
    assert_false(frozen(outer));
    value_freeze(outer);
    assert_true(frozen(value_list(outer)->at[1]));
    heap_free(h);
}

static void frozen_values_are_still_collected(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Value v = LIST(h, unit_text(h, "inside"), unit_box(h, LIST(h, unit_text(h, "deeper"))));
    value_freeze(v);
    size_t pin = heap_pin(h, &v, 1);
    heap_collect(h);
    heap_collect(h);
    assert_str(value_str(value_list(v)->at[0]), "inside");
    assert_true(frozen(v));
    heap_unpin(h, pin);
    heap_collect(h);
    assert_int_equal(heap_stats(h).live, 0);
    heap_free(h);
}

static void frozen_strings_still_grow_into_new_ones(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    String *s = value_string(unit_text(h, ""));
    for (int i = 0; i < 60; i++) s = made(string_concat(h, s, value_string(unit_text(h, "0123456789")), &err));
    value_freeze(value_from_object(s));
    String *a = made(string_concat(h, s, value_string(unit_text(h, "a")), &err));
    String *b = made(string_concat(h, s, value_string(unit_text(h, "b")), &err));
    assert_int_equal(s->n, 600);
    assert_int_equal(a->at[600], 'a');
    assert_int_equal(b->at[600], 'b');
    heap_free(h);
}

static void a_million_levels(void **state) {
    (void)state;
    enum { DEPTH = UNIT_HOSTILE ? 100000 : 1000000 };
    Heap *h = heap_new(0);
    Value v = LIST(h, unit_small(1)), bottom = v;
    for (int i = 0; i < DEPTH; i++) v = i % 2 ? LIST(h, v) : TUPLE(h, v);
    value_freeze(v);
    assert_true(frozen(bottom));
    heap_pin(h, &v, 1);
    heap_collect(h);                                       /* marks as deep */
    refused(ERR_SCRIPT, "cannot append to frozen list", list_push(h, value_list(bottom), VALUE_NONE, &err));
    assert_int_equal(value_small(value_list(bottom)->at[0]), 1);
    heap_free(h);
}

/* ---- many threads on one frozen heap ---- */

typedef struct { Dict *d; List *l; } Shared;

static void *read_all(void *ctx) {
    const Shared *s = ctx;
    Heap *h = heap_new(0);
    uintptr_t good = 0;
    for (int round = 0; round < 3; round++) {
        Value mine = unit_list(h, (Value[]){ value_from_object(s->d), value_from_object(s->l) }, 2), twin;
        size_t pin = heap_pin(h, &mine, 1);
        for (uint32_t i = 0; i < s->l->n; i++) {
            Value *found = NULL, text = unit_text(h, "suffix");
            if (!dict_get(s->d, s->l->at[i], &found, NULL) || !found) continue;
            if (value_is_string(s->l->at[i])) string_concat(h, value_string(s->l->at[i]), value_string(text), NULL);
            good += value_small(*found) == (int64_t)i;
            heap_safepoint(h);
        }
        bool same = false;
        if (value_copy_all_into(h, mine, &twin, NULL) && value_equal(mine, twin, &same, NULL)) good += same;
        value_freeze(mine);
        heap_unpin(h, pin);
        heap_collect(h);
    }
    heap_free(h);
    return (void *)good;
}

static void threads_read_a_frozen_heap(void **state) {
    (void)state;
    enum { N = 300 };
    Heap *h = heap_new(0);
    Shared s = { made(dict_new(h, 0, &err)), made(list_new(h, 0, &err)) };
    for (int i = 0; i < N; i++) {
        Value key = i % 3 == 0 ? value_from_object(made(string_fmt(h, &err, "key %d", i))) : i % 3 == 1 ? unit_small(i)
            : TUPLE(h, unit_small(i), unit_text(h, "t"));
        must(dict_put(h, s.d, key, unit_small(i), &err));
        must(list_push(h, s.l, key, &err));
    }
    heap_freeze_all(h);
    pthread_t thread[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&thread[i], NULL, read_all, &s), 0);
    for (int i = 0; i < 4; i++) {
        void *good;
        pthread_join(thread[i], &good);
        assert_int_equal((uintptr_t)good, 3 * N + 3);
    }
    heap_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(freezing_reaches_everything_below),
        cmocka_unit_test(what_is_reached_first_does_not_hide_the_rest),
        cmocka_unit_test(frozen_values_are_still_collected),
        cmocka_unit_test(frozen_strings_still_grow_into_new_ones),
        cmocka_unit_test(a_million_levels),
        cmocka_unit_test(threads_read_a_frozen_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
