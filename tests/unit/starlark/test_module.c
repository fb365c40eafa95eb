#include <pthread.h>
#include "../unit.h"
#include "starlark/module.h"
#include "starlark/vm/repr.h"
#include "value/int.h"

/* A module that is loaded once and then called by virtual machines on several threads. */
typedef struct { Universe *universe; Heap *heap; Module *module; } Loaded;

static Loaded load(const char *text) {
    Loaded l = { .universe = universe_new(), .heap = heap_new(0) };
    Error err = { 0 };
    Source source = { .file = STR("m.star"), .text = str_from(text) };
    ModuleOptions options = { .universe = l.universe, .predeclared = l.universe->json_math };
    Vm *vm = vm_new(l.heap, &(VmConfig){ 0 });
    if (!module_compile(l.heap, &source, &options, &l.module, NULL, &err) || !module_load(vm, l.module, NULL, &err))
        fail_msg("%s:%u: %s", err.file, err.line, err.msg);
    vm_free(vm);
    heap_freeze_all(l.heap);
    module_seal(l.module);
    return l;
}

static void unload(Loaded *l) {
    module_free(l->module);
    heap_free(l->heap);
    universe_free(l->universe);
}

/* ---- changes made by calls ---- */

typedef struct { const char *name, *script, *want; } Case;

/* Each run() must return the same result every time, whatever the previous call changed. */
static const Case cases[] = {
    { "a list", "x = [1]\ndef run():\n    x.append(2)\n    return x\n", "[1, 2]" },
    { "a dict", "d = {'k': 1}\ndef run():\n    d['n'] = d.setdefault('k', 0) + 1\n    d['k'] += 1\n    return d\n", "{\"k\": 2, \"n\": 2}" },
    { "a set", "s = set([1])\ndef run():\n    s.add(len(s) + 1)\n    return s\n", "set([1, 2])" },
    { "parts of a tuple", "t = ([1], {'a': []})\ndef run():\n    t[0].append(2)\n    t[1]['a'].append(3)\n    return t\n", "([1, 2], {\"a\": [3]})" },
    { "what two globals share", "a = [1]\nb = {'a': a}\nc = (a, b)\ndef run():\n    b['a'].append(2)\n    a.append(3)\n    c[0].append(4)\n    return a, b, c[1]['a'] == a\n",
      "([1, 2, 3, 4], {\"a\": [1, 2, 3, 4]}, True)" },
    { "what is touched late", "a = [1]\nb = [a]\ndef run():\n    a.append(2)\n    x = len(b[0])\n    b[0].append(3)\n    return x, a\n", "(2, [1, 2, 3])" },
    { "a captured list", "def make():\n    n = [0]\n    def up():\n        n[0] += 1\n        return n[0]\n    return up\nup = make()\ndef run():\n    return up(), up()\n", "(1, 2)" },
    { "two closures over one cell", "def make():\n    n = [0]\n    def up():\n        n[0] += 1\n    def get():\n        return n[0]\n    return up, get\nup, get = make()\ndef run():\n    up()\n    up()\n    return get()\n", "2" },
    { "a default argument", "def add(x, seen = []):\n    seen.append(x)\n    return seen\ndef run():\n    add(1)\n    return add(2)\n", "[1, 2]" },
    { "run's own default argument", "def run(seen = [0]):\n    seen.append(len(seen))\n    return seen\n", "[0, 1]" },
    { "a keyword-only default", "def add(*, to = {}):\n    to[len(to)] = 1\n    return to\ndef run():\n    add()\n    return add()\n", "{0: 1, 1: 1}" },
    { "functions in a dict", "log = []\ndef a(): log.append('a')\ndef b(): log.append('b')\ntable = {'a': a, 'b': b}\ndef run():\n    table['b']()\n    table['a']()\n    table.pop('a')\n    return log, table.keys()\n",
      "([\"b\", \"a\"], [\"b\"])" },
    { "a cycle", "x = [1]\nx.append(x)\nd = {'x': x}\nx.append(d)\ndef run():\n    x[1][0] += 1\n    d['n'] = 1\n    return x[0], len(x[2]), x[1][1][0], x\n",
      "(2, 2, 2, [2, [...], {\"x\": [...], \"n\": 1}])" },
    { "a function that holds itself", "def make():\n    hold = []\n    def f(): return len(hold)\n    hold.append(f)\n    return f, hold\nf, hold = make()\ndef run():\n    hold.append(1)\n    return f(), hold[0] == f\n", "(2, True)" },
    { "a bound method", "x = [1]\npush = x.append\ndef run():\n    push(2)\n    return x\n", "[1, 2]" },
    { "keys that hash by identity", "x = []\ndef keep(v = x): return v\nd = {keep: 'f', (1, keep): 't', len: 'n'}\nmany = {k: 1 for k in list(range(20)) + [keep]}\ndef run():\n    d[keep] += '!'\n    many['new'] = many.pop(keep)\n    return d[keep], d[(1, keep)], d[len], many['new'], keep() == x\n",
      "(\"f!\", \"t\", \"n\", 1, True)" },
    { "identity of natives", "x = []\nenc = json.encode\nj = json\ndef run():\n    x.append(1)\n    return enc == json.encode, enc(x), j == json, j.decode('1')\n", "(True, \"[1]\", True, 1)" },
    { "identity of functions", "x = []\ndef f(): return x\ng = f\nh = {'f': f}\ndef run():\n    return f == g, h['f'] == f, f() == x\n", "(True, True, True)" },
    { "nothing", "N = 5\nT = (1, 'a', (2.5, None))\ndef double(x): return 2 * x\ndef run():\n    return double(N), T\n", "(10, (1, \"a\", (2.5, None)))" },
    { "iteration over a copy", "x = [1, 2]\ndef run():\n    for i in x:\n        pass\n    x.append(3)\n    return [i for i in x]\n", "[1, 2, 3]" },
    { "augmented assignment", "x = [1]\ns = set([1])\nd = {1: 1}\ndef add(x, s, d):\n    x += [2]\n    s |= set([2])\n    d |= {2: 2}\ndef run():\n    add(x, s, d)\n    return x, s, d\n", "([1, 2], set([1, 2]), {1: 1, 2: 2})" },
    { "a deep structure", "def deep():\n    x = []\n    for _ in range(500):\n        x = [x]\n    return x\nx = deep()\ndef run():\n    x.append(1)\n    return len(x)\n", "2" },
};

/* Describes the problem of one call, if any. Only the main thread may fail the test. */
static void try_call(const Case *c, const Loaded *l, Vm *vm, Buf *problem) {
    Error err = { 0 };
    Value v;
    Buf text = { 0 };
    if (!module_call(vm, l->module, STR("run"), NULL, 0, &v, &err) || !repr_value(vm, &text, v, &err))
        buf_add_fmt(problem, "%s: %s", c->name, err.msg);
    else if (!str_eq(buf_str(&text), str_from(c->want)))
        buf_add_fmt(problem, "%s\n   got %s\n  want %s", c->name, text.at, c->want);
    buf_clear(&text);
}

static void check_call(const Case *c, const Loaded *l, Vm *vm) {
    Buf problem = { 0 };
    try_call(c, l, vm, &problem);
    if (problem.n) fail_msg("%s", buf_str(&problem).at);
    buf_clear(&problem);
}

static void every_call_starts_fresh(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Loaded l = load(cases[i].script);
        Heap *heap = heap_new(0);
        Vm *vm = vm_new(heap, &(VmConfig){ 0 });
        for (int call = 0; call < 3; call++) {
            check_call(&cases[i], &l, vm);
            heap_reset(heap);
            vm_reset(vm, NULL);
        }
        vm_free(vm);
        heap_free(heap);
        unload(&l);
    }
}

/* ---- threads ---- */

typedef struct { const Loaded *loaded; const Case *expect; pthread_t thread; Buf problem; } Caller;

static void *call_many_times(void *ctx) {
    Caller *c = ctx;
    Heap *heap = heap_new(64 << 20);
    Vm *vm = vm_new(heap, &(VmConfig){ 0 });
    for (int i = 0; i < 50 && !c->problem.n; i++) {
        try_call(c->expect, c->loaded, vm, &c->problem);
        heap_reset(heap);
        vm_reset(vm, NULL);
    }
    vm_free(vm);
    heap_free(heap);
    return NULL;
}

static void threads_do_not_meet(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Loaded l = load(cases[i].script);
        Caller callers[4];
        for (int t = 0; t < 4; t++) {
            callers[t] = (Caller){ .loaded = &l, .expect = &cases[i] };
            assert_int_equal(pthread_create(&callers[t].thread, NULL, call_many_times, &callers[t]), 0);
        }
        for (int t = 0; t < 4; t++) {
            pthread_join(callers[t].thread, NULL);
            if (callers[t].problem.n) fail_msg("%s", buf_str(&callers[t].problem).at);
        }
        unload(&l);
    }
}

/* ---- other functions ---- */

static const char long_run[] =
    "big = [[i] for i in range(100)]\nsmall = [1]\nlog = {}\n"
    "def run():\n    for i in range(300):\n        log[i] = [i] * 20\n        small.append(len(big[i % 100]))\n    return len(log), len(small), len(big)\n";

/* Copies made during a call survive the collections of that call. */
static void collections_keep_the_copies(void **state) {
    (void)state;
    Loaded l = load(long_run);
    Heap *heap = heap_new(0);
    Vm *vm = vm_new(heap, &(VmConfig){ 0 });
    const Case c = { "collections", NULL, "(300, 301, 100)" };
    for (int i = 0; i < 3; i++) {
        heap_collect(heap);
        check_call(&c, &l, vm);
        heap_collect(heap);
        heap_reset(heap);
        vm_reset(vm, NULL);
    }
    vm_free(vm);
    heap_free(heap);
    unload(&l);
}

/* A collection at every safepoint makes a long list quadratic. */
#ifdef HARNESS_HOSTILE
#define HUGE_LIST "huge = [[i] for i in range(3000)]\n"
enum { SMALL_HEAP = 1 << 17 };
#else
#define HUGE_LIST "huge = [[i] for i in range(100000)]\n"
enum { SMALL_HEAP = 1 << 20 };
#endif

/* A call pays only for the globals it uses: the large one is not copied. */
static void untouched_globals_cost_nothing(void **state) {
    (void)state;
    Loaded l = load(HUGE_LIST "x = [1]\ndef run():\n    x.append(2)\n    return x\n");
    Heap *heap = heap_new(SMALL_HEAP);
    Vm *vm = vm_new(heap, &(VmConfig){ 0 });
    check_call(&(Case){ "untouched", NULL, "[1, 2]" }, &l, vm);
    assert_true(heap_stats(heap).used < SMALL_HEAP / 2);
    vm_free(vm);
    heap_free(heap);
    unload(&l);
}

static void copying_respects_the_heap_limit(void **state) {
    (void)state;
    Loaded l = load(HUGE_LIST "def run():\n    return len(huge)\n");
    Heap *heap = heap_new(SMALL_HEAP);
    Vm *vm = vm_new(heap, &(VmConfig){ 0 });
    Error err = { 0 };
    Value v;
    assert_false(module_call(vm, l.module, STR("run"), NULL, 0, &v, &err));
    assert_int_equal(err.kind, ERR_LIMIT);
    vm_free(vm);
    heap_free(heap);
    unload(&l);
}

static void calls_take_arguments_and_say_what_is_wrong(void **state) {
    (void)state;
    Loaded l = load("x = [1]\ndef add(a, b = 10):\n    return a + b + len(x)\ndef bad():\n    return x[5]\nafter = add(0)\n");
    Heap *heap = heap_new(0);
    Vm *vm = vm_new(heap, &(VmConfig){ 0 });
    Error err = { 0 };
    Value v, args[] = { value_from_small(1), value_from_small(2) };
    assert_true(module_call(vm, l.module, STR("add"), args, 2, &v, &err));
    assert_int_equal(value_small(v), 4);
    assert_false(module_call(vm, l.module, STR("add"), args, 0, &v, &err));
    assert_string_equal(err.msg, "function add missing 1 argument (a)");
    err = (Error){ 0 };
    assert_false(module_call(vm, l.module, STR("nope"), NULL, 0, &v, &err));
    assert_string_equal(err.msg, "module has no function nope");
    err = (Error){ 0 };
    assert_false(module_call(vm, l.module, STR("after"), NULL, 0, &v, &err));
    assert_string_equal(err.msg, "invalid call of non-function (int)");
    err = (Error){ 0 };
    assert_false(module_call(vm, l.module, STR("bad"), NULL, 0, &v, &err));
    assert_string_equal(err.msg, "list index 5 out of range [-1:0]");
    assert_int_equal(err.line, 5);
    const VmPlace *trace;
    assert_int_equal(vm_traceback(vm, &trace), 1);
    assert_str(trace[0].name, "bad");
    assert_int_equal(value_small(module_global(l.module, STR("after"))), 11);
    assert_true(value_is_gone(module_global(l.module, STR("nope"))));
    vm_free(vm);
    heap_free(heap);
    unload(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_starts_fresh),
        cmocka_unit_test(threads_do_not_meet),
        cmocka_unit_test(collections_keep_the_copies),
        cmocka_unit_test(untouched_globals_cost_nothing),
        cmocka_unit_test(copying_respects_the_heap_limit),
        cmocka_unit_test(calls_take_arguments_and_say_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
