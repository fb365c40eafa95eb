#include "calls.h"

static bool echo(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Tuple *t = tuple_new(vm_heap(vm), a->n + a->n_named, err);
    if (!t) return false;
    for (uint32_t i = 0; i < a->n; i++) t->at[i] = native_given(a, i) ? a->at[i] : value_from_small(-1);
    for (uint32_t i = 0; i < a->n_named; i++) t->at[a->n + i] = a->named[i].value;
    return *out = value_from_object(t), true;
}

static bool complain(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)vm, (void)a, (void)out;
    return error_set(err, ERR_SCRIPT, "no");
}

static const NativeParam params[] = {
    { "first", NATIVE_STRING }, { "second", NATIVE_INT | NATIVE_FLOAT | NATIVE_NONE_IS_ABSENT }, { "third", NATIVE_LIST | NATIVE_DICT | NATIVE_SET },
};
static const NativeParam unnamed[] = { { "x", NATIVE_ANY | NATIVE_UNNAMED }, { "call", NATIVE_CALLABLE } };
static const NativeDef defs[] = {
    { "m.both", echo, params, 3, 1, 0, NULL },
    { "m.place", echo, params, 3, 1, NATIVE_POSITIONAL, NULL },
    { "m.exact", echo, params, 1, 1, NATIVE_POSITIONAL | NATIVE_NO_KEYWORDS | NATIVE_EXACTLY, NULL },
    { "m.many", echo, NULL, 0, 1, NATIVE_VARIADIC, NULL },
    { "m.unnamed", echo, unnamed, 2, 1, 0, NULL },
    { "m.bad", complain, NULL, 0, 0, NATIVE_POSITIONAL, NULL },
    { "m.plain", complain, NULL, 0, 0, NATIVE_POSITIONAL | NATIVE_PLAIN_ERRORS, NULL },
};

static const struct { const char *fn, *args, *want; } cases[] = {
    { "both", "'a'", "(\"a\", -1, -1)" }, { "both", "'a', 2.5, []", "(\"a\", 2.5, [])" }, { "both", "'a', None", "(\"a\", -1, -1)" },
    { "both", "third={}, first='a'", "(\"a\", -1, {})" }, { "both", "second=None, first='a'", "(\"a\", -1, -1)" },
    { "both", "", "error: m.both: missing argument for first" }, { "both", "second=1", "error: m.both: missing argument for first" },
    { "both", "1", "error: m.both: for parameter first: got int, want string" },
        { "both", "'a', 'b'", "error: m.both: for parameter second: got string, want float or int" },
    { "both", "'a', third=1", "error: m.both: for parameter \"third\": got int, want list, dict or set" },
    { "both", "'a', first='b'", "error: m.both: got multiple values for keyword argument \"first\"" },
    { "both", "'a', 1, [], 2", "error: m.both: got 4 arguments, want at most 3" },
        { "both", "'a', secnd=1", "error: m.both: unexpected keyword argument \"secnd\" (did you mean second?)" },
    { "both", "'a', zebra=1", "error: m.both: unexpected keyword argument \"zebra\"" },
    { "place", "'a', None", "(\"a\", -1, -1)" }, { "place", "first='a'", "error: m.place: unexpected keyword arguments" },
    { "place", "'a', 'b'", "error: m.place: for parameter 2: got string, want float or int" },
        { "place", "", "error: m.place: got 0 arguments, want at least 1" },
    { "place", "'a', 1, [], 2", "error: m.place: got 4 arguments, want at most 3" },
    { "exact", "first='a'", "error: m.exact does not accept keyword arguments" }, { "exact", "", "error: m.exact: got 0 arguments, want exactly 1" },
    { "many", "1, 2, x=3", "(1, 2, 3)" }, { "unnamed", "1, call=len", "(1, <built-in function len>)" },
    { "unnamed", "x=1", "error: m.unnamed: unexpected keyword argument x" },
        { "unnamed", "1, 2", "error: m.unnamed: for parameter call: got int, want callable" },
    { "bad", "", "error: m.bad: no" }, { "plain", "", "error: no" },
};

static NativeModule *make_module(Calls *c) {
    NativeModule *m = native_module_new(c->heap, STR("m"), NULL);
    dict_put_str(c->heap, c->kept, STR("module"), value_from_object(m), NULL);
    assert_true(native_module_add(c->heap, m, defs, CALLS_COUNT(defs), NULL, NULL));
    return m;
}

static void test_binding(void **state) {
    (void)state;
    Calls c;
    calls_begin(&c);
    NativeModule *m = make_module(&c);
    Buf b = { 0 };
    size_t wrong = 0;
    for (size_t i = 0; i < CALLS_COUNT(cases); i++) {
        Error err = { 0 };
        Value v = VALUE_NONE, *fn = dict_find_str(m->members, str_from(cases[i].fn));
        CallArgs a = calls_args(&c, cases[i].args);
        bool ok = calls_do(&c, *fn, &a, &v, &err);
        calls_show(&c, ok, v, &err, &b);
        if (str_eq(buf_str(&b), str_from(cases[i].want))) continue;
        print_error("%s(%s)\n  got  %s\n  want %s\n", cases[i].fn, cases[i].args, b.at, cases[i].want);
        wrong++;
    }
    buf_clear(&b);
    calls_end(&c);
    assert_int_equal(wrong, 0);
}

static void test_module(void **state) {
    (void)state;
    Calls c;
    calls_begin(&c);
    NativeModule *m = make_module(&c);
    Value mod = value_from_object(m), out;
    Error err = { 0 };
    assert_true(native_is_module(mod));
    assert_false(native_is_module(value_from_small(1)));
    assert_false(vm_is_callable(mod));
    assert_string_equal(value_type_name(mod), "module");
    native_module_set_call(m, universe_get(c.universe, STR("len")));
    assert_true(vm_is_callable(mod) && native_is_module(mod));
    CallArgs a = calls_args(&c, "[1, 2]");
    assert_true(calls_do(&c, mod, &a, &out, &err));
    assert_int_equal(value_small(out), 2);
    assert_true(vm_attr(c.vm, mod, string_new(c.heap, STR("both"), NULL), &out, &err));
    assert_true(value_is(out, OBJECT_NATIVE));
    assert_false(vm_attr(c.vm, mod, string_new(c.heap, STR("nothing"), NULL), &out, &err));
    calls_end(&c);
}

/* A module and a bound method can be copied into another heap. */
static void test_copy(void **state) {
    (void)state;
    Calls c;
    calls_begin(&c);
    NativeModule *m = make_module(&c);
    Heap *other = heap_new(0);
    Value copy, self = calls_read(&c, "[1]");
    Native *bound = native_bind(c.heap, native_method(OBJECT_LIST, STR("append")), self, NULL);
    assert_true(value_copy_into(other, value_from_object(m), &copy, NULL));
    assert_int_equal(((NativeModule *)value_object(copy))->members->n, CALLS_COUNT(defs));
    assert_true(value_copy_into(other, value_from_object(bound), &copy, NULL));
    Value copied_self = ((Native *)value_object(copy))->self;
    assert_true(value_is_list(copied_self) && !value_same(copied_self, self));
    calls_end(&c);
    assert_int_equal(value_list(copied_self)->n, 1);
    heap_free(other);
}

static void test_ints(void **state) {
    (void)state;
    Calls c;
    calls_begin(&c);
    int64_t i64;
    int i32;
    Error err = { 0 };
    assert_true(native_i64(calls_read(&c, "9223372036854775807"), &i64, &err) && i64 == INT64_MAX);
    assert_false(native_i64(calls_read(&c, "9223372036854775808"), &i64, &err));
    assert_string_equal(err.msg, "9223372036854775808 out of range (want value in signed 64-bit range)");
    assert_false(native_i64(value_from_float(1), &i64, &err));
    assert_string_equal(err.msg, "got float, want int");
    assert_true(native_i32(value_from_small(INT32_MIN), &i32, &err) && i32 == INT32_MIN);
    assert_false(native_i32(value_from_small((int64_t)INT32_MAX + 1), &i32, &err));
    assert_string_equal(err.msg, "2147483648 out of range");
    calls_end(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binding), cmocka_unit_test(test_module), cmocka_unit_test(test_copy), cmocka_unit_test(test_ints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
