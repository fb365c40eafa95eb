/* Calls of library functions without a script: values are written in a small notation (ints,
 * floats, 'text', b'data', None, True, False, [..], (..), {k: v}, set[..], range(a, b, c), names of
 * built-in functions), and results are compared as text. */
#pragma once
#include <ctype.h>
#include "../unit.h"
#include "starlark/vm/repr.h"
#include "starlark/vm/setops.h"
#include "starlark/vm/universe.h"
#include "value/int.h"
#include "value/range.h"

enum { CALLS_ARGS = 16 };

typedef struct Calls { Universe *universe; Heap *heap; Vm *vm; Dict *kept; Buf printed; } Calls;
typedef struct { Value at[CALLS_ARGS]; uint32_t n; NativeNamed named[CALLS_ARGS]; uint32_t n_named; } CallArgs;

static inline void calls_print(void *ctx, Str line) {
    buf_add(ctx, line);
    buf_add_char(ctx, '\n');
}

static inline void calls_keep(Tracer *t, void *ctx) { tracer_value(t, value_from_object(((Calls *)ctx)->kept)); }

static inline void calls_begin_with(Calls *c, size_t heap_limit, Cancel *cancel) {
    *c = (Calls){ .universe = universe_new(), .heap = heap_new(heap_limit) };
    assert_non_null(c->universe);
    c->kept = dict_new(c->heap, 0, NULL);
    heap_add_roots(c->heap, calls_keep, c);
    c->vm = vm_new(c->heap, &(VmConfig){ .print = calls_print, .print_ctx = &c->printed, .cancel = cancel });
}
static inline void calls_begin(Calls *c) { calls_begin_with(c, 0, NULL); }

static inline void calls_end(Calls *c) {
    vm_free(c->vm);
    heap_free(c->heap);
    universe_free(c->universe);
    buf_clear(&c->printed);
}

/* ---- parsing ---- */

static inline void calls_skip(const char **at) { while (**at == ' ' || **at == ',') ++*at; }

static inline Value calls_value(Calls *c, const char **at);

static inline List *calls_items(Calls *c, const char **at, char close) {
    List *l = list_new(c->heap, 0, NULL);
    ++*at;
    for (calls_skip(at); **at != close; calls_skip(at)) list_push(c->heap, l, calls_value(c, at), NULL);
    ++*at;
    return l;
}

static inline Value calls_dict(Calls *c, const char **at) {
    Dict *d = dict_new(c->heap, 0, NULL);
    ++*at;
    for (calls_skip(at); **at != '}'; calls_skip(at)) {
        Value k = calls_value(c, at);
        while (**at == ' ' || **at == ':') ++*at;
        assert_true(dict_put(c->heap, d, k, calls_value(c, at), NULL));
    }
    ++*at;
    return value_from_object(d);
}

static inline Value calls_text(Calls *c, const char **at, bool bytes) {
    Buf b = { 0 };
    for (++*at; **at != '\''; ++*at) buf_add_char(&b, **at);
    ++*at;
    String *s = bytes ? bytes_new(c->heap, buf_str(&b), NULL) : string_new(c->heap, buf_str(&b), NULL);
    buf_clear(&b);
    return value_from_object(s);
}

static inline Value calls_number(Calls *c, const char **at) {
    const char *start = *at;
    bool is_float = false;
    for (; isalnum((unsigned char)**at) || strchr("+-.", **at); ++*at) {
        if (**at == 0) break;
        is_float |= strchr(".einf", **at) != NULL;
    }
    if (is_float) return value_from_float(strtod(start, NULL));
    Value v;
    assert_true(int_parse(c->heap, (Str){ start, (size_t)(*at - start) }, 10, &v, NULL));
    return v;
}

static inline Value calls_name(Calls *c, const char **at) {
    const char *start = *at;
    while (isalnum((unsigned char)**at) || **at == '_') ++*at;
    Str name = { start, (size_t)(*at - start) };
    if (str_eq(name, STR("set")) && **at == '[') {
        List *l = calls_items(c, at, ']');
        Dict *s = set_new(c->heap, 0, NULL);
        for (uint32_t i = 0; i < l->n; i++) assert_true(dict_put(c->heap, s, l->at[i], VALUE_NONE, NULL));
        return value_from_object(s);
    }
    if (str_eq(name, STR("range")) && **at == '(') {
        List *l = calls_items(c, at, ')');
        int64_t n[3];
        Value v;
        for (int i = 0; i < 3; i++) assert_true(int_to_i64(l->at[i], &n[i]));
        assert_true(range_new(c->heap, n[0], n[1], n[2], &v, NULL));
        return v;
    }
    if (str_eq(name, STR("nan")) || str_eq(name, STR("inf"))) return value_from_float(strtod(start, NULL));
    Value v = universe_get(c->universe, name);
    if (value_is_gone(v)) v = universe_module(c->universe, name);
    if (value_is_gone(v)) fail_msg("no such name: %s", start);
    return v;
}

static inline Value calls_value(Calls *c, const char **at) {
    calls_skip(at);
    switch (**at) {
    case '[': return value_from_object(calls_items(c, at, ']'));
    case '(': {
        List *l = calls_items(c, at, ')');
        return value_from_object(tuple_from(c->heap, l->at, l->n, NULL));
    }
    case '{': return calls_dict(c, at);
    case '\'': return calls_text(c, at, false);
    case 'b':
        if ((*at)[1] == '\'') return ++*at, calls_text(c, at, true);
    }
    if (isdigit((unsigned char)**at) || **at == '-' || **at == '+') return calls_number(c, at);
    return calls_name(c, at);
}

static inline Value calls_read(Calls *c, const char *text) { return calls_value(c, &text); }

/* "1, [2], key=len" */
static inline CallArgs calls_args(Calls *c, const char *text) {
    CallArgs a = { 0 };
    for (calls_skip(&text); *text; calls_skip(&text)) {
        size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz_");
        if (n && text[n] == '=') {
            a.named[a.n_named].name = string_new(c->heap, (Str){ text, n }, NULL);
            text += n + 1;
            a.named[a.n_named++].value = calls_value(c, &text);
        } else a.at[a.n++] = calls_value(c, &text);
    }
    return a;
}

/* ---- calling ---- */

/* Keeps all values of the call in `kept`, because a call into a script may collect. */
static inline bool calls_do(Calls *c, Value fn, CallArgs *a, Value *out, Error *err) {
    Value all = value_from_object(list_from(c->heap, a->at, a->n, NULL));
    dict_put_str(c->heap, c->kept, STR("args"), all, NULL);
    dict_put_str(c->heap, c->kept, STR("fn"), fn, NULL);
    List *named = list_new(c->heap, 0, NULL);
    for (uint32_t i = 0; i < a->n_named; i++) {
        list_push(c->heap, named, value_from_object(a->named[i].name), NULL);
        list_push(c->heap, named, a->named[i].value, NULL);
    }
    dict_put_str(c->heap, c->kept, STR("named"), value_from_object(named), NULL);
    return vm_call_named(c->vm, fn, a->at, a->n, a->named, a->n_named, out, err);
}

static inline bool calls_call(Calls *c, Value fn, const Value *at, uint32_t n, Value *out, Error *err) {
    CallArgs a = { .n = n };
    if (n) memcpy(a.at, at, n * sizeof *at);
    return calls_do(c, fn, &a, out, err);
}

/* Writes the result as text, or "error: …", to `b`. */
static inline void calls_show(Calls *c, bool ok, Value v, const Error *err, Buf *b) {
    buf_reset(b);
    if (ok) assert_true(repr_value(c->vm, b, v, NULL));
    else buf_add_fmt(b, "error: %s", err->msg);
}

static inline Value calls_function(Calls *c, const char *name) {
    const char *dot = strchr(name, '.');
    if (!dot) return universe_get(c->universe, str_from(name));
    Value m = universe_module(c->universe, (Str){ name, (size_t)(dot - name) });
    assert_true(native_is_module(m));
    Value *found = dict_find_str(((NativeModule *)value_object(m))->members, str_from(dot + 1));
    return found ? *found : VALUE_GONE;
}

/* { "len", "[1, 2]", "2" }, { "len", "1", "error: len: value of type int has no len" } */
typedef struct { const char *fn, *args, *want; } CallCase;

static inline void calls_check(Calls *c, const CallCase *t, size_t n) {
    Buf b = { 0 };
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        Error err = { 0 };
        Value v = VALUE_NONE, fn = calls_function(c, t[i].fn);
        if (value_is_gone(fn)) fail_msg("no function %s", t[i].fn);
        CallArgs a = calls_args(c, t[i].args);
        bool ok = calls_do(c, fn, &a, &v, &err);
        calls_show(c, ok, v, &err, &b);
        if (str_eq(buf_str(&b), str_from(t[i].want))) continue;
        print_error("%s(%s)\n  got  %s\n  want %s\n", t[i].fn, t[i].args, b.at, t[i].want);
        wrong++;
    }
    buf_clear(&b);
    assert_int_equal(wrong, 0);
}

/* { "[1]", "append", "2", "None", "[1, 2]" }: receiver, method, arguments, result, receiver afterwards (NULL: unchanged) */
typedef struct { const char *self, *method, *args, *want, *after; } MethodCase;

static inline void calls_check_methods(Calls *c, const MethodCase *t, size_t n) {
    Buf b = { 0 }, before = { 0 };
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        Error err = { 0 };
        Value v = VALUE_NONE, self = calls_read(c, t[i].self);
        const NativeDef *def = native_method((ObjectType)value_object(self)->type, str_from(t[i].method));
        if (!def) fail_msg("no method %s", t[i].method);
        calls_show(c, true, self, NULL, &before);
        CallArgs a = calls_args(c, t[i].args);
        bool ok = calls_do(c, value_from_object(native_bind(c->heap, def, self, NULL)), &a, &v, &err);
        calls_show(c, ok, v, &err, &b);
        if (!str_eq(buf_str(&b), str_from(t[i].want)))
            print_error("%s.%s(%s)\n  got  %s\n  want %s\n", t[i].self, t[i].method, t[i].args, b.at, t[i].want), wrong++;
        calls_show(c, true, self, NULL, &b);
        const char *after = t[i].after ? t[i].after : before.at;
        if (!str_eq(buf_str(&b), str_from(after)))
            print_error("%s.%s(%s)\n  left %s\n  want %s\n", t[i].self, t[i].method, t[i].args, b.at, after), wrong++;
    }
    buf_clear(&b);
    buf_clear(&before);
    assert_int_equal(wrong, 0);
}

#define CALLS_COUNT(table) (sizeof(table) / sizeof(table)[0])
