/* The module string: mostly the built-in string methods as functions. */
#include "base/utf8.h"
#include "script/script.h"
#include "starlark/vm/iter.h"
#include "starlark/vm/work.h"

static NativeFn string_truncate, string_upper, string_lower, string_trim, string_split, string_join, string_pad_left, string_pad_right;
static const NativeParam one[] = { { "s", NATIVE_STRING } };
static const NativeParam truncate_params[] = { { "s", NATIVE_STRING }, { "n", NATIVE_INT }, { "ellipsis", NATIVE_STRING } };
static const NativeParam trim_params[] = { { "s", NATIVE_STRING }, { "chars", NATIVE_STRING | NATIVE_NONE_IS_ABSENT } };
static const NativeParam split_params[] = { { "s", NATIVE_STRING }, { "sep", NATIVE_STRING | NATIVE_NONE_IS_ABSENT } };
static const NativeParam join_params[] = { { "items", NATIVE_ITERABLE }, { "sep", NATIVE_STRING } };
static const NativeParam pad_params[] = { { "s", NATIVE_STRING }, { "width", NATIVE_INT }, { "fill", NATIVE_STRING } };

const NativeDef script_string[] = {
    { "string.truncate", string_truncate, SCRIPT_PARAMS(truncate_params), 2, SCRIPT_FN,
      "s cut to at most n characters, including the ellipsis (default \"…\")." },
    { "string.upper", string_upper, SCRIPT_PARAMS(one), 1, SCRIPT_FN, "s in upper case." },
    { "string.lower", string_lower, SCRIPT_PARAMS(one), 1, SCRIPT_FN, "s in lower case." },
    { "string.trim", string_trim, SCRIPT_PARAMS(trim_params), 1, SCRIPT_FN, "s without white space, or the given characters, at both ends." },
    { "string.split", string_split, SCRIPT_PARAMS(split_params), 1, SCRIPT_FN, "The parts of s between separators (default: white space)." },
    { "string.join", string_join, SCRIPT_PARAMS(join_params), 1, SCRIPT_FN, "The items, which must be strings, with sep (default \"\") between them." },
    { "string.pad_left", string_pad_left, SCRIPT_PARAMS(pad_params), 2, SCRIPT_FN,
      "s padded on the left to width characters, with spaces or the given character." },
    { "string.pad_right", string_pad_right, SCRIPT_PARAMS(pad_params), 2, SCRIPT_FN, "The same on the right." },
};
const size_t script_string_n = sizeof script_string / sizeof *script_string;

/* ---- by character ---- */

/* Length in bytes of the first n characters, or of all of s if it has fewer. */
static bool prefix(Work *w, Str s, size_t n, size_t *out, Error *err) {
    size_t at = 0, length;
    for (; n && at < s.n; n--, at += length) {
        utf8_decode(str_sub(s, at, s.n), &length);
        if (!work_add(w, 1, err)) return false;
    }
    return *out = at, true;
}

static bool string_truncate(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Work w = { .vm = vm };
    Str s = script_arg(a, 0), ellipsis = native_given(a, 2) ? script_arg(a, 2) : STR("…");
    int64_t n = 0;
    size_t keep, tail;
    if (!script_arg_i64(a, 1, 0, INT64_MAX, &n, err) || !prefix(&w, s, (size_t)n, &keep, err)) return false;
    if (keep == s.n) return *out = a->at[0], true;
    size_t dots = utf8_count(ellipsis);
    if (dots > (size_t)n) ellipsis = STR(""), dots = 0;  /* no room even for the ellipsis */
    if (!prefix(&w, s, (size_t)n - dots, &tail, err)) return false;
    char *at;
    String *text = string_room(vm_heap(vm), tail + ellipsis.n, &at, err);
    if (!text || !work_copy(&w, at, str_sub(s, 0, tail), err) || !work_copy(&w, at + tail, ellipsis, err)) return false;
    return *out = value_from_object(text), true;
}

static bool pad(Vm *vm, const NativeArgs *a, bool left, Value *out, Error *err) {
    Work w = { .vm = vm };
    Str s = script_arg(a, 0), fill = native_given(a, 2) ? script_arg(a, 2) : STR(" ");
    int64_t width = 0;
    size_t length = 0;
    if (fill.n) utf8_decode(fill, &length);
    if (!fill.n || length != fill.n) return error_set(err, ERR_SCRIPT, "for parameter fill: want one character");
    if (!script_arg_i64(a, 1, 0, STRING_MAX, &width, err) || !work_add(&w, 1 + s.n / 8, err)) return false;
    size_t have = utf8_count(s), more = (size_t)width > have ? (size_t)width - have : 0;
    if (more == 0) return *out = a->at[0], true;
    char *at;
    String *text = string_room(vm_heap(vm), s.n + more * fill.n, &at, err);
    if (!text) return false;
    char *padding = left ? at : at + s.n;
    if (!work_copy(&w, left ? at + more * fill.n : at, s, err)) return false;
    for (size_t i = 0; i < more; i++) {
        memcpy(padding + i * fill.n, fill.at, fill.n);
        if (!work_add(&w, 1, err)) return false;
    }
    return *out = value_from_object(text), true;
}

static bool string_pad_left(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return pad(vm, a, true, out, err); }
static bool string_pad_right(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return pad(vm, a, false, out, err); }

/* ---- methods as functions ---- */

static bool method(Vm *vm, const char *name, Value self, const Value *at, uint32_t n, Value *out, Error *err) {
    const NativeDef *def = native_method(OBJECT_STRING, str_from(name));
    Value bound[4];
    if (!native_bind_args(def, at, n, NULL, 0, bound, err)) return false;
    return def->fn(vm, &(NativeArgs){ .def = def, .self = self, .at = bound, .n = def->n_params }, out, err);
}

static bool string_upper(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return method(vm, "upper", a->at[0], NULL, 0, out, err); }
static bool string_lower(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return method(vm, "lower", a->at[0], NULL, 0, out, err); }

static bool string_trim(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    return method(vm, "strip", a->at[0], a->at + 1, native_given(a, 1), out, err);
}

static bool string_split(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    return method(vm, "split", a->at[0], a->at + 1, native_given(a, 1), out, err);
}

static bool string_join(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Value sep = a->at[1];
    if (!native_given(a, 1) && !script_text(vm, STR(""), &sep, err)) return false;
    return method(vm, "join", sep, a->at, 1, out, err);
}
