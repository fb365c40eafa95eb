#include "value_unit.h"

static void trace_values(Tracer *t, void *ctx) {
    for (Value *v = ctx; !value_is_gone(*v); v++) tracer_value(t, *v);
}

static void pins_keep_what_they_name(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Value a[3] = { unit_text(h, "one"), LIST(h, unit_text(h, "two"), unit_box(h, unit_text(h, "three"))), VALUE_NONE };
    size_t outer = heap_pin(h, a, 3);
    for (int i = 0; i < 100; i++) {
        Value inner[2] = { unit_text(h, "inner"), unit_parse(h, "123456789012345678901234567890", 10) };
        size_t pin = heap_pin(h, inner, 2);
        must(heap_buffer(h, 500, &err));
        a[2] = TUPLE(h, unit_text(h, "late"), inner[1]);   /* the pin covers the current value */
        heap_collect(h);
        assert_str(value_str(inner[0]), "inner");
        assert_str(value_str(value_tuple(a[2])->at[0]), "late");
        assert_int_equal(int_bits(inner[1]), 97);
        heap_unpin(h, pin);
        assert_str(value_str(a[0]), "one");
        assert_str(value_str(value_list(a[1])->at[0]), "two");
        assert_str(value_str(((Box *)value_object(value_list(a[1])->at[1]))->held), "three");
    }
    size_t live = heap_stats(h).live;
    heap_unpin(h, outer);
    heap_collect(h);
    assert_true(live > 0);
    assert_int_equal(heap_stats(h).live, 0);
    assert_int_equal(heap_stats(h).collections, 101);
    heap_free(h);
}

static void unpinning_an_outer_pin_ends_the_inner_ones(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Value a = unit_text(h, "a"), b = unit_text(h, "b");
    size_t pin = heap_pin(h, &a, 1);
    heap_pin(h, &b, 1);
    heap_unpin(h, pin);
    heap_collect(h);
    assert_int_equal(heap_stats(h).live, 0);
    heap_free(h);
}

static void roots_come_and_go(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Value a[] = { unit_text(h, "first"), VALUE_GONE }, b[] = { unit_text(h, "second"), VALUE_GONE };
    heap_add_roots(h, trace_values, a);
    heap_add_roots(h, trace_values, b);
    heap_collect(h);
    size_t both = heap_stats(h).live;
    assert_str(value_str(a[0]), "first");
    heap_remove_roots(h, trace_values, a);
    heap_remove_roots(h, trace_values, a);                 /* already removed: no effect */
    heap_collect(h);
    assert_str(value_str(b[0]), "second");
    assert_true(heap_stats(h).live < both && heap_stats(h).live > 0);
    heap_remove_roots(h, trace_values, b);
    heap_collect(h);
    assert_int_equal(heap_stats(h).live, 0);
    heap_free(h);
}

static void cycles_die(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    for (int i = 0; i < 1000; i++) {
        Value l = LIST(h, VALUE_NONE), b = unit_box(h, l);
        Dict *d = made(dict_new(h, 0, &err));
        must(dict_put(h, d, b, l, &err));
        value_list(l)->at[0] = TUPLE(h, value_from_object(d), b, l);
    }
    heap_collect(h);
    assert_int_equal(heap_stats(h).live, 0);
    assert_true(heap_stats(h).used < 600 << 10);
    heap_free(h);
}

static void memory_goes_down_when_garbage_dies(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    Value all = LIST(h, VALUE_NONE);
    size_t pin = heap_pin(h, &all, 1);
    for (int i = 0; i < 100000; i++) must(list_push(h, value_list(all), unit_text(h, "some text that lives"), &err));
    heap_collect(h);
    HeapStats full = heap_stats(h);
    assert_true(full.live >= 100000 * (8 + 48) && full.live <= full.used && full.used <= full.peak);
    all = VALUE_NONE;
    heap_unpin(h, pin);
    heap_collect(h);
    assert_true(heap_stats(h).used < full.used / 8);
    assert_int_equal(heap_stats(h).peak, full.peak);
    heap_free(h);
}

/* Many allocations, little live data, and a limit in between. */
static void churn_stays_inside_the_limit(void **state) {
    (void)state;
    enum { LIVE = 8000, TOTAL = UNIT_HOSTILE ? 3 << 20 : 200 << 20 };
    Heap *h = heap_new(8 << 20);
    Value keep = value_from_object(made(list_new(h, LIVE, &err)));
    heap_pin(h, &keep, 1);
    for (int i = 0; i < LIVE; i++) must(list_push(h, value_list(keep), VALUE_NONE, &err));
    Rng rng = { 1 };
    char text[1024];
    memset(text, 'x', sizeof text);
    size_t total = 0, rounds = 0;
    while (total < TOTAL) {
        if (!UNIT_HOSTILE || rounds++ % 512 == 0) heap_safepoint(h);
        size_t n = rng_below(&rng, 64) ? rng_below(&rng, 180) : rng_below(&rng, sizeof text);
        String *s = made(string_new(h, (Str){ text, n }, &err));
        value_list(keep)->at[rng_below(&rng, LIVE)] = value_from_object(s);
        if (rng_below(&rng, 2000) == 0) must(heap_buffer(h, 50000, &err));
        total += n + 32;
    }
    assert_true(heap_stats(h).peak <= 8 << 20);
    heap_collect(h);
    size_t live = heap_stats(h).live;
    assert_true(live > LIVE * 32 && live < 3 << 20);
    heap_free(h);
}

/* A script just below its limit must not trigger a full collection at every safepoint. */
static void collections_stay_rare_near_the_limit(void **state) {
    (void)state;
    if (UNIT_HOSTILE) return;
    enum { LIMIT = 4 << 20 };
    Heap *h = heap_new(LIMIT);
    Value keep = value_from_object(made(list_new(h, 0, &err)));
    heap_pin(h, &keep, 1);
    Error err = { 0 };
    for (;;) {
        String *s = string_fmt(h, &err, "text number %d that stays here for good", (int)value_list(keep)->n);
        if (!s || !list_push(h, value_list(keep), value_from_object(s), &err)) break;
    }
    assert_int_equal(err.kind, ERR_LIMIT);
    value_list(keep)->n -= 600;                            /* some room, about 40 kB */
    heap_collect(h);
    size_t before = heap_stats(h).collections, given = 0;
    for (int i = 0; i < 20000; i++) {
        heap_safepoint(h);
        if (!string_new(h, STR("short"), &err)) break;
        given += 32;
    }
    size_t collections = heap_stats(h).collections - before;
    if (collections * (LIMIT / 64) > given + LIMIT / 64) {
        print_error("%zu collections for %zu bytes\n", collections, given);
        fail();
    }
    heap_free(h);
}

/* A gap too small for one object stays usable for smaller ones. */
static void holes_of_all_sizes_are_found_again(void **state) {
    (void)state;
    enum { N = 20000, LIMIT = 4 << 20 };
    Heap *h = heap_new(LIMIT);
    Value keep = value_from_object(made(list_new(h, N, &err)));
    heap_pin(h, &keep, 1);
    for (int i = 0; i < N; i++) {
        must(list_push(h, value_list(keep), unit_text(h, "sixty-four bytes or a bit more of text"), &err));
        must(string_new(h, STR("garbage that leaves a hole of its own between the two"), &err));
    }
    heap_collect(h);
    size_t used = heap_stats(h).used;
    for (int i = 0; i < N / 2; i++) {                      /* these fit the gaps */
        must(string_new(h, STR("fits into the hole that is left there."), &err));
    }
    assert_true(heap_stats(h).used <= used + used / 8 || UNIT_HOSTILE);
    for (int i = 0; i < N; i++) assert_int_equal(value_str(value_list(keep)->at[i]).n, 38);
    heap_free(h);
}

/* Short-lived small objects, and occasionally one that fits none of their gaps: half the limit must be usable. */
static void large_objects_do_not_waste_small_holes(void **state) {
    (void)state;
    if (UNIT_HOSTILE) return;
    enum { LIVE = 40000, LIMIT = 8 << 20 };
    Heap *h = heap_new(LIMIT);
    Rng rng = { 77 };
    Value keep = value_from_object(made(list_new(h, LIVE, &err)));
    heap_pin(h, &keep, 1);
    for (int i = 0; i < LIVE; i++) must(list_push(h, value_list(keep), VALUE_NONE, &err));
    static const char text[4000];
    for (int i = 0; i < 1000000; i++) {
        heap_safepoint(h);
        size_t n = i % 10 ? 20 + rng_below(&rng, 80) : sizeof text;
        String *s = made(string_new(h, (Str){ text, n }, &err));
        if (i % 10) value_list(keep)->at[rng_below(&rng, LIVE)] = value_from_object(s);
    }
    heap_collect(h);
    assert_true(heap_stats(h).live > LIMIT * 2 / 5);
    heap_free(h);
}

/* ---- a random graph against a model of it ---- */

/* Every node knows its id; the model says, per id, what the node must hold. As in a script, nodes
 * are reached from the roots only. */
typedef enum { NODE_LIST, NODE_DICT, NODE_TUPLE, NODE_BOX, NODE_TEXT, NODE_INT, NODE_GROWN } NodeKind;
enum { ROOTS = 24, NODES = 60000, KIDS = 8 };
typedef struct { NodeKind kind; uint32_t n, big; uint32_t kid[KIDS]; uint32_t seen; } Node;
typedef struct { Heap *h; Rng rng; Value root[ROOTS]; uint32_t root_id[ROOTS]; Node *node; uint32_t n, round; } World;

static void text_of(uint32_t id, uint32_t big, Buf *out) {
    buf_reset(out);
    do buf_add_fmt(out, "node %u;", id);
    while (out->n < big);
}

static Value make_list(World *w, uint32_t id, const Value *kid, uint32_t n, uint32_t big) {
    List *l = made(list_new(w->h, 0, &err));
    must(list_push(w->h, l, value_from_small(id), &err));
    for (uint32_t i = 0; i < n; i++) must(list_push(w->h, l, kid[i], &err));
    for (uint32_t i = 0; i < big; i++) must(list_push(w->h, l, value_from_float(i), &err));
    return value_from_object(l);
}

static Value make_dict(World *w, uint32_t id, const Value *kid, uint32_t n, uint32_t big) {
    Dict *d = made(dict_new(w->h, 0, &err));
    must(dict_put_str(w->h, d, STR("id"), value_from_small(id), &err));
    for (uint32_t i = 0; i < n; i++) must(dict_put(w->h, d, unit_small(i), kid[i], &err));
    for (uint32_t i = 0; i < big; i++) must(dict_put(w->h, d, unit_small(1000 + i), unit_small(i), &err));
    return value_from_object(d);
}

static Value make_text(World *w, NodeKind kind, uint32_t id, uint32_t big) {
    Buf text = { 0 };
    text_of(id, big, &text);
    String *s;
    if (kind == NODE_TEXT) s = made(string_new(w->h, buf_str(&text), &err));
    else {                                                 /* incrementally, through a shared buffer */
        s = made(string_new(w->h, STR(""), &err));
        for (size_t at = 0; at < text.n; at += 97) {
            Str part = str_sub(buf_str(&text), at, at + 97);
            s = made(string_concat(w->h, s, made(string_new(w->h, part, &err)), &err));
        }
    }
    buf_clear(&text);
    return value_from_object(s);
}

static Value make_node(World *w, NodeKind kind, uint32_t id, const Value *kid, uint32_t n, uint32_t big) {
    switch (kind) {
    case NODE_LIST: return make_list(w, id, kid, n, big);
    case NODE_DICT: return make_dict(w, id, kid, n, big);
    case NODE_TUPLE: {
        Tuple *t = made(tuple_new(w->h, 1 + n + big, &err));
        t->at[0] = value_from_small(id);
        memcpy(t->at + 1, kid, n * sizeof *kid);
        return value_from_object(t);
    }
    case NODE_BOX: return unit_box(w->h, make_list(w, id, kid, n, 0));
    case NODE_INT: {
        Value v = unit_small(id + 1), shift = unit_small(100 + big);
        must(int_shl(w->h, v, shift, &v, &err));
        return v;
    }
    default: return make_text(w, kind, id, big);
    }
}

static Value *kid_of(Value v, NodeKind kind, uint32_t i) {
    switch (kind) {
    case NODE_LIST: return &value_list(v)->at[1 + i];
    case NODE_TUPLE: return &value_tuple(v)->at[1 + i];
    case NODE_BOX: return &value_list(((Box *)value_object(v))->held)->at[1 + i];
    default: {
        Value *found;
        must(dict_get(value_dict(v), unit_small(i), &found, &err));
        assert_non_null(found);
        return found;
    }
    }
}

static void check_text(Value v, uint32_t id, uint32_t big) {
    Buf text = { 0 };
    text_of(id, big, &text);
    assert_true(str_eq(value_str(v), buf_str(&text)));
    buf_clear(&text);
}

static void check_id(World *w, Value v, uint32_t id) {
    const Node *node = &w->node[id];
    Value shown = VALUE_NONE;
    switch (node->kind) {
    case NODE_LIST:
        assert_int_equal(value_list(v)->n, 1 + node->n + node->big);
        shown = value_list(v)->at[0];
        for (uint32_t i = 0; i < node->big; i += 17)
            assert_true(value_float(value_list(v)->at[1 + node->n + i]) == (double)i);
        break;
    case NODE_TUPLE:
        assert_int_equal(value_tuple(v)->n, 1 + node->n + node->big);
        shown = value_tuple(v)->at[0];
        break;
    case NODE_BOX:
        assert_ptr_equal(((Box *)value_object(v))->head.cls, &box_class);
        shown = value_list(((Box *)value_object(v))->held)->at[0];
        break;
    case NODE_DICT:
        assert_int_equal(value_dict(v)->n, 1 + node->n + node->big);
        shown = *dict_find_str(value_dict(v), STR("id"));
        break;
    case NODE_INT:
        must(int_shr(w->h, v, unit_small(100 + node->big), &shown, &err));
        shown = unit_small(value_small(shown) - 1);
        break;
    default:
        check_text(v, id, node->big);
        return;
    }
    assert_int_equal(value_small(shown), id);
}

/* Walks model and heap in parallel from the roots. */
static void check_world(World *w) {
    static struct { Value v; uint32_t id; } todo[NODES];
    uint32_t n = 0;
    w->round++;
#define VISIT(value, i) do { uint32_t id_ = (i); \
        if (w->node[id_].seen != w->round) { w->node[id_].seen = w->round; todo[n].v = (value); todo[n++].id = id_; } } while (0)
    for (int i = 0; i < ROOTS; i++)
        if (!value_is_none(w->root[i])) VISIT(w->root[i], w->root_id[i]);
    while (n) {
        Value v = todo[--n].v;
        uint32_t id = todo[n].id;
        check_id(w, v, id);
        for (uint32_t i = 0; i < w->node[id].n; i++) VISIT(*kid_of(v, w->node[id].kind, i), w->node[id].kid[i]);
    }
#undef VISIT
}

static bool pick(World *w, Value *v, uint32_t *id) {       /* a random walk from a random root */
    size_t r = rng_below(&w->rng, ROOTS);
    if (value_is_none(w->root[r])) return false;
    *v = w->root[r];
    *id = w->root_id[r];
    for (size_t steps = rng_below(&w->rng, 6); steps && w->node[*id].n; steps--) {
        uint32_t i = (uint32_t)rng_below(&w->rng, w->node[*id].n);
        *v = *kid_of(*v, w->node[*id].kind, i);
        *id = w->node[*id].kid[i];
    }
    return true;
}

static void step_new(World *w) {
    uint32_t id = w->n++;
    Node *node = &w->node[id];
    node->kind = (NodeKind)rng_below(&w->rng, 7);
    node->big = rng_below(&w->rng, 10) ? (uint32_t)rng_below(&w->rng, 20) : (uint32_t)rng_below(&w->rng, 3000);
    if (node->kind == NODE_BOX) node->big = 0;
    if (node->kind >= NODE_TEXT && node->kind != NODE_INT && rng_below(&w->rng, 5) == 0) node->big *= 8;
    Value kid[KIDS];
    node->n = 0;
    if (node->kind < NODE_TEXT)
        for (size_t i = rng_below(&w->rng, KIDS); i; i--)
            if (pick(w, &kid[node->n], &node->kid[node->n])) node->n++;
    size_t r = rng_below(&w->rng, ROOTS);
    w->root[r] = make_node(w, node->kind, id, kid, node->n, node->big);
    w->root_id[r] = id;
}

static void step_link(World *w) {                          /* makes cycles too */
    Value from, to;
    uint32_t from_id, to_id;
    if (!pick(w, &from, &from_id) || !pick(w, &to, &to_id)) return;
    Node *node = &w->node[from_id];
    if (node->kind == NODE_TUPLE || node->n == 0) return;
    uint32_t i = (uint32_t)rng_below(&w->rng, node->n);
    *kid_of(from, node->kind, i) = to;
    node->kid[i] = to_id;
}

static void a_random_graph_survives(void **state) {
    (void)state;
    World w = { .h = heap_new(0), .rng = { 42 }, .node = calloc(NODES, sizeof(Node)) };
    heap_pin(w.h, w.root, ROOTS);
    for (int i = 0; i < ROOTS; i++) w.root[i] = VALUE_NONE;
    int steps = UNIT_HOSTILE ? 6000 : 30000;
    for (int step = 0; step < steps; step++) {
        size_t what = rng_below(&w.rng, 100);
        if (what < 50) step_new(&w);
        else if (what < 90) step_link(&w);
        else if (what < 94) w.root[rng_below(&w.rng, ROOTS)] = VALUE_NONE;
        else if (what < 97) heap_collect(w.h);
        else if (what == 98) check_world(&w);
        if (step % 500 == 0) { heap_collect(w.h); check_world(&w); }
    }
    heap_collect(w.h);
    check_world(&w);
    for (int i = 0; i < ROOTS; i++) w.root[i] = VALUE_NONE;
    heap_collect(w.h);
    assert_int_equal(heap_stats(w.h).live, 0);
    free(w.node);
    heap_free(w.h);
}

/* Every prefix of a sequence of allocations, followed by a collection. */
static void a_collection_at_every_point(void **state) {
    (void)state;
    for (int stop = 0; stop < 120; stop++) {
        Heap *h = heap_new(0);
        Value keep = LIST(h, VALUE_NONE);
        heap_pin(h, &keep, 1);
        for (int i = 0; i < 120; i++) {
            must(list_push(h, value_list(keep), i % 3 ? unit_text(h, "kept") : unit_box(h, unit_text(h, "boxed")), &err));
            must(string_fmt(h, &err, "garbage %d", i));
            if (i % 10 == 0) must(heap_buffer(h, 9000, &err));
            if (i == stop || i == stop + 1) heap_collect(h);
        }
        for (uint32_t i = 1; i < value_list(keep)->n; i++) {
            Value v = value_list(keep)->at[i];
            if ((i - 1) % 3) assert_str(value_str(v), "kept");
            else assert_str(value_str(((Box *)value_object(v))->held), "boxed");
        }
        heap_free(h);
    }
}

static void values_of_a_frozen_heap_are_left_alone(void **state) {
    (void)state;
    Heap *project = heap_new(0), *h = heap_new(0);
    Value shared = LIST(project, unit_text(project, "shared"));
    heap_freeze_all(project);
    Value mine = LIST(h, shared, unit_text(h, "mine"));
    heap_pin(h, &mine, 1);
    for (int i = 0; i < 3; i++) {
        heap_collect(h);
        assert_int_equal(value_object(shared)->flags & OBJECT_MARKED, 0);
        assert_str(value_str(value_list(value_list(mine)->at[0])->at[0]), "shared");
    }
    assert_true(heap_stats(h).live < 200);
    heap_free(h);
    assert_str(value_str(value_list(shared)->at[0]), "shared");
    heap_free(project);
}

static void safepoints_collect_by_need(void **state) {
    (void)state;
    Heap *h = heap_new(0);
    assert_int_equal(heap_wants_collection(h), UNIT_HOSTILE);
    for (int i = 0; i < 4000; i++) { must(heap_buffer(h, 1000, &err)); heap_safepoint(h); }
    size_t n = heap_stats(h).collections;
    assert_true(UNIT_HOSTILE ? n == 4000 : n >= 1 && n <= 4);
    heap_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pins_keep_what_they_name),
        cmocka_unit_test(unpinning_an_outer_pin_ends_the_inner_ones),
        cmocka_unit_test(roots_come_and_go),
        cmocka_unit_test(cycles_die),
        cmocka_unit_test(memory_goes_down_when_garbage_dies),
        cmocka_unit_test(churn_stays_inside_the_limit),
        cmocka_unit_test(collections_stay_rare_near_the_limit),
        cmocka_unit_test(holes_of_all_sizes_are_found_again),
        cmocka_unit_test(large_objects_do_not_waste_small_holes),
        cmocka_unit_test(a_random_graph_survives),
        cmocka_unit_test(a_collection_at_every_point),
        cmocka_unit_test(values_of_a_frozen_heap_are_left_alone),
        cmocka_unit_test(safepoints_collect_by_need),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
