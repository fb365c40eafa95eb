#include <math.h>
#include "value_unit.h"

static int order(Value a, Value b) {
    int out = 99;
    must(value_compare(a, b, "<", &out, &err));
    return (out > 0) - (out < 0);
}

static void numbers_are_totally_ordered(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Value row[] = {                                        /* ascending; equal numbers: equal neighbours */
        value_from_float(-INFINITY), value_from_float(-1e300), unit_parse(h, "-36893488147419103232", 10), value_from_float(-0x1p65),
        unit_int(h, INT64_MIN), value_from_float(-0x1p63), unit_small(-1), value_from_float(-0.5), unit_small(0), value_from_float(-0.0),
        value_from_float(4.9e-324), value_from_float(0.5), unit_small(1), value_from_float(1.0), value_from_float(1.5),
        unit_int(h, ((int64_t)1 << 53) - 1), unit_int(h, (int64_t)1 << 53), value_from_float(0x1p53), unit_int(h, ((int64_t)1 << 53) + 1),
        value_from_float(0x1p53 + 2), unit_int(h, INT64_MAX), value_from_float(0x1p63), unit_parse(h, "9223372036854775808", 10),
        unit_parse(h, "9223372036854775809", 10), value_from_float(1e300), value_from_float(INFINITY), value_from_float(NAN),
    };
    static const char same[] = { 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0 };
    int rank[27], r = -1;
    for (int i = 0; i < 27; i++) rank[i] = same[i] ? r : ++r;
    for (int i = 0; i < 27; i++)
        for (int k = 0; k < 27; k++) {
            int want = (rank[i] > rank[k]) - (rank[i] < rank[k]);
            if (order(row[i], row[k]) != want || unit_equal(row[i], row[k]) != (want == 0)) {
                print_error("row %d against %d\n", i, k);
                fail();
            }
            if (want == 0) assert_int_equal(unit_hash(row[i]), unit_hash(row[k]));
        }
    heap_free(h);
}

static void text_and_sequences(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Value a = unit_small(1), b = unit_small(2), x = unit_text(h, "x");
    const struct { Value a, b; int order; } cases[] = {
        { unit_text(h, "a"), unit_text(h, "b"), -1 }, { unit_text(h, "a"), unit_text(h, "a"), 0 }, { unit_text(h, ""), unit_text(h, "a"), -1 },
        { unit_text(h, "ab"), unit_text(h, "a"), 1 }, { unit_text(h, "\x7f"), unit_text(h, "\xc3\xa9"), -1 },
        { value_from_object(made(bytes_new(h, (Str){ "a\0b", 3 }, &err))), value_from_object(made(bytes_new(h, (Str){ "a\0c", 3 }, &err))), -1 },
        { LIST(h, a), LIST(h, b), -1 }, { LIST(h, a, b), LIST(h, a), 1 }, { LIST(h, a), LIST(h, value_from_float(1.0)), 0 },
        { unit_list(h, NULL, 0), LIST(h, VALUE_NONE), -1 }, { LIST(h, VALUE_NONE, a), LIST(h, VALUE_NONE, b), -1 },
        { LIST(h, LIST(h, a), x), LIST(h, LIST(h, b), a), -1 }, { TUPLE(h, a, x), TUPLE(h, a, unit_text(h, "w")), 1 },
        { TUPLE(h, value_from_float(NAN)), TUPLE(h, value_from_float(NAN)), 0 }, { TUPLE(h, value_from_float(NAN)), TUPLE(h, b), 1 },
        { VALUE_FALSE, VALUE_TRUE, -1 }, { VALUE_TRUE, VALUE_TRUE, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (order(cases[i].a, cases[i].b) != cases[i].order || order(cases[i].b, cases[i].a) != -cases[i].order) {
            print_error("case %zu\n", i);
            fail();
        }
        assert_int_equal(unit_equal(cases[i].a, cases[i].b), cases[i].order == 0);
    }
    heap_free(h);
}

static void what_has_no_order_says_so(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Value d = value_from_object(made(dict_new(h, 0, &err))), s = value_from_object(made(set_new(h, 0, &err))), range;
    must(range_new(h, 0, 1, 1, &range, &err));
    const struct { Value a, b; const char *op, *words; } cases[] = {
        { unit_small(1), unit_text(h, "a"), "<", "int < string not implemented" },
        { unit_text(h, "a"), unit_small(1), ">=", "string >= int not implemented" },
        { VALUE_TRUE, unit_small(1), "<", "bool < int not implemented" },
        { VALUE_NONE, VALUE_NONE, "<=", "NoneType <= NoneType not implemented" },
        { d, d, "<", "dict < dict not implemented" }, { s, s, ">", "set > set not implemented" },
        { range, range, "<", "range < range not implemented" },
        { unit_list(h, NULL, 0), unit_tuple(h, NULL, 0), "<", "list < tuple not implemented" },
        { unit_text(h, "a"), value_from_object(made(bytes_new(h, STR("a"), &err))), "<", "string < bytes not implemented" },
        { LIST(h, unit_small(1)), LIST(h, unit_text(h, "a")), "<", "int < string not implemented" },
        { TUPLE(h, unit_small(1), d), TUPLE(h, unit_small(1), VALUE_NONE), ">", "dict > NoneType not implemented" },
        { unit_box(h, d), value_from_float(1), "<", "box < float not implemented" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int out = 7;
        refused(ERR_SCRIPT, cases[i].words, value_compare(cases[i].a, cases[i].b, cases[i].op, &out, &err));
    }
    heap_free(h);
}

static bool boxes_alike(const Classed *a, const Classed *b) { return value_same(((const Box *)a)->held, ((const Box *)b)->held); }
static bool box_full(const Classed *o) { return !value_is_none(((const Box *)o)->held); }

static void equality_of_everything_else(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Dict *d = made(dict_new(h, 0, &err)), *e = made(dict_new(h, 0, &err)), *s = made(set_new(h, 0, &err)), *t = made(set_new(h, 0, &err));
    Value ds = value_from_object(d), es = value_from_object(e), ss = value_from_object(s), ts = value_from_object(t);
    assert_true(unit_equal(ds, es) && unit_equal(ss, ts) && !unit_equal(ds, ss));
    for (int i = 0; i < 30; i++) {                         /* order does not matter */
        must(dict_put(h, d, unit_small(i), LIST(h, unit_small(i)), &err));
        must(dict_put(h, e, unit_small(29 - i), LIST(h, value_from_float(29 - i)), &err));
        must(dict_put(h, s, unit_small(i), VALUE_NONE, &err));
        must(dict_put(h, t, value_from_float(29 - i), VALUE_NONE, &err));
    }
    assert_true(unit_equal(ds, es) && unit_equal(ss, ts));
    must(dict_put(h, e, unit_small(3), LIST(h, unit_small(4)), &err));
    assert_false(unit_equal(ds, es));
    must(dict_put(h, t, unit_text(h, "x"), VALUE_NONE, &err));
    must(dict_put(h, s, unit_text(h, "y"), VALUE_NONE, &err));
    assert_false(unit_equal(ss, ts));
    const struct { Value a, b; } apart[] = {
        { VALUE_TRUE, unit_small(1) }, { VALUE_FALSE, unit_small(0) }, { VALUE_NONE, VALUE_FALSE },
            { unit_text(h, "a"), value_from_object(made(bytes_new(h, STR("a"), &err))) },
        { unit_list(h, NULL, 0), unit_tuple(h, NULL, 0) }, { unit_box(h, VALUE_NONE), unit_box(h, VALUE_NONE) },
        { VALUE_TRUE, value_from_float(1) }, { LIST(h, VALUE_TRUE), LIST(h, unit_small(1)) }, { unit_text(h, "1"), unit_small(1) },
    };
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) assert_false(unit_equal(apart[i].a, apart[i].b));
    Value box = unit_box(h, VALUE_NONE);
    assert_true(unit_equal(box, box));
    ObjectClass alike = { .name = "alike", .equal = boxes_alike, .truth = box_full }, other = alike;
    Box *x = made((Box *)heap_alloc_classed(h, OBJECT_CLASSED, &alike, sizeof *x, &err));
    Box *y = made((Box *)heap_alloc_classed(h, OBJECT_CLASSED, &alike, sizeof *y, &err));
    Box *z = made((Box *)heap_alloc_classed(h, OBJECT_CLASSED, &other, sizeof *z, &err));
    x->held = y->held = z->held = VALUE_NONE;
    assert_true(unit_equal(value_from_object(x), value_from_object(y)));
    assert_false(unit_equal(value_from_object(x), value_from_object(z)));
    y->held = VALUE_TRUE;
    assert_false(unit_equal(value_from_object(x), value_from_object(y)));
    assert_false(value_truth(value_from_object(x)));
    assert_true(value_truth(value_from_object(y)));
    refused(ERR_SCRIPT, "unhashable: alike", value_hash(value_from_object(x), &(uint32_t){ 0 }, &err));
    heap_free(h);
}

static const char too_deep[] = "comparison exceeded maximum recursion depth";

static Value nested(Heap *h, int depth, int kind) {
    Value v = unit_small(1);
    for (int i = 0; i < depth; i++) {
        if (kind == 0) v = LIST(h, v);
        else if (kind == 1) v = TUPLE(h, v);
        else {
            Dict *d = made(dict_new(h, 0, &err));
            must(dict_put(h, d, unit_small(1), v, &err));
            v = value_from_object(d);
        }
    }
    return v;
}

static void depth_ends_in_an_error(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    for (int kind = 0; kind < 3; kind++) {
        bool same;
        int out;
        assert_true(unit_equal(nested(h, VALUE_DEPTH_MAX, kind), nested(h, VALUE_DEPTH_MAX, kind)));
        if (kind < 2) assert_int_equal(order(nested(h, VALUE_DEPTH_MAX, kind), nested(h, VALUE_DEPTH_MAX, kind)), 0);
        Value a = nested(h, VALUE_DEPTH_MAX + 1, kind), b = nested(h, VALUE_DEPTH_MAX + 1, kind);
        refused(ERR_SCRIPT, too_deep, value_equal(a, b, &same, &err));
        if (kind < 2) refused(ERR_SCRIPT, too_deep, value_compare(a, b, "<", &out, &err));
        refused(ERR_SCRIPT, too_deep, value_equal(a, a, &same, &err));       /* identity is not a shortcut */
        Value deep = nested(h, 100000, kind), deep2 = nested(h, 100000, kind);
        refused(ERR_SCRIPT, too_deep, value_equal(deep, deep2, &same, &err));
    }
    heap_free(h);
}

static void cycles_end_in_an_error(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Value a = LIST(h, VALUE_NONE, VALUE_NONE), b = LIST(h, VALUE_NONE, VALUE_NONE);
    bool same;
    int out;
    for (int i = 0; i < 2; i++) { value_list(a)->at[i] = a; value_list(b)->at[i] = b; }
    refused(ERR_SCRIPT, too_deep, value_equal(a, b, &same, &err));
    refused(ERR_SCRIPT, too_deep, value_compare(a, b, "<", &out, &err));
    refused(ERR_SCRIPT, too_deep, value_equal(a, a, &same, &err));
    Dict *d = made(dict_new(h, 0, &err)), *e = made(dict_new(h, 0, &err));
    must(dict_put(h, d, unit_small(1), value_from_object(d), &err));
    must(dict_put(h, e, unit_small(1), value_from_object(e), &err));
    refused(ERR_SCRIPT, too_deep, value_equal(value_from_object(d), value_from_object(e), &same, &err));
    heap_free(h);
}

/* A shared part counts each time it occurs: 2^100 of them must not hang. */
static void shared_parts_do_not_explode(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    bool same;
    int out;
    for (int kind = 0; kind < 2; kind++) {
        Value a = unit_small(1), b = unit_small(1);
        for (int i = 0; i < 100; i++) {
            a = kind ? TUPLE(h, a, a) : LIST(h, a, a);
            b = kind ? TUPLE(h, b, b) : LIST(h, b, b);
        }
        if (!kind) refused(ERR_LIMIT, "values too large to compare", value_equal(a, b, &same, &err));
        else refused(ERR_LIMIT, "values too large to compare", value_compare(a, b, "<", &out, &err));
        refused(ERR_LIMIT, "values too large to compare", value_equal(a, a, &same, &err));
    }
    Value key = unit_small(1);
    for (int i = 0; i < 16; i++) key = TUPLE(h, key, key);
    Dict *d = made(dict_new(h, 0, &err)), *e = made(dict_new(h, 0, &err));
    must(dict_put(h, d, key, VALUE_NONE, &err));
    must(dict_put(h, e, key, VALUE_NONE, &err));
    List *left = made(list_new(h, 0, &err)), *right = made(list_new(h, 0, &err));
    for (int i = 0; i < 100000; i++) {                     /* each is expensive to hash */
        must(list_push(h, left, value_from_object(d), &err));
        must(list_push(h, right, value_from_object(e), &err));
    }
    refused(ERR_LIMIT, "values too large to compare", value_equal(value_from_object(left), value_from_object(right), &same, &err));
    String *s, *t;
    char *at;
    s = made(string_room(h, 1 << 20, &at, &err));
    memset(at, 'x', 1 << 20);
    t = made(string_new(h, string_str(s), &err));
    List *many = made(list_new(h, 0, &err)), *more = made(list_new(h, 0, &err));
    for (int i = 0; i < 100000; i++) {                     /* a hundred gigabytes to compare */
        must(list_push(h, many, value_from_object(s), &err));
        must(list_push(h, more, value_from_object(t), &err));
    }
    refused(ERR_LIMIT, "values too large to compare", value_equal(value_from_object(many), value_from_object(more), &same, &err));
    heap_free(h);
}

static void truth_and_names(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Value range, empty;
    must(range_new(h, 0, 3, 1, &range, &err));
    must(range_new(h, 3, 0, 1, &empty, &err));
    Dict *d = made(dict_new(h, 0, &err)), *s = made(set_new(h, 0, &err));
    must(dict_put(h, s, VALUE_NONE, VALUE_NONE, &err));
    const struct { Value v; bool truth; const char *name; } cases[] = {
        { VALUE_NONE, false, "NoneType" }, { VALUE_FALSE, false, "bool" }, { VALUE_TRUE, true, "bool" }, { unit_small(0), false, "int" },
        { unit_small(-1), true, "int" }, { unit_parse(h, "99999999999999999999", 10), true, "int" }, { value_from_float(0), false, "float" },
        { value_from_float(-0.0), false, "float" }, { value_from_float(NAN), true, "float" }, { value_from_float(4.9e-324), true, "float" },
        { unit_text(h, ""), false, "string" }, { unit_text(h, "0"), true, "string" }, { value_from_object(made(bytes_new(h, STR(""), &err))), false, "bytes" },
        { unit_list(h, NULL, 0), false, "list" }, { LIST(h, VALUE_NONE), true, "list" }, { unit_tuple(h, NULL, 0), false, "tuple" },
        { TUPLE(h, VALUE_NONE), true, "tuple" }, { value_from_object(d), false, "dict" }, { value_from_object(s), true, "set" },
        { range, true, "range" }, { empty, false, "range" }, { unit_box(h, VALUE_NONE), true, "box" }, { VALUE_GONE, false, "nothing" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(value_truth(cases[i].v), cases[i].truth);
        assert_string_equal(value_type_name(cases[i].v), cases[i].name);
    }
    heap_free(h);
}

static void words_hold_what_went_in(void **state) {
    (void)state;
    Rng rng = { 31 };
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = rng_next(&rng);
        if (i % 3 == 0) bits = bits >> 52 << 52 | (bits & 7);
        double d;
        memcpy(&d, &bits, 8);
        Value v = value_from_float(d);
        assert_true(value_is_float(v) && !value_is_small(v) && !value_is_object(v) && !value_is_bool(v) && !value_is_gone(v) && !value_is_none(v));
        double back = value_float(v);
        assert_true(d != d ? back != back : memcmp(&back, &d, 8) == 0);
        int64_t n = (int64_t)bits >> (14 + rng_below(&rng, 40));
        v = value_from_small(n);
        assert_true(value_is_small(v) && !value_is_float(v) && !value_is_object(v));
        assert_true(value_small(v) == n);
        assert_false(value_both_small(v, value_from_float(d)));
    }
    assert_true(value_same(value_from_float(NAN), value_from_float(-NAN)));
    assert_true(value_is_float(value_from_float(-INFINITY)));
    assert_false(value_small_fits(VALUE_INT_MAX + 1));
    assert_false(value_small_fits(VALUE_INT_MIN - 1));
    assert_true(value_bool(value_from_bool(true)) && !value_bool(value_from_bool(false)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_totally_ordered),
        cmocka_unit_test(text_and_sequences),
        cmocka_unit_test(what_has_no_order_says_so),
        cmocka_unit_test(equality_of_everything_else),
        cmocka_unit_test(depth_ends_in_an_error),
        cmocka_unit_test(cycles_end_in_an_error),
        cmocka_unit_test(shared_parts_do_not_explode),
        cmocka_unit_test(truth_and_names),
        cmocka_unit_test(words_hold_what_went_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
