#include <pthread.h>
#include "value_unit.h"

static String *text(Heap *h, const char *s) { return value_string(unit_text(h, s)); }
static String *join(Heap *h, String *a, String *b) { return made(string_concat(h, a, b, &err)); }

static void strings_are_copies_that_end_in_zero(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    char source[300];
    for (size_t n = 0; n < sizeof source; n++) {
        memset(source, 'a' + (int)(n % 26), n);
        String *s = made(string_new(h, (Str){ source, n }, &err)), *b = made(bytes_new(h, (Str){ source, n }, &err));
        memset(source, '#', n);
        assert_int_equal(s->n, n);
        assert_int_equal(s->at[n], 0);
        for (size_t i = 0; i < n; i++) assert_int_equal(s->at[i], 'a' + (int)(n % 26));
        assert_true(value_is_string(value_from_object(s)) && !value_is_bytes(value_from_object(s)));
        assert_true(value_is_bytes(value_from_object(b)) && !value_is_string(value_from_object(b)));
        assert_true(string_same(s, b));
    }
    assert_int_equal(made(string_new(h, (Str){ NULL, 0 }, &err))->n, 0);
    assert_int_equal(made(string_new(h, (Str){ "a\0b", 3 }, &err))->n, 3);
    heap_free(h);
}

static void room_is_filled_by_the_caller(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    char *at;
    String *s = made(string_room(h, 5, &at, &err));
    memcpy(at, "hello", 5);
    assert_str(string_str(s), "hello");
    assert_int_equal(s->obj.type, OBJECT_STRING);
    s = made(bytes_room(h, 9000, &at, &err));
    memset(at, 7, 9000);
    assert_int_equal(s->at[8999], 7);
    assert_int_equal(s->obj.type, OBJECT_BYTES);
    assert_str(string_str(made(string_fmt(h, &err, "%d of %s", 3, "four"))), "3 of four");
    assert_str(string_str(made(string_fmt(h, &err, "%s", ""))), "");
    heap_free(h);
}

static void too_long_is_refused(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    char *at;
    refused(ERR_LIMIT, "string too long (2147483648 bytes)", string_room(h, STRING_MAX + 1, &at, &err));
    refused(ERR_LIMIT, "bytes too long (2147483648 bytes)", bytes_room(h, STRING_MAX + 1, &at, &err));
    refused(ERR_LIMIT, "string too long (18446744073709551615 bytes)", string_room(h, SIZE_MAX, &at, &err));
    String huge = { .obj = { .type = OBJECT_STRING }, .n = 0x7fffffff, .at = "" };   /* never read: rejected before */
    refused(ERR_LIMIT, "string too long (2147483649 bytes)", string_concat(h, &huge, text(h, "ab"), &err));
    refused(ERR_LIMIT, "string too long (4294967294 bytes)", string_concat(h, &huge, &huge, &err));
    huge.obj.type = OBJECT_BYTES;
    refused(ERR_LIMIT, "bytes too long (4294967294 bytes)", string_concat(h, &huge, &huge, &err));
    heap_set_limit(h, 10000);
    refused(ERR_LIMIT, "heap limit of 10000 bytes reached", string_room(h, STRING_MAX, &at, &err));
    heap_free(h);
}

static void concatenation_has_the_type_of_its_left_side(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    String *s = text(h, "text"), *b = made(bytes_new(h, STR("data"), &err)), *e = text(h, ""), *eb = made(bytes_new(h, STR(""), &err));
    static const struct { int a, b; const char *out; } cases[] = {
        { 0, 1, "textdata" }, { 1, 0, "datatext" }, { 0, 2, "text" }, { 2, 0, "text" }, { 2, 1, "data" }, { 3, 0, "text" },
        { 2, 2, "" }, { 2, 3, "" }, { 3, 2, "" }, { 0, 0, "texttext" },
    };
    String *all[] = { s, b, e, eb };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        String *out = join(h, all[cases[i].a], all[cases[i].b]);
        assert_str(string_str(out), cases[i].out);
        assert_int_equal(out->obj.type, all[cases[i].a]->obj.type);
    }
    heap_free(h);
}

static void building_piece_by_piece_is_linear(void **state) {
    (void)state;
    enum { PIECES = UNIT_HOSTILE ? 4000 : 100000 };
    Heap *h = heap_new(0);
    String *s = text(h, ""), *piece = text(h, "0123456789");
    for (int i = 0; i < PIECES; i++) s = join(h, s, piece);
    assert_int_equal(s->n, PIECES * 10);
    for (uint32_t i = 0; i < s->n; i++) assert_int_equal(s->at[i], '0' + i % 10);
    size_t per_piece = heap_stats(h).used / PIECES;        /* one 32-byte view each, plus the buffers */
    assert_true(per_piece < 32 + 10 * 6 + 16);
    Value keep = value_from_object(s);
    heap_pin(h, &keep, 1);
    heap_collect(h);
    assert_true(heap_stats(h).live < (size_t)PIECES * 10 * 2);
    heap_free(h);
}

static void branches_do_not_see_each_other(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    char base[301];
    memset(base, '.', 300);
    base[300] = 0;
    String *s = join(h, text(h, base), text(h, "!"));      /* owns a buffer with spare room */
    String *a = join(h, s, text(h, "a")), *b = join(h, s, text(h, "b"));
    String *aa = join(h, a, text(h, "A")), *bb = join(h, b, text(h, "B")), *ab = join(h, a, text(h, "x"));
    assert_int_equal(s->n, 301);
    assert_str(str_sub(string_str(a), 300, 999), "!a");
    assert_str(str_sub(string_str(b), 300, 999), "!b");
    assert_str(str_sub(string_str(aa), 300, 999), "!aA");
    assert_str(str_sub(string_str(bb), 300, 999), "!bB");
    assert_str(str_sub(string_str(ab), 300, 999), "!ax");
    heap_free(h);
}

static void doubling_a_string_reads_its_own_buffer(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    String *s = text(h, "ab");
    for (int i = 0; i < 14; i++) s = join(h, s, s);
    assert_int_equal(s->n, 32768);
    String *again = join(h, s, s);
    for (uint32_t i = 0; i < again->n; i++) assert_int_equal(again->at[i], "ab"[i % 2]);
    heap_free(h);
}

/* Random concatenations and slices of a few strings, compared with plain copies. */
static void random_edits_match_a_model(void **state) {
    (void)state;
    enum { N = 12 };
    Heap *h = heap_new(0);
    Rng rng = { 7 };
    Value v[N];
    Buf model[N] = { 0 };
    for (int i = 0; i < N; i++) v[i] = unit_text(h, "");
    heap_pin(h, v, N);
    for (int step = 0; step < 20000; step++) {
        size_t to = rng_below(&rng, N), a = rng_below(&rng, N), b = rng_below(&rng, N);
        Buf fresh = { 0 };
        switch (rng_below(&rng, 4)) {
        case 0: {
            v[to] = value_from_object(made(string_fmt(h, &err, "<%d>", step)));
            buf_add_fmt(&fresh, "<%d>", step);
            break;
        }
        case 1: case 2:
            if (value_string(v[a])->n > 4000) a = to;
            if (value_string(v[b])->n > 4000) { buf_clear(&fresh); v[b] = unit_text(h, ""); buf_reset(&model[b]); continue; }
            v[to] = value_from_object(join(h, value_string(v[a]), value_string(v[b])));
            buf_add(&fresh, buf_str(&model[a]));
            buf_add(&fresh, buf_str(&model[b]));
            break;
        default: {
            size_t n = model[a].n, from = rng_below(&rng, n + 1), end = from + rng_below(&rng, n - from + 1);
            v[to] = value_from_object(made(string_slice(h, value_string(v[a]), from, end, &err)));
            buf_add(&fresh, str_sub(buf_str(&model[a]), from, end));
        }
        }
        buf_clear(&model[to]);
        model[to] = fresh;
        if (step % 50 == 0) heap_collect(h);
        assert_true(str_eq(value_str(v[to]), buf_str(&model[to])));
        if (step % 100 == 0)
            for (int i = 0; i < N; i++) assert_true(str_eq(value_str(v[i]), buf_str(&model[i])));
    }
    for (int i = 0; i < N; i++) buf_clear(&model[i]);
    heap_free(h);
}

static void slices_outlive_their_source(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    String *s = text(h, "");
    for (int i = 0; i < 100; i++) s = join(h, s, text(h, "0123456789"));
    Value keep[2] = { value_from_object(made(string_slice(h, s, 495, 505, &err))),
                      value_from_object(made(string_slice(h, s, 0, s->n, &err))) };
    assert_ptr_equal(value_object(keep[1]), s);            /* the full slice is the string itself */
    assert_int_equal(made(string_slice(h, s, 7, 7, &err))->n, 0);
    size_t pin = heap_pin(h, keep, 2);
    heap_collect(h);
    assert_str(value_str(keep[0]), "5678901234");
    assert_int_equal(value_str(keep[1]).n, 1000);
    keep[1] = VALUE_NONE;
    heap_collect(h);
    assert_true(heap_stats(h).live < 100);                 /* a slice does not keep the whole string alive */
    assert_str(value_str(keep[0]), "5678901234");
    heap_unpin(h, pin);
    heap_free(h);
}

static void the_hash_is_that_of_the_bytes(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    String *a = text(h, "some text"), *b = text(h, "some text"), *c = made(bytes_new(h, STR("some text"), &err));
    assert_true(string_hash(a) != 0);
    assert_int_equal(string_hash(a), string_hash(a));
    assert_int_equal(string_hash(a), string_hash(b));
    assert_int_equal(string_hash(a), string_hash(c));
    assert_true(string_same(a, b) && string_same(a, a) && !string_same(a, text(h, "some texT")));
    assert_true(string_hash(text(h, "")) != 0);
    heap_free(h);
}

static void interned_names_are_one_object(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Dict *names = made(dict_new(h, 0, &err));
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 200; i++) {
            char name[32];
            snprintf(name, sizeof name, "name%d", i);
            String *s = made(string_intern(h, names, str_from(name), &err));
            assert_str(string_str(s), name);
            assert_ptr_equal(s, made(string_intern(h, names, str_from(name), &err)));
        }
    assert_int_equal(names->n, 200);
    value_freeze(value_from_object(names));
    must(string_intern(h, names, STR("name7"), &err));
    refused(ERR_SCRIPT, "cannot insert into frozen hash table", string_intern(h, names, STR("other"), &err));
    heap_free(h);
}

static void a_frozen_heaps_buffers_are_not_written(void **state) {
    (void)state;
    Heap *project = heap_new(0), *h = heap_new(0);
    String *s = text(project, "");
    for (int i = 0; i < 50; i++) s = join(project, s, text(project, "0123456789"));
    heap_freeze_all(project);
    String *a = join(h, s, text(h, "a")), *b = join(h, s, text(h, "b"));
    assert_int_equal(a->at[500], 'a');
    assert_int_equal(b->at[500], 'b');
    assert_false(a->obj.flags & OBJECT_SHARED);
    Value keep = value_from_object(a);
    heap_pin(h, &keep, 1);
    heap_collect(h);
    heap_free(project);                                    /* the copy does not need it */
    assert_int_equal(a->at[0], '0');
    assert_int_equal(a->at[500], 'a');
    heap_free(h);
}

static void *hash_all(void *ctx) {
    List *l = ctx;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < l->n; i++) sum += string_hash(value_string(l->at[i]));
    return (void *)(uintptr_t)sum;
}

static void threads_hash_shared_strings(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    List *l = made(list_new(h, 0, &err));
    for (int i = 0; i < 2000; i++) must(list_push(h, l, value_from_object(made(string_fmt(h, &err, "key %d", i))), &err));
    heap_freeze_all(h);
    pthread_t thread[4];
    void *sum[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&thread[i], NULL, hash_all, l), 0);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], &sum[i]);
    for (int i = 1; i < 4; i++) assert_ptr_equal(sum[i], sum[0]);
    heap_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_copies_that_end_in_zero),
        cmocka_unit_test(room_is_filled_by_the_caller),
        cmocka_unit_test(too_long_is_refused),
        cmocka_unit_test(concatenation_has_the_type_of_its_left_side),
        cmocka_unit_test(building_piece_by_piece_is_linear),
        cmocka_unit_test(branches_do_not_see_each_other),
        cmocka_unit_test(doubling_a_string_reads_its_own_buffer),
        cmocka_unit_test(random_edits_match_a_model),
        cmocka_unit_test(slices_outlive_their_source),
        cmocka_unit_test(the_hash_is_that_of_the_bytes),
        cmocka_unit_test(interned_names_are_one_object),
        cmocka_unit_test(a_frozen_heaps_buffers_are_not_written),
        cmocka_unit_test(threads_hash_shared_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
