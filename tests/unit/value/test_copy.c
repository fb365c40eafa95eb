#include "value_unit.h"
#include "value/json.h"

static Value copy(Heap *h, Value v) { Value out; must(value_copy_into(h, v, &out, &err)); return out; }
static Value copy_all(Heap *h, Value v) { Value out; must(value_copy_all_into(h, v, &out, &err)); return out; }

static void words_copy_as_they_are(void **state) {
    (void)state;
    Heap *h = heap_new(1);                                 /* needs no memory */
    Value all[] = { VALUE_NONE, VALUE_TRUE, VALUE_GONE, unit_small(-5), value_from_float(1.5) };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) assert_true(value_same(copy(h, all[i]), all[i]));
    heap_free(h);
}

static void every_type_copies(void **state) {
    (void)state;
    Heap *from = heap_new(0), *to = heap_new(0);
    Value range, big = unit_parse(from, "-123456789012345678901234567890", 10);
    must(range_new(from, 1, 10, 3, &range, &err));
    Dict *set = made(set_new(from, 0, &err)), *d = made(dict_new(from, 0, &err));
    for (int i = 0; i < 50; i++) {
        must(dict_put(from, set, unit_small(i), VALUE_NONE, &err));
        must(dict_put(from, d, value_from_object(made(string_fmt(from, &err, "key %d", i))), unit_small(i), &err));
    }
    for (int i = 0; i < 10; i++) {
        Value out;
        must(dict_remove(d, value_from_object(made(string_fmt(from, &err, "key %d", i))), &out, &err));
    }
    String *grown = value_string(unit_text(from, ""));
    for (int i = 0; i < 2000; i++) grown = made(string_concat(from, grown, value_string(unit_text(from, "0123456789")), &err));
    Value items[] = { unit_text(from, "text"), value_from_object(made(bytes_new(from, STR("data"), &err))), big, range, value_from_object(set),
                      value_from_object(d), value_from_object(grown), unit_list(from, NULL, 0), unit_tuple(from, NULL, 0), unit_text(from, "") };
    Value source = LIST(from, unit_tuple(from, items, sizeof items / sizeof *items), value_from_object(made(dict_new(from, 0, &err))));
    Value same = source, twin = copy(to, source);
    d->busy = 3;
    Value busy = copy(to, value_from_object(d));
    assert_int_equal(value_dict(busy)->busy, 0);
    d->busy = 0;
    assert_true(unit_equal(same, twin));
    heap_free(from);                                       /* the copy does not depend on it */
    const Tuple *t = value_tuple(value_list(twin)->at[0]);
    assert_str(value_str(t->at[0]), "text");
    assert_true(value_is_bytes(t->at[1]));
    assert_int_equal(value_range(t->at[3])->n, 3);
    assert_int_equal(value_set(t->at[4])->n, 50);
    assert_int_equal(value_dict(t->at[5])->n, 40);
    assert_int_equal(value_small(*dict_find_str(value_dict(t->at[5]), STR("key 49"))), 49);
    assert_null(dict_find_str(value_dict(t->at[5]), STR("key 3")));
    assert_int_equal(value_string(t->at[6])->n, 20000);
    must(list_push(to, value_list(t->at[7]), VALUE_NONE, &err));
    heap_pin(to, &twin, 1);
    heap_collect(to);
    Buf text = { 0 };
    int_text(&text, t->at[2], 10);
    assert_string_equal(text.at, "-123456789012345678901234567890");
    buf_clear(&text);
    heap_free(to);
}

static void sharing_and_cycles_are_kept(void **state) {
    (void)state;
    Heap *from = heap_new(0), *to = heap_new(0);
    Value shared = LIST(from, unit_small(1)), box = unit_box(from, VALUE_NONE);
    Value root = LIST(from, shared, shared, VALUE_NONE, box, TUPLE(from, box, shared));
    value_list(root)->at[2] = root;
    ((Box *)value_object(box))->held = root;
    List *l = value_list(copy(to, root));
    heap_free(from);
    assert_true(value_same(l->at[0], l->at[1]));
    assert_true(value_same(l->at[2], value_from_object(l)));
    assert_true(value_same(((Box *)value_object(l->at[3]))->held, value_from_object(l)));
    assert_true(value_same(value_tuple(l->at[4])->at[0], l->at[3]));
    assert_true(value_same(value_tuple(l->at[4])->at[1], l->at[0]));
    assert_int_equal(value_small(value_list(l->at[0])->at[0]), 1);
    heap_free(to);
}

static void keys_are_found_after_copying(void **state) {
    (void)state;
    for (int n = 2; n <= 200; n *= 3) {                    /* as a scan and as a table */
        Heap *from = heap_new(0), *to = heap_new(0);
        Dict *d = made(dict_new(from, 0, &err));
        List *keys = made(list_new(from, 0, &err));
        for (int i = 0; i < n; i++) {
            Value big, box = unit_box(from, unit_small(i));
            must(int_shl(from, unit_small(i + 1), unit_small(90), &big, &err));
            Value all[] = { box, TUPLE(from, box, TUPLE(from, unit_small(i), big)), big, TUPLE(from, unit_small(i), unit_text(from, "t")),
                            value_from_float(i + 0.25), value_from_object(made(string_fmt(from, &err, "s%d", i))), unit_small(i) };
            for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
                must(dict_put(from, d, all[k], unit_small((int64_t)keys->n), &err));
                must(list_push(from, keys, all[k], &err));
            }
        }
        Value out;
        for (uint32_t i = 0; i < keys->n; i += 11) must(dict_remove(d, keys->at[i], &out, &err));
        Value twin = copy(to, LIST(from, value_from_object(d), value_from_object(keys)));
        uint32_t left = d->n;
        heap_free(from);
        Dict *e = value_dict(value_list(twin)->at[0]);
        List *k = value_list(value_list(twin)->at[1]);
        assert_int_equal(e->n, left);
        for (int again = 0; again < 2; again++) {
            for (uint32_t i = 0; i < k->n; i++) {
                Value *found;
                must(dict_get(e, k->at[i], &found, &err));
                assert_int_equal(found != NULL, i % 11 != 0);
                if (found) assert_int_equal(value_small(*found), i);
            }
            for (int i = 0; i < 500 && !again; i++) must(dict_put(to, e, unit_small(10000 + i), VALUE_NONE, &err));   /* forces growth */
        }
        heap_pin(to, &twin, 1);
        heap_collect(to);
        assert_int_equal(e->n, left + 500);
        heap_free(to);
    }
}

static void frozen_heaps_are_shared_or_copied(void **state) {
    (void)state;
    Heap *project = heap_new(0), *mid = heap_new(0), *a = heap_new(0), *b = heap_new(0);
    Value constant = LIST(project, unit_text(project, "constant"));
    heap_freeze_all(project);
    Value mine = LIST(mid, constant, LIST(mid, constant), unit_text(mid, "mine"));
    List *shared = value_list(copy(a, mine)), *all = value_list(copy_all(b, mine));
    assert_true(value_same(shared->at[0], constant));
    assert_true(value_same(value_list(shared->at[1])->at[0], constant));
    assert_true(value_same(copy(a, constant), constant));
    assert_false(value_same(all->at[0], constant));
    assert_true(value_same(all->at[0], value_list(all->at[1])->at[0]));
    heap_free(mid);
    heap_collect(a);
    heap_free(a);
    heap_free(project);
    must(list_push(b, value_list(all->at[0]), VALUE_NONE, &err));         /* the copy is mutable */
    assert_str(value_str(value_list(all->at[0])->at[0]), "constant");
    assert_int_equal(value_object(all->at[0])->flags & (OBJECT_FROZEN | OBJECT_SHARED), 0);
    heap_free(b);
}

static void a_copy_of_frozen_values_is_mutable(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Dict *d = made(dict_new(h, 0, &err));
    must(dict_put(h, d, unit_small(1), LIST(h, unit_small(2)), &err));
    value_freeze(value_from_object(d));
    Dict *e = value_dict(copy(h, value_from_object(d)));
    must(dict_put(h, e, unit_small(2), VALUE_NONE, &err));
    Value *inner;
    must(dict_get(e, unit_small(1), &inner, &err));
    must(list_push(h, value_list(*inner), VALUE_NONE, &err));
    assert_int_equal(d->n, 1);
    heap_free(h);
}

static void what_cannot_be_copied_says_so(void **state) {
    (void)state;
    Heap *h = heap_new(0), *to = heap_new(0);
    static const ObjectClass handle = { .name = "handle" };
    Value v = value_from_object(made(heap_alloc_classed(h, OBJECT_CLASSED, &handle, sizeof(Classed), &err))), out = VALUE_NONE;
    refused(ERR_SCRIPT, "cannot copy a value of type handle", value_copy_into(to, v, &out, &err));
    refused(ERR_SCRIPT, "cannot copy a value of type handle", value_copy_into(to, LIST(h, TUPLE(h, v)), &out, &err));
    refused(ERR_SCRIPT, "cannot copy a value of type handle", value_copy_into(to, unit_box(h, v), &out, &err));
    assert_true(value_is_none(out));
    heap_freeze_all(h);
    assert_true(value_same(copy(to, v), v));               /* but it can be shared */
    refused(ERR_SCRIPT, "cannot copy a value of type handle", value_copy_all_into(to, v, &out, &err));
    heap_free(to);
    heap_free(h);
}

static void one_copier_for_several_values(void **state) {
    (void)state;
    Heap *from = heap_new(0), *to = heap_new(0);
    Value shared = LIST(from, unit_text(from, "x")), a = LIST(from, shared), b = TUPLE(from, shared, a), ca, cb, cc;
    Copier *c = copier_new(to, false);
    must(copier_value(c, a, &ca, &err));
    must(copier_finish(c, &err));
    must(copier_value(c, b, &cb, &err));
    must(copier_value(c, unit_small(3), &cc, &err));
    must(copier_finish(c, &err));
    must(copier_finish(c, &err));
    assert_true(value_same(value_tuple(cb)->at[1], ca));
    assert_true(value_same(value_tuple(cb)->at[0], value_list(ca)->at[0]));
    assert_int_equal(value_small(cc), 3);
    copier_free(c);
    copier_free(NULL);
    heap_free(from);
    assert_str(value_str(value_list(value_tuple(cb)->at[0])->at[0]), "x");
    heap_free(to);
}

static void deep_and_wide(void **state) {
    (void)state;
    enum { DEPTH = UNIT_HOSTILE ? 100000 : 1000000 };
    Heap *from = heap_new(0), *to = heap_new(0);
    Value v = unit_small(7);
    for (int i = 0; i < DEPTH; i++) v = i % 2 ? LIST(from, v) : TUPLE(from, v);
    Value twin = copy(to, v);
    heap_free(from);
    int depth = 0;
    for (; value_is_object(twin); depth++) twin = value_is_list(twin) ? value_list(twin)->at[0] : value_tuple(twin)->at[0];
    assert_int_equal(depth, DEPTH);
    assert_int_equal(value_small(twin), 7);
    heap_free(to);
}

static void every_limit_refuses_cleanly(void **state) {
    (void)state;
    Heap *from = heap_new(0);
    Dict *d = made(dict_new(from, 0, &err));
    for (int i = 0; i < 30; i++) must(dict_put(from, d, TUPLE(from, unit_small(i)), LIST(from, unit_text(from, "value")), &err));
    bool ok = false;
    for (size_t limit = 8; !ok; limit += 8) {
        Heap *to = heap_new(limit);
        Error err = { 0 };
        Value out = VALUE_NONE;
        ok = value_copy_into(to, value_from_object(d), &out, &err);
        if (ok) assert_true(unit_equal(out, value_from_object(d)));
        else {
            assert_int_equal(err.kind, ERR_LIMIT);
            assert_true(value_is_none(out));
        }
        heap_collect(to);
        heap_free(to);
    }
#ifdef HARNESS_FAULTS
    for (long nth = 1;; nth++) {
        Heap *to = heap_new(0);
        Value out;
        Error err = { 0 };
        fault_arm(nth);
        ok = value_copy_into(to, value_from_object(d), &out, &err);
        bool hit = fault_disarm();
        assert_true(ok != hit);
        heap_free(to);
        if (!hit) break;
    }
#endif
    heap_free(from);
}

/* Values read by json_read, of every structure: the copy has the same text, does not depend on the source, and can be
 * changed. */
static void what_was_read_copies(void **state) {
    (void)state;
    Buf wide = { 0 }, deep = { 0 };
    buf_add_char(&wide, '{');
    for (int i = 0; i < 300; i++) buf_add_fmt(&wide, "%s\"key %d\":[%d,{\"key %d\":null}]", i ? "," : "", i, i, i);
    buf_add_char(&wide, '}');
    for (int i = 0; i < JSON_DEPTH_MAX; i++) buf_add_char(&deep, '[');
    for (int i = 0; i < JSON_DEPTH_MAX; i++) buf_add_char(&deep, ']');
    const char *const texts[] = { "null", "1.5", "\"text\"", "\"\"", "[]", "{}",
        "{\"a\":1,\"b\":{\"a\":\"\\u00e9\\n\",\"c\":[true,false,-7]}}", "[123456789012345678901234567890]",
                                  "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8}",
                                  "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9}", wide.at, deep.at };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        Heap *from = heap_new(0), *to = heap_new(0);
        Value v, twin;
        Buf before = { 0 }, after = { 0 };
        must(json_read(from, str_from(texts[i]), NULL, &v, &err));
        must(json_write(&before, v, NULL, &err));
        must(value_copy_json_into(to, v, &twin, &err));
        heap_free(from);
        must(json_write(&after, twin, NULL, &err));
        assert_string_equal(after.at, before.at);
        if (value_is_dict(twin)) {
            must(dict_put_str(to, value_dict(twin), STR("new"), VALUE_TRUE, &err));
            assert_true(value_same(*dict_find_str(value_dict(twin), STR("new")), VALUE_TRUE));
        }
        heap_pin(to, &twin, 1);
        heap_collect(to);
        heap_free(to);
        buf_clear(&before);
        buf_clear(&after);
    }
    Heap *from = heap_new(0), *small = heap_new(4 << 10);
    Value v, twin;
    must(json_read(from, buf_str(&wide), NULL, &v, &err));
    Error full = { 0 };
    assert_false(value_copy_json_into(small, v, &twin, &full));
    heap_free(from);
    heap_free(small);
    buf_clear(&wide);
    buf_clear(&deep);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_copy_as_they_are),
        cmocka_unit_test(every_type_copies),
        cmocka_unit_test(sharing_and_cycles_are_kept),
        cmocka_unit_test(keys_are_found_after_copying),
        cmocka_unit_test(frozen_heaps_are_shared_or_copied),
        cmocka_unit_test(a_copy_of_frozen_values_is_mutable),
        cmocka_unit_test(what_cannot_be_copied_says_so),
        cmocka_unit_test(one_copier_for_several_values),
        cmocka_unit_test(deep_and_wide),
        cmocka_unit_test(what_was_read_copies),
        cmocka_unit_test(every_limit_refuses_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
