#include <math.h>
#include "value_unit.h"

static Dict *fresh(Heap *h) { return made(dict_new(h, 0, &err)); }
static void put(Heap *h, Dict *d, Value key, Value v) { must(dict_put(h, d, key, v, &err)); }
static Value *get(const Dict *d, Value key) { Value *found; must(dict_get(d, key, &found, &err)); return found; }
static Value take(Dict *d, Value key) { Value out; must(dict_remove(d, key, &out, &err)); return out; }

/* The longest run of occupied slots, which bounds the probes of a lookup. */
static uint32_t longest_probe(const Dict *d) {
    uint32_t run = 0, longest = 0;
    for (uint32_t i = 0; i < 2 * d->slots; i++) {          /* twice around the table, because a run may wrap */
        run = d->slot[i & (d->slots - 1)] ? run + 1 : 0;
        if (run > longest) longest = run;
        if (run >= d->slots) break;
    }
    return longest;
}

/* Average number of slots that a lookup visits, in hundredths. */
static uint64_t average_probe(const Dict *d) {
    uint64_t visits = 0;
    Entry *e = NULL;
    for (uint32_t i = 0; dict_next(d, &i, &e);) {
        uint32_t at = unit_hash(e->key) & (d->slots - 1), want = i;   /* dict_next has advanced: index + 1 */
        for (;; at = (at + 1) & (d->slots - 1)) {
            visits++;
            if ((d->slot[at] & (d->slots - 1)) == want) break;
        }
    }
    return d->n ? visits * 100 / d->n : 0;
}

static void check_spread(const Dict *d, const char *what) {
    uint64_t average = average_probe(d);
    uint32_t longest = longest_probe(d);
    if (average <= 500 && longest <= 2000) return;         /* a random table stays below 250 and a few hundred */
    print_error("%s: %llu.%02llu probes on average, longest run %u\n", what, (unsigned long long)average / 100,
                (unsigned long long)average % 100, longest);
    fail();
}

static void insertion_order_is_kept(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    for (int n = 0; n < 40; n++) {
        Dict *d = fresh(h);
        for (int i = 0; i < n; i++) put(h, d, unit_small((i * 7919) % 1009), unit_small(i));
        put(h, d, unit_small(0), unit_small(0));           /* replacing keeps the position */
        uint32_t at = 0;
        Entry *e = NULL;
        for (int i = 0; i < (n ? n : 1); i++) {
            assert_true(dict_next(d, &at, &e));
            assert_int_equal(value_small(e->key), (i * 7919) % 1009);
            assert_int_equal(value_small(e->value), i);
        }
        assert_false(dict_next(d, &at, &e));
        if (n) { take(d, unit_small(0)); put(h, d, unit_small(0), VALUE_NONE); }   /* removed and inserted again: now last */
        assert_int_equal(value_small(d->entry[d->used - 1].key), 0);
    }
    heap_free(h);
}

static void numbers_that_are_equal_are_one_key(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    for (int extra = 0; extra < 30; extra += 29) {         /* as a scan and as a table */
        Dict *d = fresh(h);
        for (int i = 0; i < extra; i++) put(h, d, unit_small(100 + i), VALUE_NONE);
        Value big = unit_parse(h, "1267650600228229401496703205376", 10), big2 = unit_parse(h, "1267650600228229401496703205376", 10);
        put(h, d, unit_small(1), unit_text(h, "int"));
        put(h, d, VALUE_TRUE, unit_text(h, "bool"));
        put(h, d, big, unit_text(h, "big"));
        put(h, d, unit_text(h, "1"), unit_text(h, "text"));
        put(h, d, value_from_object(made(bytes_new(h, STR("1"), &err))), unit_text(h, "bytes"));
        put(h, d, TUPLE(h, unit_small(1), unit_text(h, "x")), unit_text(h, "tuple"));
        put(h, d, VALUE_NONE, unit_text(h, "none"));
        put(h, d, value_from_float(NAN), unit_text(h, "nan"));
        put(h, d, value_from_float(0.0), unit_text(h, "zero"));
        assert_int_equal(d->n, extra + 9);
        const struct { Value key; const char *out; } cases[] = {
            { value_from_float(1.0), "int" }, { unit_small(1), "int" }, { VALUE_TRUE, "bool" }, { big2, "big" },
            { value_from_float(0x1p100), "big" }, { unit_text(h, "1"), "text" }, { TUPLE(h, value_from_float(1.0), unit_text(h, "x")), "tuple" },
            { VALUE_NONE, "none" }, { value_from_float(NAN), "nan" }, { value_from_float(-0.0), "zero" }, { unit_small(0), "zero" },
            { value_from_object(made(bytes_new(h, STR("1"), &err))), "bytes" },
            { VALUE_FALSE, NULL }, { value_from_float(1.5), NULL }, { unit_text(h, ""), NULL }, { TUPLE(h, unit_small(1)), NULL },
            { TUPLE(h, VALUE_TRUE, unit_text(h, "x")), NULL },
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            Value *found = get(d, cases[i].key);
            if ((found != NULL) != (cases[i].out != NULL)) { print_error("case %zu\n", i); fail(); }
            if (found) assert_str(value_str(*found), cases[i].out);
        }
        put(h, d, value_from_float(1.0), unit_text(h, "new"));
        assert_str(value_str(*get(d, unit_small(1))), "new");
        assert_int_equal(d->n, extra + 9);
    }
    heap_free(h);
}

static void finding_by_text(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    for (int n = 1; n < 40; n++) {
        Dict *d = fresh(h);
        put(h, d, value_from_object(made(bytes_new(h, STR("key3"), &err))), VALUE_TRUE);   /* same bytes, different key */
        for (int i = 0; i < n; i++) {
            char key[16];
            snprintf(key, sizeof key, "key%d", i);
            must(dict_put_str(h, d, str_from(key), unit_small(i), &err));
        }
        take(d, unit_text(h, "key0"));
        for (int i = 0; i < n + 2; i++) {
            char key[16];
            snprintf(key, sizeof key, "key%d", i);
            bool there = i > 0 && i < n;
            assert_int_equal(dict_index_str(d, str_from(key)), there ? i + 1 : -1);
            assert_int_equal(dict_find_str(d, str_from(key)) != NULL, there);
            Value *found = dict_find(d, value_string(unit_text(h, key)));
            assert_int_equal(found != NULL, there);
            if (found) assert_int_equal(value_small(*found), i);
        }
    }
    heap_free(h);
}

static void inserting_keeps_what_is_there(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Dict *d = fresh(h);
    Value *at;
    bool is_new;
    must(dict_insert(h, d, unit_small(1), unit_small(10), &at, &is_new, &err));
    assert_true(is_new && value_small(*at) == 10);
    must(dict_insert(h, d, unit_small(1), unit_small(20), &at, &is_new, &err));
    assert_true(!is_new && value_small(*at) == 10);
    assert_true(value_is_gone(take(d, unit_small(2))));
    assert_int_equal(value_small(take(d, unit_small(1))), 10);
    assert_int_equal(d->n, 0);
    heap_free(h);
}

static void unhashable_keys_are_refused(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Dict *d = fresh(h);
    Value l = LIST(h, unit_small(1)), out = VALUE_NONE, *found, range;
    must(range_new(h, 0, 3, 1, &range, &err));
    const struct { Value key; const char *words; } cases[] = {
        { l, "unhashable type: list" }, { value_from_object(d), "unhashable type: dict" }, { TUPLE(h, unit_small(1), TUPLE(h, l)), "unhashable type: list" },
        { value_from_object(made(set_new(h, 0, &err))), "unhashable type: set" }, { range, "unhashable: range" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refused(ERR_SCRIPT, cases[i].words, dict_put(h, d, cases[i].key, VALUE_NONE, &err));
        refused(ERR_SCRIPT, cases[i].words, dict_get(d, cases[i].key, &found, &err));
        assert_null(found);
        refused(ERR_SCRIPT, cases[i].words, dict_remove(d, cases[i].key, &out, &err));
    }
    assert_int_equal(d->n, 0);
    heap_free(h);
}

static void refusal(char out[60], bool frozen, const char *verb) {
    if (frozen) snprintf(out, 60, "cannot %s frozen hash table", verb);
    else snprintf(out, 60, "cannot %s hash table during iteration", verb);
}

static void a_busy_or_frozen_dict_refuses(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    for (int set = 0; set < 2; set++) {
        Dict *d = set ? made(set_new(h, 0, &err)) : fresh(h);
        put(h, d, unit_small(1), VALUE_NONE);
        for (int frozen = 0; frozen < 2; frozen++) {
            char insert[60], delete[60], clear[60], verb[60];
            refusal(insert, frozen, "insert into");
            refusal(delete, frozen, "delete from");
            refusal(clear, frozen, "clear");
            refusal(verb, frozen, "update");
            Value out = VALUE_NONE, *at = NULL;
            bool is_new;
            if (frozen) value_freeze(value_from_object(d));
            else d->busy = 1;
            refused(ERR_SCRIPT, insert, dict_put(h, d, unit_small(1), VALUE_TRUE, &err));
            refused(ERR_SCRIPT, insert, dict_put(h, d, unit_small(2), VALUE_TRUE, &err));
            refused(ERR_SCRIPT, insert, dict_put_str(h, d, STR("x"), VALUE_TRUE, &err));
            refused(ERR_SCRIPT, insert, dict_insert(h, d, unit_small(2), VALUE_TRUE, &at, &is_new, &err));
            refused(ERR_SCRIPT, delete, dict_remove(d, unit_small(1), &out, &err));
            refused(ERR_SCRIPT, delete, dict_remove(d, unit_small(5), &out, &err));
            refused(ERR_SCRIPT, clear, dict_clear(d, &err));
            refused(ERR_SCRIPT, verb, dict_check_mutable(d, "update", &err));
            d->busy = 0;
            assert_true(d->n == 1 && value_is_none(*get(d, unit_small(1))));
        }
    }
    heap_free(h);
}

static void too_much_room_is_refused(void **state) {
    (void)state;
    Heap *h = heap_new(1 << 20);
    refused(ERR_LIMIT, "too many entries (limit 134217728)", dict_new(h, DICT_MAX + 1, &err));
    refused(ERR_LIMIT, "too many entries (limit 134217728)", set_new(h, SIZE_MAX, &err));
    refused(ERR_LIMIT, "heap limit of 1048576 bytes reached", dict_new(h, DICT_MAX, &err));
    for (size_t room = 0; room < 100; room++) {
        Dict *d = made(dict_new(h, room, &err));
        assert_true(d->cap >= room);
        Entry *entry = d->entry;
        for (size_t i = 0; i < room; i++) put(h, d, unit_small((int64_t)i), VALUE_NONE);
        assert_ptr_equal(d->entry, entry);
    }
    heap_free(h);
}

static void clearing_and_copying(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    for (int n = 0; n < 60; n += 3) {
        Dict *d = n % 2 ? made(set_new(h, 0, &err)) : fresh(h), *copy;
        for (int i = 0; i < n; i++) put(h, d, unit_small(i), unit_small(-i));
        for (int i = 0; i < n; i += 3) take(d, unit_small(i));
        must(dict_copy(h, d, &copy, &err));
        assert_int_equal(copy->obj.type, d->obj.type);
        assert_int_equal(copy->n, d->n);
        assert_int_equal(copy->used, copy->n);             /* compacted */
        must(dict_clear(d, &err));
        assert_int_equal(d->n, 0);
        uint32_t at = 0;
        Entry *e = NULL;
        assert_false(dict_next(d, &at, &e));
        for (int i = 0; i < n; i++) {
            assert_null(get(d, unit_small(i)));
            assert_int_equal(get(copy, unit_small(i)) != NULL, i % 3 != 0);
            put(h, d, unit_small(i), unit_small(i));
        }
        assert_int_equal(d->n, n);
        put(h, copy, unit_small(1000), VALUE_NONE);
        assert_null(get(d, unit_small(1000)));
    }
    heap_free(h);
}

/* Clearing takes time proportional to the entries inserted since. */
static void clearing_a_sparse_table_lets_it_go(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Dict *d = fresh(h);
    for (int i = 0; i < 100000; i++) put(h, d, unit_small(i), VALUE_NONE);
    must(dict_clear(d, &err));
    put(h, d, unit_small(1), VALUE_NONE);
    must(dict_clear(d, &err));
    assert_true(d->slots < 1000);
    for (int i = 0; i < 100; i++) { put(h, d, unit_small(i), unit_small(i)); assert_int_equal(value_small(*get(d, unit_small(i))), i); }
    heap_free(h);
}

/* ---- large dicts ---- */

static void random_edits_match_a_model(void **state) {
    (void)state;
    enum { KEYS = 3000 };
    Heap *h = heap_new(0);
    Rng rng = { 13 };
    Dict *d = fresh(h);
    Value keep = value_from_object(d);
    heap_pin(h, &keep, 1);
    static int model[KEYS];
    static uint64_t order[KEYS];
    uint32_t n = 0;
    uint64_t stamp = 0;
    for (int step = 0; step < 60000; step++) {
        uint32_t k = (uint32_t)rng_below(&rng, step % 20000 < 10000 ? KEYS : 40);
        Value key = k % 4 == 0   ? unit_small(k) : k % 4 == 1 ? value_from_float(k + 0.5)
                    : k % 4 == 2 ? value_from_object(made(string_fmt(h, &err, "k%u", k))) : TUPLE(h, unit_small(k), VALUE_NONE);
        if (rng_below(&rng, 100) < (step % 15000 < 7000 ? 70 : 30)) {
            if (!model[k]) { n++; order[k] = ++stamp; }
            put(h, d, key, unit_small(model[k] = step + 1));
        } else {
            Value out = take(d, key);
            assert_int_equal(value_is_gone(out) ? 0 : value_small(out), model[k]);
            if (model[k]) { n--; model[k] = 0; }
        }
        assert_int_equal(d->n, n);
        Value *found = get(d, key);
        assert_int_equal(found ? value_small(*found) : 0, model[k]);
        if (step % 500 == 0) {
            heap_collect(h);
            uint64_t last = 0;
            Entry *e = NULL;
            uint32_t seen = 0;
            for (uint32_t i = 0; dict_next(d, &i, &e); seen++) {
                uint32_t at = 0;
                while (model[at] != value_small(e->value)) at++;
                assert_true(order[at] > last);
                last = order[at];
            }
            assert_int_equal(seen, n);
        }
    }
    heap_free(h);
}

static void a_queue_is_not_quadratic(void **state) {
    (void)state;
    enum { N = 200000 };
    Heap *h = heap_new(0);
    Dict *d = fresh(h);
    for (int i = 0; i < N; i++) put(h, d, unit_small(i), VALUE_NONE);
    uint64_t visits = 0;
    for (int i = 0; i < N; i++) {                          /* from the front, one by one */
        uint32_t at = d->first, from = at;
        Entry *e = NULL;
        assert_true(dict_next(d, &at, &e));
        visits += at - from;
        assert_int_equal(value_small(e->key), i);
        take(d, e->key);
    }
    assert_true(visits <= 2 * N);
    assert_int_equal(d->n, 0);
    visits = 0;
    uint32_t cap = d->cap;
    for (int i = 0; i < N; i++) {                          /* insert at the back, remove at the front */
        put(h, d, unit_small(i), VALUE_NONE);
        if (i < 100) continue;
        uint32_t at = d->first, from = at;
        Entry *e = NULL;
        assert_true(dict_next(d, &at, &e));
        visits += at - from;
        assert_int_equal(value_small(e->key), i - 100);
        take(d, e->key);
    }
    assert_true(visits <= 2 * N);
    assert_int_equal(d->cap, cap);                         /* compacted, not grown */
    heap_free(h);
}

static void a_million_entries(void **state) {
    (void)state;
    enum { N = 1000000 };
    Heap *h = heap_new(256 << 20);
    Dict *d = fresh(h);
    for (int i = 0; i < N; i++) put(h, d, unit_small((int64_t)i * 3), unit_small(i));
    assert_int_equal(d->n, N);
    for (int i = 0; i < N; i++) assert_int_equal(value_small(*get(d, unit_small((int64_t)i * 3))), i);
    for (int i = 0; i < N; i += 10) assert_null(get(d, unit_small((int64_t)i * 3 + 1)));
    check_spread(d, "a million");
    for (int i = 0; i < N; i++) if (i % 16) take(d, unit_small((int64_t)i * 3));
    assert_int_equal(d->n, N / 16);
    for (int i = 0; i < N; i += 16) assert_non_null(get(d, unit_small((int64_t)i * 3)));
    heap_free(h);
}

/* ---- colliding keys ---- */

static void chosen_ints_spread(void **state) {
    (void)state;
    enum { N = 40000 };
    static const char *const kinds[] = { "sequential", "negative", "stride 64", "stride 4096", "stride 2^20", "stride 2^30", "high bits",
                                         "products of the golden ratio", "floats", "stride prime" };
    Heap *h = heap_new(0);
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        Dict *d = fresh(h);
        for (int64_t i = 0; i < N; i++) {
            Value key = unit_small(i);
            switch (kind) {
            case 1: key = unit_small(-i); break;
            case 2: key = unit_small(i * 64); break;
            case 3: key = unit_small(i * 4096); break;
            case 4: key = unit_small(i << 20); break;
            case 5: key = unit_small(i << 30); break;
            case 6: key = unit_small((i << 33) | 7); break;
            case 7: key = unit_small((int64_t)((uint64_t)i * 0x9E3779B97F4A7C15 >> 15)); break;
            case 8: key = value_from_float((double)i * 0x1p-60); break;
            case 9: key = unit_small(i * 65537); break;
            default: break;
            }
            put(h, d, key, VALUE_NONE);
        }
        assert_int_equal(d->n, N);
        check_spread(d, kinds[kind]);
    }
    heap_free(h);
}

static void chosen_strings_spread(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Dict *java = fresh(h), *tuples = fresh(h), *bigs = fresh(h);
    for (int i = 0; i < 1 << 14; i++) {                    /* "Aa" and "BB" collide under h * 31 + c, and so do all sequences of them */
        char key[29] = { 0 };
        for (int b = 0; b < 14; b++) memcpy(key + 2 * b, i >> b & 1 ? "Aa" : "BB", 2);
        must(dict_put_str(h, java, str_from(key), VALUE_NONE, &err));
        put(h, tuples, TUPLE(h, unit_small(i), unit_small(-i)), VALUE_NONE);    /* cancel out under sum and xor */
        Value big;
        must(int_shl(h, unit_small(i + 1), unit_small(64 + 64 * (i % 5)), &big, &err));
        put(h, bigs, big, VALUE_NONE);
    }
    assert_int_equal(java->n, 1 << 14);
    check_spread(java, "java");
    check_spread(tuples, "tuples");
    check_spread(bigs, "big ints");
    Dict *fnv = fresh(h);
    for (int i = 0; i < 20000; i++) {                      /* a zero state of FNV-1 stays zero when zeros follow */
        char *at;
        String *s = made(string_room(h, (size_t)(i % 600) + 4, &at, &err));
        memset(at, 0, s->n);
        memcpy(at, &i, 4);
        put(h, fnv, value_from_object(s), VALUE_NONE);
    }
    check_spread(fnv, "zeros");
    heap_free(h);
}

static void members_of_anything(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Dict *d = dict_new(h, 2, NULL);
    assert_true(dict_put_text(h, d, "name", STR("x"), NULL) && dict_put_str(h, d, STR("n"), value_from_small(3), NULL));
    Value v = value_from_object(d);
    assert_true(value_small(value_member(v, "n")) == 3);
    assert_true(value_is_gone(value_member(v, "none")) && value_is_gone(value_member(VALUE_GONE, "n"))
        && value_is_gone(value_member(value_from_small(1), "n")));
    assert_str(value_member_text(v, "name"), "x");
    assert_str(value_member_text(v, "n"), "");
    assert_str(value_member_text(VALUE_GONE, "name"), "");
    heap_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(insertion_order_is_kept),
        cmocka_unit_test(numbers_that_are_equal_are_one_key),
        cmocka_unit_test(finding_by_text),
        cmocka_unit_test(members_of_anything),
        cmocka_unit_test(inserting_keeps_what_is_there),
        cmocka_unit_test(unhashable_keys_are_refused),
        cmocka_unit_test(a_busy_or_frozen_dict_refuses),
        cmocka_unit_test(too_much_room_is_refused),
        cmocka_unit_test(clearing_and_copying),
        cmocka_unit_test(clearing_a_sparse_table_lets_it_go),
        cmocka_unit_test(random_edits_match_a_model),
        cmocka_unit_test(a_queue_is_not_quadratic),
        cmocka_unit_test(a_million_entries),
        cmocka_unit_test(chosen_ints_spread),
        cmocka_unit_test(chosen_strings_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
