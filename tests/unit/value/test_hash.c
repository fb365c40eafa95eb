#include <float.h>
#include <math.h>
#include "value_unit.h"

/* Equal values have equal hashes; different values nearly always have different ones. */
static void equal_numbers_hash_alike(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Rng rng = { 37 };
    for (int i = 0; i < 50000; i++) {
        double d = ldexp((double)(int64_t)rng_next(&rng), (int)rng_below(&rng, 1080) - 100);
        if (i % 5 == 0) d = (double)((int64_t)rng_next(&rng) >> rng_below(&rng, 64));
        if (i % 7 == 0) d = ldexp(rng_next(&rng) & 1 ? 1 : -1, (int)rng_below(&rng, 1024));
        if (!isfinite(d)) continue;
        Value whole, parsed, f = value_from_float(trunc(d));
        must(int_from_double(h, d, &whole, &err));
        Buf text = { 0 };
        int_text(&text, whole, 10);
        must(int_parse(h, buf_str(&text), 10, &parsed, &err));
        buf_clear(&text);
        assert_true(unit_equal(whole, f) && unit_equal(parsed, f));
        assert_int_equal(unit_hash(whole), unit_hash(f));
        assert_int_equal(unit_hash(parsed), unit_hash(f));
        assert_int_equal(unit_hash(TUPLE(h, whole, f)), unit_hash(TUPLE(h, f, parsed)));
        heap_safepoint(h);
    }
    static const double odd[] = { DBL_MAX, -DBL_MAX, 0x1p49, -0x1p49, 0x1p49 - 1, -0x1p49 - 1, 0x1p63, -0x1p63, 0x1p64, 0x1p1023, 0, -0.0 };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        Value whole;
        must(int_from_double(h, odd[i], &whole, &err));
        assert_true(unit_equal(whole, value_from_float(odd[i])));
        assert_int_equal(unit_hash(whole), unit_hash(value_from_float(odd[i])));
        if (value_is(whole, OBJECT_INT)) assert_int_equal(int_hash(value_bigint(whole)), int_hash_double(odd[i]));
    }
    unit_hash(value_from_float(INFINITY));
    unit_hash(value_from_float(-INFINITY));
    assert_int_equal(unit_hash(value_from_float(NAN)), unit_hash(value_from_float(-NAN)));
    heap_free(h);
}

static void different_values_seldom_collide(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    uint32_t seen[400];
    size_t n = 0;
    for (int i = 0; i < 20; i++) {
        Value big, minus;
        must(int_shl(h, unit_small(i + 1), unit_small(60), &big, &err));
        must(int_neg(h, big, &minus, &err));
        Value all[] = { unit_small(i), unit_small(-i - 1), value_from_float(i + 0.5), big, minus, unit_text(h, (char[]){ (char)('a' + i), 0 }),
                        TUPLE(h, unit_small(i)), TUPLE(h, unit_small(i), unit_small(i)), TUPLE(h, unit_small(i), unit_small(i + 1)),
                        TUPLE(h, unit_small(i + 1), unit_small(i)), TUPLE(h, TUPLE(h, unit_small(i))), unit_box(h, VALUE_NONE) };
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) seen[n++] = unit_hash(all[k]);
    }
    seen[n++] = unit_hash(VALUE_NONE);
    seen[n++] = unit_hash(VALUE_TRUE);
    seen[n++] = unit_hash(VALUE_FALSE);
    seen[n++] = unit_hash(unit_tuple(h, NULL, 0));
    int same = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) same += seen[i] == seen[k];
    assert_true(same <= 2);                                /* 30,000 pairs, 32 bits: even one is unlikely */
    heap_free(h);
}

static void what_can_change_has_no_hash(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    uint32_t out = 0;
    Value l = LIST(h, unit_small(1));
    refused(ERR_SCRIPT, "unhashable type: list", value_hash(l, &out, &err));
    value_freeze(l);
    refused(ERR_SCRIPT, "unhashable type: list", value_hash(l, &out, &err));
    refused(ERR_SCRIPT, "unhashable type: list", value_hash(TUPLE(h, unit_small(1), TUPLE(h, l)), &out, &err));
    refused(ERR_SCRIPT, "unhashable type: dict", value_hash(value_from_object(made(dict_new(h, 0, &err))), &out, &err));
    Value box = unit_box(h, VALUE_NONE);
    assert_int_equal(unit_hash(box), unit_hash(box));
    heap_free(h);
}

static void depth_and_sharing_end_in_an_error(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Value v = unit_small(1), twice = unit_small(1);
    uint32_t out;
    for (int i = 0; i < VALUE_DEPTH_MAX; i++) v = TUPLE(h, v);
    unit_hash(v);
    refused(ERR_SCRIPT, "value nested too deeply to hash", value_hash(TUPLE(h, v), &out, &err));
    for (int i = 0; i < 100000; i++) v = TUPLE(h, v);
    refused(ERR_SCRIPT, "value nested too deeply to hash", value_hash(v, &out, &err));
    for (int i = 0; i < 100; i++) twice = TUPLE(h, twice, twice);
    Dict *d = made(dict_new(h, 0, &err));
    refused(ERR_LIMIT, "value too large to hash", dict_put(h, d, twice, VALUE_NONE, &err));
    heap_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_numbers_hash_alike),
        cmocka_unit_test(different_values_seldom_collide),
        cmocka_unit_test(what_can_change_has_no_hash),
        cmocka_unit_test(depth_and_sharing_end_in_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
