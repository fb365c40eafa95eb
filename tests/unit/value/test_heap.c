#include "value_unit.h"

/* ---- limits ---- */

/* One of everything that allocates; false if the heap is full. */
static bool build(Heap *h, Value *out, Error *err) {
    List *l = list_new(h, 0, err);
    if (!l) return false;
    for (int i = 0; i < 40; i++) {
        String *s = string_fmt(h, err, "item number %d of this list", i);
        if (!s || !list_push(h, l, value_from_object(s), err)) return false;
    }
    Dict *d = dict_new(h, 0, err), *set = d ? set_new(h, 3, err) : NULL;
    if (!set) return false;
    for (int i = 0; i < 40; i++) {
        if (!dict_put(h, d, l->at[i], value_from_small(i), err)) return false;
        if (!dict_put(h, set, value_from_small(i * 7), VALUE_NONE, err)) return false;
    }
    Value big, product, range, copy;
    if (!int_parse(h, STR("123456789012345678901234567890"), 10, &big, err)) return false;
    if (!int_mul(h, big, big, &product, err) || !int_mod(h, product, big, &big, err)) return false;
    if (!range_new(h, 0, 10, 1, &range, err)) return false;
    String *grown = value_string(l->at[0]), *slice, *bytes;
    for (int i = 0; i < 40; i++)
        if (!(grown = string_concat(h, grown, value_string(l->at[i]), err))) return false;
    if (!(slice = string_slice(h, grown, 5, grown->n - 5, err)) || !(bytes = bytes_new(h, string_str(slice), err))) return false;
    Tuple *t = tuple_from(h, (Value[]){ value_from_object(l), value_from_object(d), value_from_object(set), product, range,
                                        value_from_object(slice), value_from_object(bytes) }, 7, err);
    if (!t || !heap_buffer(h, 20000, err)) return false;
    if (!value_copy_into(h, value_from_object(t), &copy, err)) return false;
    return *out = copy, true;
}

static void check_built(Value v) {
    Tuple *t = value_tuple(v);
    assert_int_equal(t->n, 7);
    assert_int_equal(value_list(t->at[0])->n, 40);
    assert_str(value_str(value_list(t->at[0])->at[39]), "item number 39 of this list");
    Value *found = dict_find_str(value_dict(t->at[1]), STR("item number 7 of this list"));
    assert_non_null(found);
    assert_int_equal(value_small(*found), 7);
    assert_int_equal(value_set(t->at[2])->n, 40);
}

static size_t bytes_needed(void) {
    Heap *h = heap_new(0);
    Value v;
    must(build(h, &v, &err));
    size_t n = heap_stats(h).peak;
    heap_free(h);
    return n;
}

static void every_limit_ends_in_success_or_an_error(void **state) {
    (void)state;
    size_t enough = bytes_needed();
    bool was_ok = false;
    for (size_t limit = 1; limit < enough + 2000; limit += limit < 2000 ? 1 : 37) {
        Heap *h = heap_new(limit);
        Error err = { 0 };
        Value v;
        bool ok = build(h, &v, &err);
        if (ok) check_built(v);
        else {
            char words[80];
            snprintf(words, sizeof words, "heap limit of %zu bytes reached", limit);
            assert_int_equal(err.kind, ERR_LIMIT);
            assert_string_equal(err.msg, words);
        }
        assert_true(heap_stats(h).used <= limit && heap_stats(h).peak <= limit);
        was_ok = ok;
        heap_set_limit(h, 0);                             /* the heap stays usable after a failure */
        must(build(h, &v, &err));
        check_built(v);
        heap_collect(h);
        must(build(h, &v, &err));
        check_built(v);
        heap_free(h);
    }
    assert_true(was_ok);
}

static void a_refused_growth_changes_nothing(void **state) {
    (void)state;
    for (size_t limit = 600; limit < 9000; limit += 8) {
        Heap *h = heap_new(limit);
        Error err = { 0 };
        List *l = list_new(h, 0, &err);
        Dict *d = dict_new(h, 0, &err);
        assert_true(l && d);
        int64_t pushed = 0, put = 0;
        while (list_push(h, l, value_from_small(pushed), &err) && pushed < 400) pushed++;
        l->n = (uint32_t)pushed;
        while (put < 400 && dict_put(h, d, value_from_small(put), value_from_small(-put), &err)) put++;
        for (int64_t i = 0; i < pushed; i++) assert_int_equal(value_small(l->at[i]), i);
        assert_int_equal(d->n, put);
        for (int64_t i = 0; i < 400; i++) {
            Value *found;
            must(dict_get(d, value_from_small(i), &found, &err));
            assert_int_equal(found != NULL, i < put);
            if (found) assert_int_equal(value_small(*found), -i);
        }
        heap_free(h);
    }
}

static void every_step_can_fail(void **state) {
    (void)state;
#ifdef HARNESS_FAULTS
    Heap *h = heap_new(0);
    long nth = 1;
    for (;; nth++) {
        Error err = { 0 };
        Value v;
        heap_reset(h);
        fault_arm(nth);
        bool ok = build(h, &v, &err);
        if (!fault_disarm()) {
            assert_true(ok);
            check_built(v);
            break;
        }
        assert_false(ok);
        assert_int_equal(err.kind, ERR_LIMIT);
        assert_non_null(strstr(err.msg, "heap limit of"));
        must(build(h, &v, &err));
        check_built(v);
    }
    assert_true(nth > 1);
    heap_free(h);
#endif
}

static void a_lower_limit_stops_the_next_allocation(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    must(heap_buffer(h, 100000, &err));
    heap_set_limit(h, 1000);
    refused(ERR_LIMIT, "heap limit of 1000 bytes reached", heap_buffer(h, 100000, &err));
    refused(ERR_LIMIT, "heap limit of 1000 bytes reached", heap_can_take(h, 1, &err));
    heap_collect(h);
    must(heap_can_take(h, 1, &err));
    heap_set_limit(h, 0);
    must(heap_buffer(h, 100000, &err));
    heap_free(h);
}

static void sizes_that_overflow_are_refused(void **state) {
    (void)state;
    Heap *h = heap_new(1 << 20);
    static const size_t sizes[] = { SIZE_MAX, SIZE_MAX - 7, SIZE_MAX - 8, SIZE_MAX - 15, SIZE_MAX / 2, (size_t)1 << 40, 2 << 20 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Error err = { 0 };
        assert_null(heap_alloc(h, OBJECT_TUPLE, sizes[i], &err));
        assert_int_equal(err.kind, ERR_LIMIT);
        err.kind = ERR_NONE;
        assert_null(heap_buffer(h, sizes[i], &err));
        assert_int_equal(err.kind, ERR_LIMIT);
        err.kind = ERR_NONE;
        void *small = made(heap_buffer(h, 10, &err)), *large = made(heap_buffer(h, 20000, &err));
        assert_null(heap_buffer_grow(h, small, 10, sizes[i], &err));
        assert_null(heap_buffer_grow(h, large, 10, sizes[i], &err));
        assert_int_equal(err.kind, ERR_LIMIT);
        heap_buffer_drop(h, large);
    }
    heap_free(h);
}

/* ---- objects ---- */

static void memory_is_zeroed_and_described(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    for (int round = 0; round < 3; round++) {             /* later rounds reuse freed memory */
        for (size_t size = 8; size < 20000; size += size < 200 ? 1 : 333) {
            Object *o = made((Object *)heap_alloc(h, OBJECT_RANGE, size, &err));
            assert_int_equal((uintptr_t)o % 8, 0);
            assert_int_equal(o->type, OBJECT_RANGE);
            assert_int_equal(o->units, (size + 7) / 8);
            assert_int_equal(o->flags & (OBJECT_MARKED | OBJECT_FROZEN | OBJECT_SHARED), 0);
            for (size_t i = sizeof *o; i < size; i++) assert_int_equal(((char *)o)[i], 0);
            memset(o + 1, 0xEE, size - sizeof *o);
        }
        heap_collect(h);
    }
    Classed *c = made((Classed *)heap_alloc_classed(h, OBJECT_MODULE, &box_class, sizeof(Box), &err));
    assert_ptr_equal(c->cls, &box_class);
    assert_true(value_is_none(VALUE_NONE) && value_is_gone(((Box *)c)->held));
    heap_free(h);
    heap_free(NULL);
}

static void buffers_grow_and_keep_their_bytes(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    for (int between = 0; between < 2; between++) {       /* in place if last, otherwise by moving */
        size_t size = 1;
        unsigned char *b = made((unsigned char *)heap_buffer_grow(h, NULL, 0, size, &err));
        b[0] = 0;
        while (size < 200000) {
            size_t more = size + size / 3 + 1;
            if (between) must(heap_alloc(h, OBJECT_RANGE, 40, &err));
            b = made((unsigned char *)heap_buffer_grow(h, b, size, more, &err));
            assert_true(heap_buffer_size(b) >= more);
            for (size_t i = 0; i < size; i++) assert_int_equal(b[i], i % 251);
            for (size_t i = size; i < more; i++) b[i] = (unsigned char)(i % 251);
            size = more;
        }
        assert_ptr_equal(made(heap_buffer_grow(h, b, size, 10, &err)), b);   /* never shrinks */
    }
    heap_free(h);
}

static void dropped_buffers_give_their_room_back(void **state) {
    (void)state;
    Heap *h = heap_new(80 << 10);
    heap_buffer_drop(h, NULL);
    for (int i = 0; i < 1000; i++) {
        heap_buffer_drop(h, made(heap_buffer(h, 100, &err)));             /* the last allocation */
        heap_buffer_drop(h, made(heap_buffer(h, 30000, &err)));           /* a separate block */
    }
    assert_true(heap_stats(h).used <= 80 << 10);
    void *a = made(heap_buffer(h, 30000, &err)), *b = made(heap_buffer(h, 20000, &err));
    size_t before = heap_stats(h).used;
    heap_buffer_drop(h, a);                                               /* not the newest */
    assert_int_equal(heap_stats(h).used, before - 30008);
    heap_buffer_drop(h, b);
    void *first = made(heap_buffer(h, 64, &err));
    must(heap_buffer(h, 64, &err));
    heap_buffer_drop(h, first);                                           /* small, not last: stays until a collection */
    must(heap_buffer(h, 64, &err));
    heap_collect(h);
    heap_free(h);
}

static void reset_starts_over(void **state) {
    (void)state;
    Heap *h = heap_new(1 << 20);
    Value v, pinned = VALUE_NONE;
    for (int i = 0; i < 50; i++) {
        must(build(h, &v, &err));
        must(build(h, &v, &err));
        check_built(v);
        if (i % 3 == 0) heap_collect(h);
        heap_pin(h, &pinned, 1);
        heap_reset(h);
        HeapStats s = heap_stats(h);
        assert_true(s.used <= 16 << 10);
        assert_int_equal(s.live, 0);
        assert_int_equal(s.collections, 0);
        assert_true(s.peak >= s.used);
        assert_int_equal(heap_pin(h, &pinned, 1), 0);      /* pins were dropped */
    }
    refused(ERR_LIMIT, "heap limit of 1048576 bytes reached", heap_buffer(h, 2 << 20, &err));
    heap_free(h);
    h = heap_new(100);
    heap_reset(h);                                         /* an empty heap */
    assert_int_equal(heap_stats(h).used, 0);
    heap_free(h);
}

static void a_frozen_heap_takes_no_more(void **state) {
    (void)state;
    for (int empty = 0; empty < 2; empty++) {
        Heap *h = heap_new(0);
        Value v = VALUE_NONE;
        if (!empty) must(build(h, &v, &err));
        heap_freeze_all(h);
        Error err = { 0 };
        assert_null(heap_alloc(h, OBJECT_RANGE, 40, &err));
        assert_int_equal(err.kind, ERR_LIMIT);
        heap_collect(h);                                   /* keeps everything */
        heap_safepoint(h);
        if (!empty) {
            check_built(v);
            assert_true(value_object(v)->flags & OBJECT_SHARED);
            assert_true(object_frozen(value_object(v)));
        }
        assert_false(heap_wants_collection(h));
        heap_free(h);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_limit_ends_in_success_or_an_error),
        cmocka_unit_test(a_refused_growth_changes_nothing),
        cmocka_unit_test(every_step_can_fail),
        cmocka_unit_test(a_lower_limit_stops_the_next_allocation),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(memory_is_zeroed_and_described),
        cmocka_unit_test(buffers_grow_and_keep_their_bytes),
        cmocka_unit_test(dropped_buffers_give_their_room_back),
        cmocka_unit_test(reset_starts_over),
        cmocka_unit_test(a_frozen_heap_takes_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
