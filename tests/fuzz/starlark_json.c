/* The json module: what decode accepts can be encoded, indented and decoded again to the same value, in every form.
 * It rejects other input with an offset, or returns the default. indent changes only white space. */
#include <stdio.h>
#include <stdlib.h>
#include "starlark/module.h"

static const size_t HEAP = (size_t)8 << 20;
static Universe *universe;
static Heap *heap;
static Vm *vm;

static void check(bool ok, const char *what, const char *why) {
    if (ok) return;
    fprintf(stderr, "json: %s: %s\n", what, why);
    abort();
}

static bool limited(const Error *err) { return err->kind == ERR_LIMIT || strstr(err->msg, "too deep") || strstr(err->msg, "nested"); }

static bool call(const char *name, const Value *args, uint32_t n, Value *out, Error *err) {
    Value fn;
    String *s = string_new(heap, str_from(name), err);
    return s && vm_attr(vm, universe_module(universe, STR("json")), s, &fn, err) && vm_call(vm, fn, args, n, out, err);
}

static void check_same(Value a, Value b, const char *what) {
    bool equal = false;
    Error err = { 0 };
    if (value_equal(a, b, &equal, &err)) check(equal, what, "another value");
}

/* Decodes `text` and compares with `want`. */
static void decode_again(Value text, Value want, const char *what) {
    Value v;
    Error err = { 0 };
    if (call("decode", &text, 1, &v, &err)) check_same(want, v, what);
    else check(limited(&err), what, err.msg);
}

static void check_forms(Value v, Value source) {
    static const char *const forms[] = { "encode", "encode_indent" };
    Value text;
    for (size_t i = 0; i < 2; i++) {
        Error err = { 0 };
        if (call(forms[i], &v, 1, &text, &err)) decode_again(text, v, forms[i]);
        else check(limited(&err), forms[i], err.msg);
    }
    Error err = { 0 };
    if (call("indent", &source, 1, &text, &err)) decode_again(text, v, "indent");
    else check(strncmp(err.msg, "json.indent: ", 13) == 0, "indent", err.msg);     /* decode allows raw control characters, indent does not */
}

static void check_refused(Value text, const Error *err) {
    Value args[2] = { text, VALUE_NONE }, v = VALUE_NONE;
    Error none = { 0 };
    if (limited(err)) return;
    check(strncmp(err->msg, "json.decode: at offset ", 23) == 0, "decode", err->msg);
    check(call("decode", args, 2, &v, &none) && value_is_none(v), "decode with a default", none.msg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!universe) {
        universe = universe_new();
        heap = heap_new(HEAP);
        vm = vm_new(heap, &(VmConfig){ 0 });
    }
    Error err = { 0 };
    Value v, text;
    String *s = string_new(heap, (Str){ (const char *)data, size }, &err);
    if (s) {
        text = value_from_object(s);
        if (call("decode", &text, 1, &v, &err)) check_forms(v, text);
        else check_refused(text, &err);
        Error ignored = { 0 };
        call("indent", &text, 1, &v, &ignored);
    }
    heap_reset(heap);
    vm_reset(vm, NULL);
    return 0;
}
