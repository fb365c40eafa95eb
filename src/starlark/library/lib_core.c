/* Core functions of the language. Conversions are in lib_convert.c, sorted, min and max in lib_sort.c. */
#include <math.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "starlark/vm/iter.h"
#include "starlark/vm/lib.h"
#include "starlark/vm/repr.h"
#include "starlark/vm/universe.h"
#include "value/int.h"
#include "value/range.h"

/* ---- helpers ---- */

bool lib_tick_now(Vm *vm, Error *err) { return vm_work(vm, 4096, err); }

bool lib_take_text(Vm *vm, Buf *b, Value *out, Error *err) {
    String *s = b->full ? NULL : string_new(vm_heap(vm), buf_str(b), err);
    if (b->full) error_set(err, ERR_LIMIT, "string too long");
    buf_clear(b);
    return s && (*out = value_from_object(s), true);
}

static bool string_out(Vm *vm, Str s, Value *out, Error *err) {
    String *text = string_new(vm_heap(vm), s, err);
    return text && (*out = value_from_object(text), true);
}

/* ---- numbers ---- */

static bool core_abs(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Value x = a->at[0];
    if (value_is_float(x)) return *out = value_from_float(fabs(value_float(x))), true;
    if (!value_is_int(x)) return error_set(err, ERR_SCRIPT, "got %s, want int or float", value_type_name(x));
    if (int_sign(x) >= 0) return *out = x, true;
    return int_neg(vm_heap(vm), x, out, err);
}

static bool core_range(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    int64_t start = 0, stop, step = 1;
    if (!native_arg_i64(a, 0, &stop, err)) return false;
    if (native_given(a, 1)) {
        start = stop;
        if (!native_arg_i64(a, 1, &stop, err)) return false;
    }
    if (native_given(a, 2) && !native_arg_i64(a, 2, &step, err)) return false;
    if (step == 0) return error_set(err, ERR_SCRIPT, "step argument must not be zero");
    return range_new(vm_heap(vm), start, stop, step, out, err);
}

static int32_t hash_text(Str s) {                       /* as Java's String.hashCode, but by code point */
    uint32_t h = 0;
    for (size_t i = 0, n; i < s.n; i += n) h = 31 * h + utf8_decode((Str){ s.at + i, s.n - i }, &n);
    return (int32_t)h;
}

static uint32_t hash_data(Str s) {                      /* FNV-1a */
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < s.n; i++) h = (h ^ (uint8_t)s.at[i]) * 16777619u;
    return h;
}

/* Unlike the hash that dicts use, this one is the same in every process. */
static bool core_hash(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Value x = a->at[0];
    if (!value_is_string(x) && !value_is_bytes(x))
        return error_set(err, ERR_SCRIPT, "got %s, want string or bytes", value_type_name(x));
    Str s = value_str(x);
    *out = value_from_small(value_is_string(x) ? (int64_t)hash_text(s) : (int64_t)hash_data(s));
    return vm_work(vm, s.n / 4, err);
}

/* ---- characters ---- */

static bool core_chr(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    int i;
    if (!native_i32(a->at[0], &i, err)) return false;
    if (i < 0) return error_set(err, ERR_SCRIPT, "Unicode code point %d out of range (<0)", i);
    if (i > 0x10ffff) return error_set(err, ERR_SCRIPT, "Unicode code point U+%X out of range (>0x10FFFF)", (unsigned)i);
    if (i >= 0xd800 && i <= 0xdfff) i = 0xfffd;         /* a surrogate is not a character */
    char text[4];
    return string_out(vm, (Str){ text, utf8_encode((uint32_t)i, text) }, out, err);
}

static bool core_ord(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)vm;
    Value x = a->at[0];
    if (value_is_bytes(x)) {
        Str s = value_str(x);
        if (s.n != 1) return error_set(err, ERR_SCRIPT, "bytes has length %zu, want 1", s.n);
        return *out = value_from_small((uint8_t)s.at[0]), true;
    }
    if (!value_is_string(x)) return error_set(err, ERR_SCRIPT, "got %s, want string or bytes", value_type_name(x));
    Str s = value_str(x);
    size_t n = 0;
    uint32_t c = s.n ? utf8_decode(s, &n) : 0;
    if (s.n == 0 || n != s.n)
        return error_set(err, ERR_SCRIPT, "string encodes %zu Unicode code points, want 1", utf8_count(s));
    return *out = value_from_small(c), true;
}

/* ---- text ---- */

static bool core_repr(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Buf b = { .limit = STRING_MAX };
    if (!repr_value(vm, &b, a->at[0], err)) return buf_clear(&b), false;
    return lib_take_text(vm, &b, out, err);
}

static bool core_type(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    return string_out(vm, str_from(value_type_name(a->at[0])), out, err);
}

/* Concatenates the arguments of print() and fail(). The only keyword accepted is `sep`. */
static bool join_args(Vm *vm, const NativeArgs *a, bool raw_bytes, Buf *b, Error *err) {
    static const NativeParam params[] = { { "sep", NATIVE_STRING } };
    NativeDef keywords = { .name = a->def->name, .params = params, .n_params = 1 };
    Value sep;
    if (!native_bind_args(&keywords, NULL, 0, a->named, a->n_named, &sep, err)) return false;
    for (uint32_t i = 0; i < a->n; i++) {
        if (i) buf_add(b, value_is_gone(sep) ? STR(" ") : value_str(sep));
        if (raw_bytes && value_is_bytes(a->at[i])) buf_add(b, value_str(a->at[i]));
        else if (!repr_str(vm, b, a->at[i], err)) return false;
    }
    return b->full ? error_set(err, ERR_LIMIT, "%s: text too long", a->def->name) : true;
}

static bool core_print(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Buf b = { .limit = STRING_MAX };
    bool ok = join_args(vm, a, true, &b, err) && vm_print(vm, buf_str(&b), err);
    buf_clear(&b);
    return ok && (*out = VALUE_NONE, true);
}

static bool core_fail(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    Buf b = { .limit = STRING_MAX };
    if (join_args(vm, a, false, &b, err)) {
        Str text = buf_str(&b);
        error_set(err, ERR_SCRIPT, "fail: " STR_FMT, STR_ARG(text));
    }
    buf_clear(&b);
    return false;
}

/* ---- attributes ---- */

static const NativeClass *class_of(Value v) { return (const NativeClass *)((const Classed *)value_object(v))->cls; }
static bool is_classed(Value v) { return value_is_object(v) && value_object(v)->type >= OBJECT_CLASSED; }

/* Leaves *out GONE if there is no such attribute. */
static bool find_attr(Vm *vm, Value x, String *name, Value *out, Error *err) {
    *out = VALUE_GONE;
    if (is_classed(x)) return !class_of(x)->attr || class_of(x)->attr(vm, x, name, out, err);
    const NativeDef *def = value_is_object(x) ? native_method((ObjectType)value_object(x)->type, string_str(name)) : NULL;
    if (!def) return true;
    Native *method = native_bind(vm_heap(vm), def, x, err);
    return method && (*out = value_from_object(method), true);
}

static bool core_getattr(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Value found;
    Error why = { 0 };
    if (!find_attr(vm, a->at[0], value_string(a->at[1]), &found, &why)) {
        if (native_given(a, 2) && why.kind == ERR_SCRIPT) return *out = a->at[2], true;   /* but not after a limit error */
        if (err) *err = why;
        return false;
    }
    if (value_is_gone(found)) found = native_given(a, 2) ? a->at[2] : VALUE_GONE;
    if (!value_is_gone(found)) return *out = found, true;
    Str name = value_str(a->at[1]);
    return error_set(err, ERR_SCRIPT, "%s has no ." STR_FMT " field or method", value_type_name(a->at[0]), STR_ARG(name));
}

typedef struct { Str name; bool found; } NameSearch;
static void match_name(void *ctx, Str name) {
    NameSearch *s = ctx;
    s->found = s->found || str_eq(s->name, name);
}

static bool core_hasattr(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Value found;
    Error why = { 0 };
    if (find_attr(vm, a->at[0], value_string(a->at[1]), &found, &why)) return *out = value_from_bool(!value_is_gone(found)), true;
    if (why.kind != ERR_SCRIPT) {
        if (err) *err = why;
        return false;
    }
    NameSearch s = { .name = value_str(a->at[1]) };     /* distinguish an attribute that exists but fails */
    if (is_classed(a->at[0]) && class_of(a->at[0])->attr_names) class_of(a->at[0])->attr_names(a->at[0], match_name, &s);
    return *out = value_from_bool(s.found), true;
}

typedef VEC(Str) Names;
static void collect_name(void *ctx, Str name) { VEC_PUSH((Names *)ctx, name); }
static int compare_names(const void *a, const void *b) { return str_cmp(*(const Str *)a, *(const Str *)b); }

static bool core_dir(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Names names = { 0 };
    Value x = a->at[0];
    if (is_classed(x)) {
        if (class_of(x)->attr_names) class_of(x)->attr_names(x, collect_name, &names);
    } else if (value_is_object(x)) {
        size_t n;
        const NativeDef *table = native_method_table((ObjectType)value_object(x)->type, &n);
        for (size_t i = 0; i < n; i++) VEC_PUSH(&names, str_from(table[i].name));
    }
    if (names.n) qsort(names.at, names.n, sizeof names.at[0], compare_names);
    List *l = list_new(vm_heap(vm), names.n, err);
    for (size_t i = 0; l && i < names.n; i++) {
        Value s;
        if (!string_out(vm, names.at[i], &s, err) || !list_push(vm_heap(vm), l, s, err)) l = NULL;
    }
    VEC_CLEAR(&names);
    return l && (*out = value_from_object(l), true);
}

/* ---- sequences ---- */

static bool core_len(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    ptrdiff_t n = iter_length(a->at[0]);
    if (n < 0) return error_set(err, ERR_SCRIPT, "value of type %s has no len", value_type_name(a->at[0]));
    return int_make(vm_heap(vm), n, out, err);
}

/* True if some item has the truth value `wanted`. */
static bool has_truth(Vm *vm, Value v, bool wanted, bool *out, Error *err) {
    Iter it;
    Value item;
    bool ok = true, found = false;
    if (!iter_begin(vm, &it, v, err)) return false;
    for (uint32_t i = 0; ok && !found && iter_next(&it, &item); i++) {
        found = value_truth(item) == wanted;
        ok = lib_tick(vm, i, err);
    }
    return iter_end(&it) && ok && (*out = found, true);
}

static bool core_any(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    bool found;
    return has_truth(vm, a->at[0], true, &found, err) && (*out = value_from_bool(found), true);
}

static bool core_all(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    bool found;
    return has_truth(vm, a->at[0], false, &found, err) && (*out = value_from_bool(!found), true);
}

static bool core_reversed(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    List *l;
    if (!iter_to_list(vm, a->at[0], &l, err)) return false;
    for (uint32_t i = 0, j = l->n; i + 1 < j; i++) {
        j--;
        Value v = l->at[i];
        l->at[i] = l->at[j];
        l->at[j] = v;
    }
    return *out = value_from_object(l), vm_work(vm, l->n / 8, err);
}

static bool push_pair(Heap *h, List *l, Value first, Value second, Error *err) {
    Tuple *pair = tuple_new(h, 2, err);
    if (!pair) return false;
    pair->at[0] = first;
    pair->at[1] = second;
    return list_push(h, l, value_from_object(pair), err);
}

static bool number_items(Vm *vm, Iter *it, Value start, List *l, Error *err) {
    Heap *h = vm_heap(vm);
    Value item, number;
    for (uint32_t i = 0; iter_next(it, &item); i++)
        if (!int_add(h, start, value_from_small(i), &number, err) || !push_pair(h, l, number, item, err) || !lib_tick(vm, i, err))
            return false;
    return true;
}

static bool core_enumerate(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    int64_t start = 0;
    Iter it;
    if (native_given(a, 1) && !native_arg_i64(a, 1, &start, err)) return false;
    ptrdiff_t n = iter_length(a->at[0]);
    List *l = list_new(vm_heap(vm), n > 0 ? (size_t)n : 0, err);
    if (!l || !iter_begin(vm, &it, a->at[0], err)) return false;
    bool ok = number_items(vm, &it, native_given(a, 1) ? a->at[1] : value_from_small(0), l, err);
    return iter_end(&it) && ok && (*out = value_from_object(l), true);
}

/* Begins an iteration over each argument; *begun is how many the caller must end. */
static bool zip_begin(Vm *vm, const NativeArgs *a, Iter *its, uint32_t *begun, Error *err) {
    for (uint32_t i = 0; i < a->n; i++) {
        if (!iter_is_iterable(a->at[i]))
            return error_set(err, ERR_SCRIPT, "zip: argument #%u is not iterable: %s", i + 1, value_type_name(a->at[i]));
        if (!iter_begin(vm, &its[i], a->at[i], err)) return false;
        ++*begun;
    }
    return true;
}

static bool zip_rows(Vm *vm, Iter *its, uint32_t n, List *l, Error *err) {
    for (uint32_t row = 0;; row++) {
        Tuple *t = tuple_new(vm_heap(vm), n, err);
        if (!t) return false;
        for (uint32_t i = 0; i < n; i++)
            if (!iter_next(&its[i], &t->at[i])) return true;
        if (!list_push(vm_heap(vm), l, value_from_object(t), err) || !lib_tick(vm, row, err)) return false;
    }
}

static bool core_zip(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    if (a->n_named) return error_set(err, ERR_SCRIPT, "zip does not accept keyword arguments");
    ptrdiff_t rows = a->n ? PTRDIFF_MAX : 0;
    for (uint32_t i = 0; i < a->n; i++) {
        ptrdiff_t n = iter_length(a->at[i]);
        if (n < rows) rows = n;
    }
    Iter *its = mem_zero(a->n + 1, sizeof *its);
    uint32_t begun = 0;
    bool ok = zip_begin(vm, a, its, &begun, err);
    List *l = ok ? list_new(vm_heap(vm), rows > 0 ? (size_t)rows : 0, err) : NULL;
    ok = l && (a->n == 0 || zip_rows(vm, its, a->n, l, err));
    while (begun) ok = iter_end(&its[--begun]) && ok;
    free(its);
    return ok && (*out = value_from_object(l), true);
}

/* ---- the table ---- */

enum { POSITIONAL = NATIVE_POSITIONAL, ONE = NATIVE_POSITIONAL | NATIVE_NO_KEYWORDS, PLAIN = NATIVE_PLAIN_ERRORS,
       VARIADIC = NATIVE_VARIADIC };

static const NativeParam any_x[] = { { "x", NATIVE_ANY } };
static const NativeParam iterable_x[] = { { "iterable", NATIVE_ITERABLE } };
static const NativeParam enumerate_params[] = { { "iterable", NATIVE_ITERABLE }, { "start", NATIVE_INT } };
static const NativeParam attr_params[] = { { "x", NATIVE_ANY }, { "name", NATIVE_STRING }, { "default", NATIVE_ANY } };
static const NativeParam int_params[] = { { "x", NATIVE_ANY }, { "base", NATIVE_ANY } };
static const NativeParam range_params[] = { { "start", NATIVE_INT }, { "stop", NATIVE_INT }, { "step", NATIVE_INT } };
static const NativeParam sorted_params[] = { { "iterable", NATIVE_ITERABLE }, { "key", NATIVE_CALLABLE }, { "reverse", NATIVE_BOOL } };

const NativeDef lib_core[] = {
    { "abs", core_abs, any_x, 1, 1, POSITIONAL | PLAIN, "The magnitude of a number." },
    { "all", core_all, iterable_x, 1, 1, POSITIONAL, "True if all items are true." },
    { "any", core_any, iterable_x, 1, 1, POSITIONAL, "True if any item is true." },
    { "bool", lib_convert_bool, any_x, 1, 0, POSITIONAL, "The truth value of x." },
    { "bytes", lib_convert_bytes, any_x, 1, 1, ONE | NATIVE_EXACTLY, "Bytes of a string or of an iterable of ints." },
    { "chr", core_chr, any_x, 1, 1, ONE, "The string of one code point." },
    { "dict", lib_convert_dict, NULL, 0, 0, VARIADIC, "A dict of pairs and keywords." },
    { "dir", core_dir, any_x, 1, 1, ONE, "Names of a value's attributes, sorted." },
    { "enumerate", core_enumerate, enumerate_params, 2, 1, POSITIONAL, "Pairs of number and item." },
    { "fail", core_fail, NULL, 0, 0, VARIADIC | PLAIN, "Ends the script with an error." },
    { "float", lib_convert_float, any_x, 1, 0, ONE | PLAIN, "A number, bool or string as a float." },
    { "getattr", core_getattr, attr_params, 3, 2, POSITIONAL, "The attribute of that name, or the default." },
    { "hasattr", core_hasattr, attr_params, 2, 2, POSITIONAL, "True if x has an attribute of that name." },
    { "hash", core_hash, any_x, 1, 1, POSITIONAL, "A hash of a string or bytes, the same in every run." },
    { "int", lib_convert_int, int_params, 2, 1, 0, "A number, bool or string as an int." },
    { "len", core_len, any_x, 1, 1, POSITIONAL, "The number of items, or of bytes of a string." },
    { "list", lib_convert_list, iterable_x, 1, 0, POSITIONAL, "A new list of the items." },
    { "max", lib_sort_max, NULL, 0, 0, VARIADIC | PLAIN, "The largest item." },
    { "min", lib_sort_min, NULL, 0, 0, VARIADIC | PLAIN, "The smallest item." },
    { "ord", core_ord, any_x, 1, 1, ONE, "The code point of a string, or the byte of bytes." },
    { "print", core_print, NULL, 0, 0, VARIADIC | PLAIN, "Writes a line to the log." },
    { "range", core_range, range_params, 3, 1, POSITIONAL, "The ints from start up to, but not including, stop." },
    { "repr", core_repr, any_x, 1, 1, POSITIONAL, "A value as a literal of the language." },
    { "reversed", core_reversed, iterable_x, 1, 1, POSITIONAL, "A list of the items, last first." },
    { "set", lib_convert_set, iterable_x, 1, 0, POSITIONAL, "A new set of the items." },
    { "sorted", lib_sort_sorted, sorted_params, 3, 1, PLAIN, "A list of the items in order." },
    { "str", lib_convert_str, any_x, 1, 1, ONE | NATIVE_EXACTLY, "A value as text." },
    { "tuple", lib_convert_tuple, iterable_x, 1, 0, POSITIONAL, "A tuple of the items." },
    { "type", core_type, any_x, 1, 1, ONE | NATIVE_EXACTLY, "The name of a value's type." },
    { "zip", core_zip, NULL, 0, 0, VARIADIC | PLAIN, "Tuples of the first items, the second items, …" },
};
const size_t lib_core_n = sizeof lib_core / sizeof lib_core[0];
