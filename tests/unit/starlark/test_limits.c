/* Every limit ends every script soon, with an ordinary error. The time bound is generous, because test machines are
 * busy and sanitizers are slow. */
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include "../unit.h"
#include "base/clock.h"
#include "starlark/module.h"

typedef struct { Universe *universe; Heap *heap; Vm *vm; Module *module; } Script;

enum { HEAP_LIMIT = 64 << 20, AFTER_MS = 10 };

#ifdef HARNESS_HOSTILE
enum { SIZE = 300, STEPS = 2000 };
#else
enum { SIZE = 20000, STEPS = 100000 };
#endif

/* Each prepares its data at the top level; run() would then run for a very long time. N is SIZE. */
static const struct { const char *name, *text; } endless[] = {
    { "while", "def run():\n    while True: pass\n" },
    { "nested loops", "def run():\n    n = 0\n    for i in range(1 << 40):\n        for j in range(1 << 40):\n            n ^= i + j\n" },
    { "calls", "def f(x): return x\ndef run():\n    for i in range(1 << 40): f(i)\n" },
    { "recursion", "def f(n): return f(n - 1) + f(n - 2) if n > 1 else 1\ndef run(): return f(90)\n" },
    { "comprehension", "def run(): return [0 for i in range(1 << 40) if i < 0]\n" },
    { "repeated text", "def run():\n    for i in range(1 << 40): x = 'x' * 30000000\n" },
    { "repeated lists", "def run():\n    for i in range(1 << 40): x = [0] * 1000000\n" },
    { "sorted ints", "l = [(i * 7919) % 100003 for i in range(N)]\ndef run():\n    for i in range(1 << 40): sorted(l)\n" },
    { "sorted text", "l = [str((i * 7919) % 100003) for i in range(N)]\ndef run():\n    for i in range(1 << 40): sorted(l)\n" },
    { "sorted long text", "s = 'x' * 100000\nl = [s + str(i % 7) for i in range(50)]\ndef run():\n    for i in range(1 << 40): sorted(l)\n" },
    { "sorted tuples", "l = [((i * 7919) % 10007, i) for i in range(N)]\ndef run():\n    for i in range(1 << 40): sorted(l, reverse = True)\n" },
    { "sorted with key", "l = list(range(N))\ndef run():\n    for i in range(1 << 40): sorted(l, key = lambda x: -x)\n" },
    { "min and max", "l = list(range(N))\ndef run():\n    for i in range(1 << 40): min(l), max(l, key = lambda x: x)\n" },
    { "products", "def big(n):\n    x = 3\n    for _ in range(n): x *= x\n    return x\nx = big(17)\ndef run():\n    for i in range(1 << 40): x * x\n" },
    { "quotients", "def big(n):\n    x = 3\n    for _ in range(n): x *= x\n    return x\nx = big(17)\ny = big(16) + 1\ndef run():\n    for i in range(1 << 40): x // y, x % y\n" },
    { "shifts", "def run():\n    x = 1 << 500\n    for i in range(1 << 40): x = (x << 500) >> 500\n" },
    { "digits", "def big(n):\n    x = 3\n    for _ in range(n): x *= x\n    return x\nx = big(16)\ndef run():\n    for i in range(1 << 40): int(str(x)), '%d %x' % (x, x)\n" },
    { "join", "l = ['abc'] * N\ndef run():\n    for i in range(1 << 40): ','.join(l)\n" },
    { "replace", "s = 'ab' * N\ndef run():\n    for i in range(1 << 40): s.replace('a', 'xyz')\n" },
    { "split", "s = 'a b,' * N\ndef run():\n    for i in range(1 << 40): s.split(','), s.split(), s.splitlines()\n" },
    { "search", "s = 'ab' * N\nt = 'a' * N\nu = 'a' * (N // 2) + 'b'\ndef run():\n    for i in range(1 << 40): s.count('ba'), s.find('bb'), s.rfind('bb'), u in t, t.rfind(u)\n" },
    { "case", "s = 'äb' * N\ndef run():\n    for i in range(1 << 40): s.upper(), s.title(), s.isalpha(), s.strip('äb')\n" },
    { "elements", "s = 'äb' * N\ndef run():\n    for i in range(1 << 40): list(s.elems()), list(s.codepoint_ords())\n" },
    { "json.encode", "v = [{'a': i, 'b': [1.5, None, 'xé']} for i in range(N)]\ndef run():\n    for i in range(1 << 40): json.encode(v)\n" },
    { "json.encode of text", "v = 'é\"' * N\ndef run():\n    for i in range(1 << 40): json.encode(v)\n" },
    { "json.decode", "s = json.encode([{'a': 1.5, 'b': [None, 'x']}] * N)\ndef run():\n    for i in range(1 << 40): json.decode(s)\n" },
    { "json.indent", "s = json.encode([{'a': 1.5, 'b': [None, 'x']}] * N)\ndef run():\n    for i in range(1 << 40): json.indent(s)\n" },
    { "list of a range", "def run():\n    for i in range(1 << 40): list(range(3000000))\n" },
    { "repr", "v = [[i, {'k': str(i)}] for i in range(N)]\ndef run():\n    for i in range(1 << 40): repr(v)\n" },
    { "repr of shared parts", "def make():\n    x = []\n    for i in range(100): x = [x, x]\n    return x\nv = make()\ndef run(): return repr(v)\n" },
    { "formatting", "s = '%s' * N\na = tuple(['ab'] * N)\nf = '{}' * N\ndef run():\n    for i in range(1 << 40): s % a, f.format(*a)\n" },
    { "dicts", "d = {i: i for i in range(N)}\ndef run():\n    for i in range(1 << 40): dict(d), d | d, d.items(), d.keys(), d == dict(d)\n" },
    { "sets", "s = set(range(N))\nt = set(range(1, N))\ndef run():\n    for i in range(1 << 40): s | t, s & t, s - t, s ^ t, t <= s, s.union(t), s.difference(t)\n" },
    { "equal lists", "a = list(range(N))\nb = list(range(N))\ndef run():\n    for i in range(1 << 40): a == b, a < b\n" },
    { "in a list", "a = list(range(N))\ns = ['x' * 10000 + 'a'] * 1000\nt = 'x' * 10000 + 'b'\ndef run():\n    for i in range(1 << 40): -1 in a, t in s, [a] in [[a, a]]\n" },
    { "list methods", "a = list(range(N))\ndef run():\n    for i in range(1 << 40):\n        a.insert(0, a.pop())\n        a.index(N - 2)\n        a[::-1], a + a, tuple(a), reversed(a), zip(a, a), enumerate(a)\n" },
    { "spread arguments", "a = [0] * N\ndef f(*args): return args\ndef run():\n    for i in range(1 << 40): f(*a)\n" },
    { "bytes", "l = [1] * N\nb = b'\\xff' * N\ndef run():\n    for i in range(1 << 40): bytes(l), str(b), b'x' in b, list(b.elems())\n" },
    { "any and all", "l = [0] * N\ndef run():\n    for i in range(1 << 40): any(l), all(reversed(l))\n" },
};
enum { ENDLESS = sizeof endless / sizeof *endless };

static Script script_new(const char *text, size_t heap_limit) {
    Script s = { .universe = universe_new(), .heap = heap_new(heap_limit) };
    Buf with_size = { 0 };
    buf_add_fmt(&with_size, "N = %d\n%s", SIZE, text);
    Source source = { .file = STR("limits.star"), .text = buf_str(&with_size) };
    ModuleOptions options = { .universe = s.universe, .predeclared = s.universe->json_math, .allow_while = true };
    Error err = { 0 };
    s.vm = vm_new(s.heap, &(VmConfig){ .allow_recursion = true });
    if (!module_compile(s.heap, &source, &options, &s.module, NULL, &err) || !module_load(s.vm, s.module, NULL, &err))
        fail_msg("%s\n%s", text, err.msg);
    buf_clear(&with_size);
    return s;
}

static void script_free(Script *s) {
    vm_free(s->vm);
    module_free(s->module);
    heap_free(s->heap);
    universe_free(s->universe);
}

/* Runs run() with these settings; it must fail. */
static void run_until_it_fails(Script *s, const char *name, const VmConfig *config, Error *err) {
    Value v;
    vm_reset(s->vm, config);
    *err = (Error){ 0 };
    if (vm_call(s->vm, module_global(s->module, STR("run")), NULL, 0, &v, err)) fail_msg("%s: finished", name);
    if (heap_stats(s->heap).peak > HEAP_LIMIT) fail_msg("%s: %zu bytes of heap", name, heap_stats(s->heap).peak);
}

static void show_late(const char *name, int64_t since_ns) {
    int64_t late = (clock_mono_ns() - since_ns) / 1000000;
    if (getenv("LIMITS_TIMES")) print_message("%5lld ms late: %s\n", (long long)late, name);   /* not asserted: machines differ */
}

static void deadlines_end_everything(void **state) {
    (void)state;
    for (size_t i = 0; i < ENDLESS; i++) {
        Script s = script_new(endless[i].text, HEAP_LIMIT);
        Cancel *cancel = cancel_new(NULL, AFTER_MS * 1000000);
        int64_t due = clock_mono_ns() + AFTER_MS * 1000000;
        Error err;
        run_until_it_fails(&s, endless[i].name, &(VmConfig){ .allow_recursion = true, .cancel = cancel }, &err);
        show_late(endless[i].name, due);
        if (err.kind != ERR_TIMEOUT && err.kind != ERR_LIMIT) fail_msg("%s: %s", endless[i].name, err.msg);
        cancel_free(cancel);
        script_free(&s);
    }
}

typedef struct { Cancel *cancel; int64_t fired; } Firing;

static void *fire_soon(void *ctx) {
    Firing *f = ctx;
    nanosleep(&(struct timespec){ .tv_nsec = AFTER_MS * 1000000 }, NULL);
    f->fired = clock_mono_ns();
    cancel_fire(f->cancel);
    return NULL;
}

static void cancelling_ends_everything(void **state) {
    (void)state;
    for (size_t i = 0; i < ENDLESS; i++) {
        Script s = script_new(endless[i].text, HEAP_LIMIT);
        Firing f = { .cancel = cancel_new(NULL, 0) };
        pthread_t thread;
        Error err;
        assert_int_equal(pthread_create(&thread, NULL, fire_soon, &f), 0);
        run_until_it_fails(&s, endless[i].name, &(VmConfig){ .allow_recursion = true, .cancel = f.cancel }, &err);
        int64_t end = clock_mono_ns();
        pthread_join(thread, NULL);
        if (err.kind == ERR_CANCELLED) show_late(endless[i].name, f.fired + clock_mono_ns() - end);
        else if (err.kind != ERR_LIMIT) fail_msg("%s: %s", endless[i].name, err.msg);
        cancel_free(f.cancel);
        script_free(&s);
    }
}

static void steps_end_everything(void **state) {
    (void)state;
    for (size_t i = 0; i < ENDLESS; i++) {
        Script s = script_new(endless[i].text, HEAP_LIMIT);
        Error err;
        run_until_it_fails(&s, endless[i].name, &(VmConfig){ .allow_recursion = true, .max_steps = STEPS }, &err);
        assert_int_equal(err.kind, ERR_LIMIT);
        if (!strstr(err.msg, "too many steps") && !strstr(err.msg, "heap limit")) fail_msg("%s: %s", endless[i].name, err.msg);
        script_free(&s);
    }
}

/* ---- memory ---- */

#ifndef HARNESS_HOSTILE

static const struct { const char *name, *text; } greedy[] = {
    { "text", "def run(): return 'x' * 1000000000\n" },
    { "doubling text", "def run():\n    s = 'x'\n    while True: s += s\n" },
    { "a list", "def run():\n    l = []\n    while True: l.append([])\n" },
    { "a range", "def run(): return list(range(1000000000))\n" },
    { "repeated items", "def run(): return [0] * 1000000000\n" },
    { "a dict", "def run():\n    d = {}\n    for i in range(1 << 40): d[i] = str(i)\n" },
    { "a set", "def run(): return set(range(1 << 40))\n" },
    { "nesting", "def run():\n    l = []\n    while True: l = [l]\n" },
    { "join", "l = ['x' * 1000] * 1000\ndef run(): return ''.join(l * 1000)\n" },
    { "replace", "s = 'a' * 1000000\ndef run(): return s.replace('a', 'x' * 1000)\n" },
    { "replace nothing", "s = 'a' * 10000000\ndef run(): return s.replace('', 'x' * 100)\n" },
    { "formatting", "s = '%s' * 1000\nt = 'x' * 1000000\ndef run(): return s % tuple([t] * 1000)\n" },
    { "format", "t = 'x' * 1000000\ndef run(): return ('{0}' * 1000).format(t)\n" },
    { "repr", "t = 'x' * 1000000\ndef run(): return repr([t] * 1000)\n" },
    { "json.encode", "t = 'x' * 1000000\ndef run(): return json.encode([t] * 1000)\n" },
    { "json.decode", "s = '[' + '[],' * 3000000 + '0]'\ndef run(): return json.decode(s)\n" },
    { "split", "s = 'a,' * 10000000\ndef run(): return s.split(',')\n" },
    { "elems", "s = 'a' * 30000000\ndef run(): return list(s.elems())\n" },
    { "zip", "def run(): return zip(range(1 << 40), range(1 << 40))\n" },
    { "enumerate", "def run(): return enumerate(range(1 << 40))\n" },
    { "sorted", "def run(): return sorted(range(1 << 40))\n" },
    { "closures", "def run():\n    fs = []\n    for i in range(1 << 40): fs.append(lambda: i)\n" },
    { "arguments", "def f(*a): return a\ndef run(): return f(*range(1 << 40))\n" },
    { "an int", "def run():\n    x = 3\n    while True: x *= x\n" },
    { "upper", "s = 'ɐ' * 10000000\ndef run():\n    l = []\n    while True: l.append(s.upper())\n" },
};

static void the_heap_limit_holds(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof greedy / sizeof *greedy; i++) {
        Script s = script_new(greedy[i].text, HEAP_LIMIT);
        Cancel *cancel = cancel_new(NULL, (int64_t)60 * 1000000000);
        Error err;
        run_until_it_fails(&s, greedy[i].name, &(VmConfig){ .cancel = cancel }, &err);
        if (err.kind != ERR_LIMIT) fail_msg("%s: %s", greedy[i].name, err.msg);
        cancel_free(cancel);
        script_free(&s);
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    if (!getenv("ASAN_OPTIONS") && used.ru_maxrss > 400 * 1024) fail_msg("%ld KiB of memory were in use", used.ru_maxrss);
}

/* Scaled down from 10 GB allocated with 10 MB live. */
static void garbage_makes_room(void **state) {
    (void)state;
    Script s = script_new("live = [[i] * 8 for i in range(N // 2)]\n"
                          "def run():\n    for i in range(N * 10):\n        x = [i] * 100\n        live[i % len(live)] = x[:8]\n    return len(live)\n", HEAP_LIMIT);
    Error err = { 0 };
    Value v;
    if (!vm_call(s.vm, module_global(s.module, STR("run")), NULL, 0, &v, &err)) fail_msg("%s", err.msg);
    assert_true(heap_stats(s.heap).collections > 0);
    assert_true(heap_stats(s.heap).peak <= HEAP_LIMIT);
    script_free(&s);
}
#endif

/* ---- depth and output ---- */

typedef struct { const char *text, *want; uint32_t depth; size_t output; } Bound;

static void depth_and_output_are_bounded(void **state) {
    (void)state;
    static const Bound bounds[] = {
        { "def f(n): return f(n + 1)\ndef run(): return f(0)\n", "Starlark stack overflow: call depth limit of 200 reached", 0, 0 },
        { "def f(n): return f(n + 1)\ndef run(): return f(0)\n", "Starlark stack overflow: call depth limit of 50000 reached", 50000, 0 },
        { "def f(n): return sorted([n], key = f)\ndef run(): return f(0)\n", "calls nested too deeply through built-in functions", 50000, 0 },
        { "def run():\n    while True: print('x' * 1000)\n", "output limit of 10000 bytes reached", 0, 10000 },
        { "def run():\n    while True: print('x' * 1000)\n", "output limit of 1048576 bytes reached", 0, 0 },
        { "def make():\n    x = []\n    for _ in range(300): x = [x]\n    return x\na = make()\nb = make()\ndef run(): return a == b\n",
            "comparison exceeded maximum recursion depth", 0, 0 },
        { "def make():\n    x = (1,)\n    for _ in range(300): x = (x,)\n    return x\na = make()\ndef run(): return {a: 1}\n",
            "value nested too deeply to hash", 0, 0 },
    };
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        Script s = script_new(bounds[i].text, HEAP_LIMIT);
        Error err;
        run_until_it_fails(&s, bounds[i].text, &(VmConfig){ .allow_recursion = true, .max_depth = bounds[i].depth, .max_output = bounds[i].output }, &err);
        if (!strstr(err.msg, bounds[i].want)) fail_msg("%s\n   got %s\n  want %s", bounds[i].text, err.msg, bounds[i].want);
        script_free(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deadlines_end_everything),
        cmocka_unit_test(cancelling_ends_everything),
        cmocka_unit_test(steps_end_everything),
#ifndef HARNESS_HOSTILE                                  /* with a collection at every safepoint, filling a heap takes too long */
        cmocka_unit_test(the_heap_limit_holds),
        cmocka_unit_test(garbage_makes_room),
#endif
        cmocka_unit_test(depth_and_output_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
