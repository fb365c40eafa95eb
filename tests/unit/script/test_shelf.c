#include <pthread.h>
#include "script_unit.h"

static const ScriptCase cases[] = {
    { "cache.get('a')", "None" }, { "cache.get('a', 5)", "5" }, { "cache.get('a', default=[])", "[]" },
        { "cache.set('a', {'b': [1, 2.5, None, True, 'x', 1 << 100]})", "None" },
    { "cache.get('a')", "{\"b\": [1, 2.5, None, True, \"x\", 1267650600228229401496703205376]}" },
        { "v = cache.get('a')\nv['b'].append(3)\nreturn len(cache.get('a')['b'])", "6" },
    { "cache.has('a'), cache.has('b')", "(True, False)" }, { "cache.delete('a'), cache.delete('a'), cache.has('a')", "(True, False, False)" },
    { "cache.set('n', None)\nreturn [cache.has('n'), cache.get('n', 1)]", "[True, None]" },
        { "cache.set('f', len)", "error: cache.set: the value has no JSON form: …" },
    { "cache.set('f', set([1]))", "error: cache.set: the value has no JSON form: …" },
        { "cache.set('f', {1: 2})", "error: cache.set: the value has no JSON form: …" },
    { "a = []\na.append(a)\ncache.set('f', a)", "error: cache.set: the value has no JSON form: …" },
        { "cache.set('f', float('nan'))", "error: cache.set: the value has no JSON form: …" },
    { "a = [1]\nfor i in range(60):\n  a = [a, a]\ncache.set('f', a)", "error: cache.set: cache is full (16 MiB)" },
        { "cache.set('big', 'x' * (17 << 20))", "error: cache.set: cache is full (16 MiB)" },
    { "for i in range(100):\n  cache.set('big', 'x' * (3 << 20))\nreturn len(cache.get('big'))", "3145728" },
    { "for i in range(10):\n  cache.set('big' + str(i), 'x' * (3 << 20))", "error: cache.set: cache is full (16 MiB)" },
        { "cache.get('n', 1), cache.has('big')", "(None, True)" },
    { "cache.clear()\nreturn cache.has('big')", "False" }, { "cache.get(1)", "error: cache.get: for parameter k: got int, want string" },
    { "ctx.set('b', 1)\nctx.set('a', [2])\nreturn [ctx.snapshot(), cache.has('a')]", "[{\"a\": [2], \"b\": 1}, False]" },
        { "ctx.delete('a')\nreturn ctx.snapshot()", "{\"b\": 1}" },
    { "for i in range(20):\n  ctx.set(str(20 - i), i)\nreturn ctx.snapshot()['13']", "7" }, { "ctx.clear()\nreturn ctx.snapshot()", "{}" },
    { "metrics.get('a')", "0" }, { "metrics.incr('a'), metrics.incr('a', 2), metrics.incr('f', 0.5), metrics.incr('a', 1 << 70)",
        "(1, 3, 0.5, 1180591620717411303427)" },
    { "metrics.set('b', 2)\nreturn metrics.snapshot()", "{\"a\": 1180591620717411303427, \"b\": 2, \"f\": 0.5}" },
        { "metrics.set('b', 'x')", "error: metrics.set: for parameter value: got string, want float or int" },
    { "metrics.reset('a')\nreturn metrics.get('a')", "0" }, { "metrics.reset()\nreturn metrics.snapshot()", "{}" },
        { "metrics.incr('x', float('inf'))", "error: metrics.incr: the value has no JSON form: …" },
};

static void test_scripts(void **state) {
    (void)state;
    ScriptUnit u;
    script_begin(&u);
    SCRIPT_CASES(&u, cases);
    u.host.cache = (shelf_free(u.host.cache), NULL);
    assert_string_equal(script_run(&u, "cache.get('a')"), "error: cache.get: not available here");
    script_end(&u);
}

static void *add_many(void *ctx) {
    Heap *heap = heap_new(0);
    Value now;
    for (int i = 0; i < 2000; i++) {
        assert_true(shelf_add(ctx, STR("n"), value_from_small(1), heap, &now, NULL));
        char key[16];
        snprintf(key, sizeof key, "k%d", i % 7);
        String *s = string_new(heap, str_from(key), NULL);
        assert_true(shelf_set(ctx, str_from(key), value_from_object(s), NULL));
        assert_true(shelf_get(ctx, str_from(key), heap, &now, NULL));
        assert_str(value_str(now), key);
        if (i % 100 == 0) heap_reset(heap);
    }
    heap_free(heap);
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    Shelf *s = shelf_new("cache", 0);
    pthread_t t[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&t[i], NULL, add_many, s), 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    Heap *heap = heap_new(0);
    Value v;
    assert_true(shelf_get(s, STR("n"), heap, &v, NULL));
    assert_int_equal(value_small(v), 8000);
    heap_free(heap);
    shelf_free(s);
}

static void test_restore(void **state) {
    (void)state;
    Shelf *s = shelf_new("cache", 0);
    Heap *heap = heap_new(0);
    Value v;
    Error err = { 0 };
    assert_true(shelf_set(s, STR("old"), VALUE_TRUE, NULL));
    Dict *d = dict_new(heap, 0, NULL);
    assert_true(dict_put_str(heap, d, STR("new"), value_from_small(3), NULL));
    assert_true(shelf_restore(s, value_from_object(d), NULL));
    assert_false(shelf_has(s, STR("old")));
    assert_true(shelf_get(s, STR("new"), heap, &v, NULL));
    assert_int_equal(value_small(v), 3);
    assert_true(shelf_set(s, STR("more"), VALUE_NONE, NULL));
    assert_false(shelf_restore(s, VALUE_NONE, &err));
    assert_true(dict_put(heap, d, value_from_small(1), VALUE_NONE, NULL));
    assert_false(shelf_restore(s, value_from_object(d), &err));
    assert_true(shelf_has(s, STR("new")));                 /* a rejected value changes nothing */
    heap_free(heap);
    shelf_free(s);
}

/* Workers are returned clean, whatever a call did with them. */
static void test_workers(void **state) {
    (void)state;
    ScriptUnit u;
    script_begin(&u);
    Worker *a = worker_take(u.workers, &u.host, NULL), *b = worker_take(u.workers, NULL, NULL);
    assert_ptr_not_equal(a, b);
    worker_give(u.workers, a);
    Worker *c = worker_take(u.workers, NULL, NULL);
    assert_ptr_equal(a, c);
    assert_null(vm_host(c->vm));
    worker_give(u.workers, c);
    worker_give(u.workers, b);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(script_run(&u, "[x for x in range(2000)] and len(cache.get('q', 'a' * 1000000))"), "1000000");
        assert_string_equal(script_run(&u, "a = [0]\nfor i in range(100000000):\n  a += a\nreturn 1"), "error: heap limit of 67108864 bytes reached");
    }
    assert_string_equal(script_run_text(&u, STR("l = []\ndef run():\n  l.append(1)\n  return l\n")), "[1]");
    script_end(&u);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_scripts), cmocka_unit_test(test_threads), cmocka_unit_test(test_restore),
        cmocka_unit_test(test_workers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
