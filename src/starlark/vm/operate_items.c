/* Indexing, slicing, unpacking. */
#include "starlark/vm/iter.h"
#include "starlark/vm/operate.h"
#include "starlark/vm/repr.h"
#include "starlark/vm/work.h"
#include "value/int.h"
#include "value/range.h"

enum { STRETCH = 1 << 14 };          /* items copied between two checks of the limits */

static ptrdiff_t length(Value x) {
    if (!value_is_object(x)) return -1;
    switch (value_object(x)->type) {
    case OBJECT_STRING: case OBJECT_BYTES: return value_string(x)->n;
    case OBJECT_LIST: return value_list(x)->n;
    case OBJECT_TUPLE: return value_tuple(x)->n;
    case OBJECT_RANGE: return (ptrdiff_t)value_range(x)->n;
    default: return -1;
    }
}

static bool out_of_range(Value x, int i, ptrdiff_t n, Error *err) {
    if (n == 0) return error_set(err, ERR_SCRIPT, "index %d out of range: empty %s", i, value_type_name(x));
    return error_set(err, ERR_SCRIPT, "%s index %d out of range [%td:%td]", value_type_name(x), i, -n, n - 1);
}

static bool find_index(Value x, Value key, ptrdiff_t n, ptrdiff_t *out, bool name_type, Error *err) {
    int i;
    if (!native_i32(key, &i, err)) return name_type ? error_wrap(err, "%s index", value_type_name(x)) : false;
    *out = i < 0 ? i + n : i;
    return (*out >= 0 && *out < n) || out_of_range(x, i, n, err);
}

static bool missing_key(Vm *vm, Value key, Error *err) {
    Buf text = { 0 };
    if (repr_value(vm, &text, key, NULL)) error_set(err, ERR_SCRIPT, "key " STR_FMT " not in dict", STR_ARG(buf_str(&text)));
    else error_set(err, ERR_SCRIPT, "key not in dict");
    buf_clear(&text);
    return false;
}

static bool item_at(Vm *vm, Value x, ptrdiff_t i, Value *out, Error *err) {
    Heap *h = vm_heap(vm);
    switch (value_object(x)->type) {
    case OBJECT_LIST: return *out = value_list(x)->at[i], true;
    case OBJECT_TUPLE: return *out = value_tuple(x)->at[i], true;
    case OBJECT_RANGE: return int_make(h, range_at(value_range(x), i), out, err);
    case OBJECT_BYTES: return *out = value_from_small((unsigned char)value_string(x)->at[i]), true;
    default: {
        String *s = string_slice(h, value_string(x), (size_t)i, (size_t)i + 1, err);
        return s && (*out = value_from_object(s), true);
    }
    }
}

bool operate_index(Vm *vm, Value x, Value key, Value *out, Error *err) {
    if (value_is_dict(x)) {
        Value *found;
        if (!dict_get(value_dict(x), key, &found, err)) return false;
        return found ? (*out = *found, true) : missing_key(vm, key, err);
    }
    ptrdiff_t n = length(x), i;
    if (n >= 0) return find_index(x, key, n, &i, true, err) && item_at(vm, x, i, out, err);
    if (value_is_object(x) && value_object(x)->type >= OBJECT_CLASSED) {
        const NativeClass *cls = (const NativeClass *)((Classed *)value_object(x))->cls;
        if (cls->index) return cls->index(vm, x, key, out, err);
    }
    return error_set(err, ERR_SCRIPT, "unhandled index operation %s[%s]", value_type_name(x), value_type_name(key));
}

bool operate_set_index(Vm *vm, Value x, Value key, Value v, Error *err) {
    if (value_is_dict(x)) return dict_put(vm_heap(vm), value_dict(x), key, v, err);
    if (!value_is_list(x)) return error_set(err, ERR_SCRIPT, "%s value does not support item assignment", value_type_name(x));
    List *l = value_list(x);
    ptrdiff_t i;
    if (!find_index(x, key, l->n, &i, false, err)) return false;
    if (!list_check_mutable(l, "assign to element of", err)) return false;
    l->at[i] = v;
    return true;
}

/* ---- slices ---- */

/* One end of a slice. Leaves *at at its default if the part is None; a negative index counts from the end. */
static bool slice_end(Value part, int64_t n, int64_t *at, const char *what, Error *err) {
    int i;
    if (value_is_none(part)) return true;
    if (!native_i32(part, &i, err)) return error_wrap(err, "invalid %s index", what);
    return *at = i < 0 ? i + n : i, true;
}

static int64_t clamp(int64_t i, int64_t low, int64_t high) { return i < low ? low : i > high ? high : i; }

static bool slice_bounds(const Value part[4], int64_t n, int64_t *start, int64_t *end, int64_t *step, Error *err) {
    int by = 1;
    if (!value_is_none(part[3])) {
        if (!native_i32(part[3], &by, err)) return error_wrap(err, "invalid slice step");
        if (by == 0) return error_set(err, ERR_SCRIPT, "zero is not a valid slice step");
    }
    *step = by;
    *start = by > 0 ? 0 : n - 1;
    *end = by > 0 ? n : -1;
    if (!slice_end(part[1], n, start, "start", err) || !slice_end(part[2], n, end, "end", err)) return false;
    if (by > 0) {
        *start = clamp(*start, 0, n);
        *end = clamp(*end, 0, n);
        if (*end < *start) *end = *start;
    } else {
        *start = clamp(*start, INT64_MIN, n - 1);
        *end = clamp(*end, -1, INT64_MAX);
        if (*start < *end) *start = *end;                /* empty; the start is visible for a range */
    }
    return true;
}

static bool slice_text(Vm *vm, String *s, int64_t start, int64_t step, int64_t n, Value *out, Error *err) {
    String *r;
    if (step == 1) r = string_slice(vm_heap(vm), s, (size_t)start, (size_t)(start + n), err);
    else {
        char *at;
        r = (s->obj.type == OBJECT_STRING ? string_room : bytes_room)(vm_heap(vm), (size_t)n, &at, err);
        Work w = { .vm = vm };
        for (int64_t i = 0; r && i < n; i++) {
            at[i] = s->at[start + i * step];
            if (i % STRETCH == STRETCH - 1 && !work_add(&w, STRETCH / 8, err)) return false;
        }
    }
    return r && (*out = value_from_object(r), vm_work(vm, (size_t)n / 64, err));
}

static bool slice_items(Vm *vm, Value x, int64_t start, int64_t step, int64_t n, Value *out, Error *err) {
    const Value *from;
    Value *to;
    if (value_is_list(x)) {
        List *l = list_new(vm_heap(vm), (size_t)n, err);
        if (!l) return false;
        l->n = (uint32_t)n;
        from = value_list(x)->at;
        to = l->at;
        *out = value_from_object(l);
    } else {
        Tuple *t = tuple_room(vm_heap(vm), (size_t)n, err);
        if (!t) return false;
        from = value_tuple(x)->at;
        to = t->at;
        *out = value_from_object(t);
    }
    Work w = { .vm = vm };
    if (n == 0) return true;                             /* an empty list has no storage */
    if (step == 1) return work_copy_values(&w, to, from + start, (size_t)n, err);
    for (int64_t i = 0; i < n; i++) {
        to[i] = from[start + i * step];
        if (i % STRETCH == STRETCH - 1 && !work_add(&w, STRETCH / 2, err)) return false;
    }
    return true;
}

static bool slice_range(Vm *vm, const Range *r, int64_t start, int64_t end, int64_t step, Value *out, Error *err) {
    int64_t from, to, by;
    if (__builtin_mul_overflow(r->step, step, &by) || __builtin_mul_overflow(start, r->step, &from) ||
        __builtin_mul_overflow(end, r->step, &to) || __builtin_add_overflow(r->start, from, &from) ||
        __builtin_add_overflow(r->start, to, &to))
        return error_set(err, ERR_SCRIPT, "range too large to slice");
    return range_new(vm_heap(vm), from, to, by, out, err);
}

bool operate_slice(Vm *vm, const Value part[4], Value *out, Error *err) {
    Value x = part[0];
    int64_t n = length(x), start, end, step;
    if (n < 0) return error_set(err, ERR_SCRIPT, "invalid slice operand %s", value_type_name(x));
    if (!slice_bounds(part, n, &start, &end, &step, err)) return false;
    int64_t count = step > 0 ? (end - start + step - 1) / step : (start - end - step - 1) / -step;
    switch (value_object(x)->type) {
    case OBJECT_LIST: case OBJECT_TUPLE: return slice_items(vm, x, start, step, count, out, err);
    case OBJECT_RANGE: return slice_range(vm, value_range(x), start, end, step, out, err);
    default: return slice_text(vm, value_string(x), start, step, count, out, err);
    }
}

/* ---- unpacking ---- */

bool operate_unpack(Vm *vm, Value v, Value *to, uint32_t n, Error *err) {
    if (!iter_is_iterable(v)) return error_set(err, ERR_SCRIPT, "got %s in sequence assignment", value_type_name(v));
    ptrdiff_t got = iter_length(v);
    if (got > (ptrdiff_t)n) return error_set(err, ERR_SCRIPT, "too many values to unpack (got %td, want %u)", got, n);
    if (got >= 0 && got < (ptrdiff_t)n) return error_set(err, ERR_SCRIPT, "too few values to unpack (got %td, want %u)", got, n);
    Iter it;
    if (!iter_begin(vm, &it, v, err)) return false;
    uint32_t i = 0;
    while (i < n && iter_next(&it, &to[i])) i++;
    iter_end(&it);
    return i == n || error_set(err, ERR_SCRIPT, "too few values to unpack (got %u, want %u)", i, n);
}
