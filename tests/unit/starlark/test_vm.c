/* The virtual machine from C: limits, failures inside loops, tracebacks, expressions with parameters. */
#include "starlark/module.h"
#include "unit.h"

typedef struct { Universe *universe; Heap *heap; Vm *vm; Module *module; Error err; } World;

static void begin(World *w, const char *text, const VmConfig *config) {
    *w = (World){ .universe = universe_new(), .heap = heap_new((size_t)64 << 20) };
    w->vm = vm_new(w->heap, &(VmConfig){ 0 });
    Source source = { .file = STR("test.star"), .text = str_from(text) };
    assert_true(module_compile(w->heap, &source, &(ModuleOptions){ .universe = w->universe }, &w->module, NULL, &w->err));
    assert_true(module_load(w->vm, w->module, NULL, &w->err));
    vm_reset(w->vm, config);
}

static void end(World *w) {
    vm_free(w->vm);
    module_free(w->module);
    heap_free(w->heap);
    universe_free(w->universe);
}

static bool call(World *w, const char *name, Value *out) {
    w->err = (Error){ 0 };
    return vm_call(w->vm, module_global(w->module, str_from(name)), NULL, 0, out, &w->err);
}

static const char loops[] =
    "xs = [1, 2, 3]\n"
    "d = {'a': 1}\n"
    "def spin():\n"
    "    for x in xs:\n"
    "        for k in d:\n"
    "            for i in range(1000000000): pass\n"
    "def raises():\n"
    "    for x in xs:\n"
    "        for k in d: fail('no')\n"
    "def returns():\n"
    "    for x in xs:\n"
    "        for k in d: return x\n"
    "def breaks():\n"
    "    for x in xs:\n"
    "        for k in d: break\n"
    "        break\n"
    "def collects():\n"
    "    return [k + x for x in xs for k in d]\n"
    "def sorts():\n"
    "    for x in xs: sorted(d, key = lambda k: 1 // 0)\n";

/* However a loop ends, its collection can be changed again. */
static void iterations_end_with_their_loop(void **state) {
    (void)state;
    static const struct { const char *name; bool ok; const char *message; } cases[] = {
        { "spin", false, "too many steps" },     { "raises", false, "fail: no" }, { "returns", true, "" }, { "breaks", true, "" },
        { "collects", false, "unknown binary" }, { "sorts", false, "division by zero" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        World w;
        Value v;
        begin(&w, loops, &(VmConfig){ .max_steps = 10000 });
        assert_int_equal(call(&w, cases[i].name, &v), cases[i].ok);
        if (!cases[i].ok) assert_non_null(strstr(w.err.msg, cases[i].message));
        List *xs = value_list(module_global(w.module, STR("xs")));
        Dict *d = value_dict(module_global(w.module, STR("d")));
        assert_int_equal(xs->busy, 0);
        assert_int_equal(d->busy, 0);
        assert_true(list_push(w.heap, xs, VALUE_NONE, NULL));
        end(&w);
    }
}

static void steps_are_counted(void **state) {
    (void)state;
    static const char text[] = "def run():\n    for i in range(100): pass\n    return 1\n";
    for (uint64_t steps = 90; steps <= 130; steps++) {
        World w;
        Value v;
        begin(&w, text, &(VmConfig){ .max_steps = steps });
        bool ok = call(&w, "run", &v);
        assert_int_equal(ok, steps >= 101);              /* one for the call, one per iteration */
        if (!ok) assert_int_equal(w.err.kind, ERR_LIMIT);
        end(&w);
    }
}

static void depth_is_limited(void **state) {
    (void)state;
    World w;
    Value v;
    begin(&w, "def f(n): return 0 if n == 0 else 1 + f(n - 1)\ndef run(): return f(1000)\n", &(VmConfig){ .allow_recursion = true });
    assert_false(call(&w, "run", &v));
    assert_string_equal(w.err.msg, "Starlark stack overflow: call depth limit of 200 reached");
    vm_reset(w.vm, &(VmConfig){ .allow_recursion = true, .max_depth = 2000 });
    assert_true(call(&w, "run", &v));
    assert_int_equal(value_small(v), 1000);
    vm_reset(w.vm, &(VmConfig){ 0 });
    assert_false(call(&w, "run", &v));
    assert_string_equal(w.err.msg, "function f called recursively (Starlark has no recursion; use a loop)");
    end(&w);
}

/* Calls that go through C (sorted with a key that sorts …) have a limit of their own. */
static void nesting_through_natives_is_limited(void **state) {
    (void)state;
    World w;
    Value v;
    begin(&w, "def f(x): return sorted([x], key = f)\ndef run(): return f(1)\n",
          &(VmConfig){ .allow_recursion = true, .max_depth = 1000000 });
    assert_false(call(&w, "run", &v));
    assert_non_null(strstr(w.err.msg, "nested too deeply"));
    end(&w);
}

static void failures_have_a_place_and_a_traceback(void **state) {
    (void)state;
    World w;
    Value v;
    begin(&w, "def inner(x):\n    return x + 'a'\ndef run():\n    return [inner(i) for i in [1]]\n", &(VmConfig){ 0 });
    assert_false(call(&w, "run", &v));
    assert_string_equal(w.err.file, "test.star");
    assert_int_equal(w.err.line, 2);
    assert_int_equal(w.err.column, 14);
    Buf text = { 0 };
    vm_format_failure(w.vm, &w.err, &text);
    assert_string_equal(text.at, "Traceback (most recent call last):\n"
                                 "  test.star:4:18: in run\n  test.star:2:14: in inner\n"
                                 "Error: unknown binary op: int + string (str(x) makes a string of a value)\n");
    buf_clear(&text);
    end(&w);
}

static void expressions_take_parameters(void **state) {
    (void)state;
    Universe *universe = universe_new();
    Heap *heap = heap_new(0), *mine = heap_new(1 << 20);
    Vm *vm = vm_new(heap, &(VmConfig){ 0 });
    Module *m;
    Value v, args[2];
    Error err = { 0 };
    const Str params[] = { STR("payload"), STR("event") };
    ModuleOptions o = { .universe = universe, .expression = true, .params = params, .n_params = 2 };
    Source source = { .file = STR("hook.md"), .text = STR("payload['name'] == event and len(payload) > 1"), .first_line = 7, .indent = 6 };
    assert_true(module_compile(heap, &source, &o, &m, NULL, &err));
    assert_true(module_load(vm, m, NULL, &err));
    vm_free(vm);
    heap_freeze_all(heap);
    module_seal(m);
    vm = vm_new(mine, &(VmConfig){ 0 });
    Dict *payload = dict_new(mine, 0, &err);
    args[0] = value_from_object(payload);
    args[1] = value_from_object(string_new(mine, STR("x"), &err));
    assert_false(module_call_expression(vm, m, args, 2, &v, &err));
    assert_string_equal(err.msg, "key \"name\" not in dict");
    assert_int_equal(err.line, 7);
    assert_int_equal(err.column, 6 + 8);
    assert_true(dict_put_str(mine, payload, STR("name"), args[1], &err));
    assert_true(module_call_expression(vm, m, args, 2, &v, &err));
    assert_false(value_truth(v));
    assert_true(dict_put_str(mine, payload, STR("more"), VALUE_NONE, &err));
    assert_true(module_call_expression(vm, m, args, 2, &v, &err));
    assert_true(value_truth(v));
    vm_free(vm);
    module_free(m);
    source.text = STR("payload + unknown");
    Heap *again = heap_new(0);
    assert_false(module_compile(again, &source, &o, &m, NULL, &err));
    assert_non_null(strstr(err.msg, "undefined: unknown"));
    heap_free(again);
    heap_free(mine);
    heap_free(heap);
    universe_free(universe);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterations_end_with_their_loop), cmocka_unit_test(steps_are_counted), cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(nesting_through_natives_is_limited), cmocka_unit_test(failures_have_a_place_and_a_traceback),
        cmocka_unit_test(expressions_take_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
