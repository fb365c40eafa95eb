#include "value_unit.h"

static Range *range(Heap *h, int64_t start, int64_t stop, int64_t step) {
    Value v;
    must(range_new(h, start, stop, step, &v, &err));
    assert_true(value_is_range(v));
    return value_range(v);
}

static void lengths_and_last_items(void **state) {
    (void)state;
    static const struct { int64_t start, stop, step, n, last; } cases[] = {
        { 0, 0, 1, 0, 0 }, { 0, 10, 1, 10, 9 }, { 0, 10, 3, 4, 9 }, { 0, 9, 3, 3, 6 }, { 10, 0, 1, 0, 0 }, { 10, 0, -1, 10, 1 },
        { 10, 0, -3, 4, 1 }, { 0, 10, -1, 0, 0 }, { 0, 1, INT64_MAX, 1, 0 }, { 0, -1, INT64_MIN, 1, 0 },
        { INT64_MIN, INT64_MAX, INT64_MAX, 3, INT64_MAX - 1 }, { INT64_MAX, INT64_MIN, INT64_MIN, 2, -1 },
        { INT64_MIN, INT64_MAX, (int64_t)1 << 62, 4, (int64_t)1 << 62 },
        { INT64_MAX, INT64_MIN, -((int64_t)1 << 62), 4, INT64_MAX - 3 * ((int64_t)1 << 61) - 3 * ((int64_t)1 << 61) },
        { INT64_MAX - 1, INT64_MAX, 1, 1, INT64_MAX - 1 }, { INT64_MAX, INT64_MAX, 1, 0, 0 }, { INT64_MIN, INT64_MIN, -1, 0, 0 },
        { INT64_MAX - 5, INT64_MAX, 4, 2, INT64_MAX - 1 }, { INT64_MIN + 5, INT64_MIN, -4, 2, INT64_MIN + 1 },
        { INT64_MIN, INT64_MAX, 1, INT64_MAX, -2 }, { INT64_MIN, 0, 1, INT64_MAX, -2 }, { INT64_MIN, -1, 1, INT64_MAX, -2 },
        { INT64_MIN, INT64_MAX, 2, INT64_MAX, INT64_MAX - 3 },
    };
    Heap *h = heap_new(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Range *r = range(h, cases[i].start, cases[i].stop, cases[i].step);
        assert_int_equal(r->n, cases[i].n);
        if (r->n) {
            assert_true(range_at(r, 0) == r->start);
            assert_true(range_at(r, r->n - 1) == cases[i].last);
        }
        assert_int_equal(value_truth(value_from_object(r)), r->n > 0);
    }
    heap_free(h);
}

static void equal_as_sequences(void **state) {
    (void)state;
    static const struct { int64_t a[3], b[3]; bool equal; } cases[] = {
        { { 0, 10, 1 }, { 0, 10, 1 }, true }, { { 0, 0, 1 }, { 5, 2, 3 }, true }, { { 0, 10, 3 }, { 0, 12, 3 }, true },
        { { 0, 10, 3 }, { 0, 13, 3 }, false }, { { 4, 5, 1 }, { 4, -9, -100 }, true }, { { 0, 10, 1 }, { 1, 11, 1 }, false },
        { { 0, 4, 2 }, { 0, 2, 1 }, false }, { { 0, 1, 1 }, { 0, 0, 1 }, false },
        { { INT64_MIN, INT64_MAX, 1 }, { INT64_MIN, INT64_MAX, 1 }, true },
        { { INT64_MIN, INT64_MAX, 1 }, { INT64_MIN, INT64_MAX - 1, 1 }, false },   /* longer than an int64 can express */
        { { INT64_MIN, INT64_MAX, 1 }, { INT64_MIN, -1, 1 }, false },
        { { INT64_MAX, INT64_MIN, -1 }, { INT64_MAX, INT64_MIN + 9, -1 }, false },
    };
    Heap *h = heap_new(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Range *a = range(h, cases[i].a[0], cases[i].a[1], cases[i].a[2]), *b = range(h, cases[i].b[0], cases[i].b[1], cases[i].b[2]);
        if (range_equal(a, b) != cases[i].equal || range_equal(b, a) != cases[i].equal) {
            print_error("case %zu\n", i);
            fail();
        }
        assert_int_equal(unit_equal(value_from_object(a), value_from_object(b)), cases[i].equal);
    }
    heap_free(h);
}

static void a_full_heap_refuses(void **state) {
    (void)state;
    Heap *h = heap_new(16);
    Value v = VALUE_NONE;
    refused(ERR_LIMIT, "heap limit of 16 bytes reached", range_new(h, 0, 1, 1, &v, &err));
    assert_true(value_is_none(v));
    heap_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_and_last_items),
        cmocka_unit_test(equal_as_sequences),
        cmocka_unit_test(a_full_heap_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
