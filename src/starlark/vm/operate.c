#include "starlark/vm/operate.h"

#include <math.h>
#include <stdio.h>
#include "starlark/vm/format.h"
#include "starlark/syntax/habits.h"
#include "starlark/vm/iter.h"
#include "starlark/vm/lib.h"
#include "starlark/vm/repr.h"
#include "starlark/vm/search.h"
#include "starlark/vm/setops.h"
#include "starlark/vm/work.h"
#include "value/int.h"
#include "value/range.h"

static const char *const symbols[OP_COUNT] = {
    [OP_ADD] = "+", [OP_SUB] = "-", [OP_MUL] = "*", [OP_DIV] = "/", [OP_FLOORDIV] = "//", [OP_MOD] = "%",
    [OP_AND] = "&", [OP_OR] = "|", [OP_XOR] = "^", [OP_SHL] = "<<", [OP_SHR] = ">>", [OP_EQ] = "==", [OP_NE] = "!=",
    [OP_LT] = "<", [OP_LE] = "<=", [OP_GT] = ">", [OP_GE] = ">=", [OP_IN] = "in", [OP_NOT_IN] = "not in",
    [OP_NEG] = "-", [OP_POS] = "+", [OP_INVERT] = "~",
};

/* True if this is a string and the other operand of + is a number, a bool or None. */
static bool joins(Value text, Value other) {
    return value_is_string(text) && (value_is_int(other) || value_is_float(other) || value_is_bool(other) || value_is_none(other));
}

static bool unknown(Op op, Value x, Value y, Error *err) {
    const char *advice = op == OP_ADD && (joins(x, y) || joins(y, x)) ? " (str(x) makes a string of a value)" : "";
    return error_set(err, ERR_SCRIPT, "unknown binary op: %s %s %s%s", value_type_name(x), symbols[op], value_type_name(y), advice);
}

/* ---- numbers ---- */

static bool is_number(Value v) { return value_is_float(v) || value_is_int(v); }

static bool to_float(Value v, double *out, Error *err) {
    if (value_is_float(v)) return *out = value_float(v), true;
    *out = int_to_double(v);
    return isfinite(*out) || error_set(err, ERR_SCRIPT, "int too large to convert to float");
}

static double float_mod(double x, double y) {
    double z = fmod(x, y);
    return z != 0 && (z < 0) != (y < 0) ? z + y : z;
}

static bool float_op(Op op, Value a, Value b, Value *out, Error *err) {
    double x, y, z;
    if (!to_float(a, &x, err) || !to_float(b, &y, err)) return false;
    switch (op) {
    case OP_ADD: z = x + y; break;
    case OP_SUB: z = x - y; break;
    case OP_MUL: z = x * y; break;
    case OP_DIV:
        if (y == 0) return error_set(err, ERR_SCRIPT, "floating-point division by zero");
        z = x / y;
        break;
    case OP_FLOORDIV:
        if (y == 0) return error_set(err, ERR_SCRIPT, "floored division by zero");
        z = floor(x / y);
        break;
    case OP_MOD:
        if (y == 0) return error_set(err, ERR_SCRIPT, "floating-point modulo by zero");
        z = float_mod(x, y);
        break;
    default: return unknown(op, a, b, err);
    }
    return *out = value_from_float(z), true;
}

static bool shift(Vm *vm, Op op, Value x, Value y, Value *out, Error *err) {
    enum { SHIFT_MAX = 512 };                            /* same limit as other implementations */
    int by;
    if (!native_i32(y, &by, err)) return false;
    if (op == OP_SHL && by >= SHIFT_MAX) return error_set(err, ERR_SCRIPT, "shift count too large: %d", by);
    return (op == OP_SHL ? int_shl : int_shr)(vm_heap(vm), x, y, out, err);
}

static bool int_op(Vm *vm, Op op, Value x, Value y, Value *out, Error *err) {
    Heap *h = vm_heap(vm);
    switch (op) {
    case OP_ADD: return int_add(h, x, y, out, err);
    case OP_SUB: return int_sub(h, x, y, out, err);
    case OP_MUL: return (value_both_small(x, y) || vm_work(vm, int_bits(x) * int_bits(y) / 65536, err)) && int_mul(h, x, y, out, err);
    case OP_DIV: return float_op(op, x, y, out, err);
    case OP_FLOORDIV: return vm_work(vm, int_bits(x) / 64, err) && int_floordiv(h, x, y, out, err);
    case OP_MOD: return vm_work(vm, int_bits(x) / 64, err) && int_mod(h, x, y, out, err);
    case OP_AND: return int_and(h, x, y, out, err);
    case OP_OR: return int_or(h, x, y, out, err);
    case OP_XOR: return int_xor(h, x, y, out, err);
    default: return unknown(op, x, y, err);
    }
}

/* ---- sequences ---- */

static bool repeat_count(size_t n, Value count, size_t *out, Error *err) {
    int times;
    Error ignored;
    if (!native_i32(count, &times, &ignored)) {
        Buf text = { 0 };
        int_text(&text, count, 10);
        error_set(err, ERR_SCRIPT, "repeat count " STR_FMT " too large", STR_ARG(buf_str(&text)));
        buf_clear(&text);
        return false;
    }
    if (n == 0 || times < 1) return *out = 0, true;
    if ((uint64_t)n * (uint64_t)times >= (uint64_t)1 << 30)
        return error_set(err, ERR_SCRIPT, "excessive repeat (%zu * %d elements)", n, times);
    return *out = (size_t)times, true;
}

/* Fills `to` with copies of its first n bytes, doubling. */
static bool fill_by_doubling(Vm *vm, char *to, size_t n, size_t total, Error *err) {
    Work w = { .vm = vm };
    while (n < total) {
        size_t more = n < total - n ? n : total - n;
        if (!work_copy(&w, to + n, (Str){ to, more }, err)) return false;
        n += more;
    }
    return true;
}

static bool repeat_text(Vm *vm, String *s, Value count, Value *out, Error *err) {
    size_t times;
    char *at;
    if (!repeat_count(s->n, count, &times, err)) return false;
    size_t total = s->n * times;
    String *r = (s->obj.type == OBJECT_STRING ? string_room : bytes_room)(vm_heap(vm), total, &at, err);
    if (!r) return false;
    if (total) memcpy(at, s->at, s->n);
    return *out = value_from_object(r), fill_by_doubling(vm, at, s->n, total, err);
}

static bool repeat_items(Vm *vm, const Value *items, size_t n, Value count, bool list, Value *out, Error *err) {
    size_t times;
    if (!repeat_count(n, count, &times, err)) return false;
    Value *to;
    if (list) {
        List *l = list_new(vm_heap(vm), n * times, err);
        if (!l) return false;
        l->n = (uint32_t)(n * times);
        to = l->at;
        *out = value_from_object(l);
    } else {
        Tuple *t = tuple_room(vm_heap(vm), n * times, err);
        if (!t) return false;
        to = t->at;
        *out = value_from_object(t);
    }
    if (times) memcpy(to, items, n * sizeof *items);
    return fill_by_doubling(vm, (char *)to, n * sizeof *items, n * times * sizeof *items, err);
}

static bool repeat(Vm *vm, Value x, Value count, Value *out, Error *err) {
    switch (value_object(x)->type) {
    case OBJECT_STRING: case OBJECT_BYTES: return repeat_text(vm, value_string(x), count, out, err);
    case OBJECT_LIST: return repeat_items(vm, value_list(x)->at, value_list(x)->n, count, true, out, err);
    default: return repeat_items(vm, value_tuple(x)->at, value_tuple(x)->n, count, false, out, err);
    }
}

static bool can_repeat(Value v) {
    return value_is_string(v) || value_is_bytes(v) || value_is_list(v) || value_is_tuple(v);
}

static bool concat_lists(Vm *vm, const List *a, const List *b, Value *out, Error *err) {
    List *l = list_new(vm_heap(vm), (size_t)a->n + b->n, err);
    if (!l) return false;
    l->n = a->n + b->n;
    Work w = { .vm = vm };
    *out = value_from_object(l);
    if (l->n == 0) return true;                          /* no storage to point into */
    return work_copy_values(&w, l->at, a->at, a->n, err) && work_copy_values(&w, l->at + a->n, b->at, b->n, err);
}

static bool concat_tuples(Vm *vm, const Tuple *a, const Tuple *b, Value *out, Error *err) {
    Work w = { .vm = vm };
    Tuple *t = tuple_room(vm_heap(vm), (size_t)a->n + b->n, err);
    if (!t || !work_copy_values(&w, t->at, a->at, a->n, err) || !work_copy_values(&w, t->at + a->n, b->at, b->n, err)) return false;
    return *out = value_from_object(t), true;
}

/* Short texts and incremental appends are fast; only copying two long texts must be interruptible. */
static bool concat_text(Vm *vm, String *a, String *b, Value *out, Error *err) {
    enum { LONG = 4 << 20 };
    Work w = { .vm = vm };
    if ((size_t)a->n + b->n < LONG || (b->n < LONG && string_can_append(a, b->n))) {
        String *s = string_concat(vm_heap(vm), a, b, err);
        return s && (*out = value_from_object(s), work_add(&w, b->n / 64, err));
    }
    char *at;
    String *s = (a->obj.type == OBJECT_STRING ? string_room : bytes_room)(vm_heap(vm), (size_t)a->n + b->n, &at, err);
    if (!s || !work_copy(&w, at, string_str(a), err) || !work_copy(&w, at + a->n, string_str(b), err)) return false;
    return *out = value_from_object(s), true;
}

static bool add(Vm *vm, Value x, Value y, Value *out, Error *err) {
    if (value_is_object(x) && value_is_object(y) && value_object(x)->type == value_object(y)->type)
        switch (value_object(x)->type) {
        case OBJECT_STRING: case OBJECT_BYTES: return concat_text(vm, value_string(x), value_string(y), out, err);
        case OBJECT_LIST: return concat_lists(vm, value_list(x), value_list(y), out, err);
        case OBJECT_TUPLE: return concat_tuples(vm, value_tuple(x), value_tuple(y), out, err);
        default: break;
        }
    return unknown(OP_ADD, x, y, err);
}

typedef bool SetOp(Vm *vm, const Dict *a, const Dict *b, Dict **out, Error *err);

static bool set_or_dict(Vm *vm, Op op, Value x, Value y, Value *out, Error *err) {
    SetOp *f = NULL;
    if (value_is_dict(x) && value_is_dict(y)) f = op == OP_OR ? setops_dict_union : NULL;
    else if (value_is_set(x) && value_is_set(y))
        f = op == OP_OR ? setops_union : op == OP_AND ? setops_intersection : op == OP_SUB ? setops_difference
          : op == OP_XOR ? setops_symmetric_difference : NULL;
    if (!f) return unknown(op, x, y, err);
    Dict *r;
    if (!f(vm, (Dict *)value_object(x), (Dict *)value_object(y), &r, err)) return false;
    return *out = value_from_object(r), true;
}

bool operate_binary(Vm *vm, Op op, Value x, Value y, Value *out, Error *err) {
    if (op >= OP_EQ && op <= OP_GE) {
        bool r;
        if (!operate_compare(vm, op, x, y, &r, err)) return false;
        return *out = value_from_bool(r), true;
    }
    if (op == OP_IN || op == OP_NOT_IN) {
        bool r;
        if (!vm_contains(vm, x, y, &r, err)) return false;
        return *out = value_from_bool(r == (op == OP_IN)), true;
    }
    if ((op == OP_SHL || op == OP_SHR) && value_is_int(x)) return shift(vm, op, x, y, out, err);
    if (is_number(x) && is_number(y))
        return value_is_float(x) || value_is_float(y) ? float_op(op, x, y, out, err) : int_op(vm, op, x, y, out, err);
    if (op == OP_ADD) return add(vm, x, y, out, err);
    if (op == OP_MUL && can_repeat(x) && value_is_int(y)) return repeat(vm, x, y, out, err);
    if (op == OP_MUL && value_is_int(x) && can_repeat(y)) return repeat(vm, y, x, out, err);
    if (op == OP_MOD && value_is_string(x)) return format_percent(vm, value_string(x), y, out, err);
    return set_or_dict(vm, op, x, y, out, err);
}

bool operate_in_place(Vm *vm, Op op, Value x, Value y, Value *out, Error *err) {
    if (op == OP_IADD && value_is_list(x) && iter_is_iterable(y)) {
        List *l = value_list(x), *more;
        if (!list_check_mutable(l, "apply += to", err)) return false;
        if (value_is_list(y)) more = value_list(y);
        else if (!iter_to_list(vm, y, &more, err)) return false;
        uint32_t n = more->n;                            /* y may be x itself */
        if (!list_reserve(vm_heap(vm), l, n, err)) return false;
        if (n && !work_copy_values(&(Work){ .vm = vm }, l->at + l->n, more->at, n, err)) return false;
        l->n += n;
        return *out = x, true;
    }
    if (op == OP_IOR && value_is_dict(x) && value_is_dict(y)) {
        if (!dict_check_mutable(value_dict(x), "apply |= to", err)) return false;
        return *out = x, x.bits == y.bits || setops_dict_update(vm, value_dict(x), value_dict(y), err);
    }
    op = op == OP_IADD ? OP_ADD : op == OP_IOR ? OP_OR : op;
    if (op != OP_ADD && value_is_set(x) && value_is_set(y)) {
        char verb[] = "apply ?= to";
        verb[6] = symbols[op][0];
        return *out = x, dict_check_mutable(value_set(x), verb, err) && setops_update(vm, verb[6], value_set(x), value_set(y), err);
    }
    return operate_binary(vm, op, x, y, out, err);
}

bool operate_unary(Vm *vm, Op op, Value x, Value *out, Error *err) {
    if (value_is_int(x)) {
        if (op == OP_POS) return *out = x, true;
        return (op == OP_NEG ? int_neg : int_not)(vm_heap(vm), x, out, err);
    }
    if (value_is_float(x) && op != OP_INVERT) return *out = op == OP_NEG ? value_from_float(-value_float(x)) : x, true;
    return error_set(err, ERR_SCRIPT, "unknown unary op: %s %s", symbols[op], value_type_name(x));
}

/* ---- comparing ---- */

bool operate_compare(Vm *vm, Op op, Value x, Value y, bool *out, Error *err) {
    if (op == OP_EQ || op == OP_NE) {
        if (!vm_equal(vm, x, y, out, err)) return false;
        if (op == OP_NE) *out = !*out;
        return true;
    }
    if (value_is_set(x) && value_is_set(y)) return setops_compare(vm, symbols[op], value_set(x), value_set(y), out, err);
    int order;
    if (!vm_compare(vm, x, y, symbols[op], &order, err)) return false;
    *out = op == OP_LT ? order < 0 : op == OP_LE ? order <= 0 : op == OP_GT ? order > 0 : order >= 0;
    return true;
}

static bool in_items(Vm *vm, Value x, const Value *items, size_t n, bool *out, Error *err) {
    Work w = { .vm = vm };
    size_t each = lib_compare_cost(x);
    *out = false;
    for (size_t i = 0; i < n && !*out; i++)
        if (!vm_equal(vm, x, items[i], out, err) || !work_add(&w, each, err)) return false;
    return true;
}

static bool in_range(const Range *r, Value x, bool *out, Error *err) {
    int64_t i;
    if (value_is_float(x)) {
        double d = value_float(x);
        if (d != floor(d) || fabs(d) > 9e18) return *out = false, true;
        i = (int64_t)d;
    } else if (!value_is_int(x))
        return error_set(err, ERR_SCRIPT, "'in <range>' requires integer as left operand, not %s", value_type_name(x));
    else if (!int_to_i64(x, &i))
        return *out = false, true;
    int64_t by;
    if (__builtin_sub_overflow(i, r->start, &by)) return *out = false, true;
    return *out = r->n > 0 && by % r->step == 0 && by / r->step >= 0 && by / r->step < r->n, true;
}

static bool in_text(Vm *vm, Str needle, Str hay, bool *out, Error *err) {
    ptrdiff_t at;
    if (!search_first(&(Work){ .vm = vm }, hay, needle, &at, err)) return false;
    return *out = at >= 0, true;
}

static bool in_bytes(Vm *vm, Value x, Str s, bool *out, Error *err) {
    int byte;
    if (value_is_bytes(x)) return in_text(vm, value_str(x), s, out, err);
    if (!value_is_int(x))
        return error_set(err, ERR_SCRIPT, "'in bytes' requires bytes or int as left operand, not %s", value_type_name(x));
    if (!native_i32(x, &byte, err)) return error_wrap(err, "int in bytes");
    if (byte < 0 || byte > 255) return error_set(err, ERR_SCRIPT, "int in bytes: %d out of range", byte);
    return *out = s.n && memchr(s.at, byte, s.n) != NULL, vm_work(vm, s.n / 256, err);
}

bool vm_contains(Vm *vm, Value x, Value container, bool *out, Error *err) {
    if (!value_is_object(container)) return unknown(OP_IN, x, container, err);
    Object *o = value_object(container);
    switch ((ObjectType)o->type) {
    case OBJECT_DICT: case OBJECT_SET: {
        Value *found;
        Error unhashable;
        bool ok = dict_get((Dict *)o, x, &found, o->type == OBJECT_SET ? err : &unhashable);
        if (!ok) return o->type == OBJECT_DICT ? (*out = false, true) : false;   /* no dict contains an unhashable key */
        return *out = found != NULL, true;
    }
    case OBJECT_LIST: return in_items(vm, x, ((List *)o)->at, ((List *)o)->n, out, err);
    case OBJECT_TUPLE: return in_items(vm, x, ((Tuple *)o)->at, ((Tuple *)o)->n, out, err);
    case OBJECT_STRING:
        if (!value_is_string(x))
            return error_set(err, ERR_SCRIPT, "'in <string>' requires string as left operand, not %s", value_type_name(x));
        return in_text(vm, value_str(x), string_str((String *)o), out, err);
    case OBJECT_BYTES: return in_bytes(vm, x, string_str((String *)o), out, err);
    case OBJECT_RANGE: return in_range((Range *)o, x, out, err);
    default: return unknown(OP_IN, x, container, err);
    }
}

/* ---- attributes ---- */

/* What a script may have meant by a member that x does not have; empty if there is no advice. */
static void advise_attr(Value x, Str name, const Str *names, size_t n, char *out, size_t size) {
    Str type = value_is(x, OBJECT_MODULE) ? string_str(((NativeModule *)value_object(x))->name) : str_from(value_type_name(x));
    const char *advice = habits_member(type, name);
    Str near = str_nearest(name, names, n);
    *out = 0;
    if (advice) snprintf(out, size, " (%s)", advice);
    else if (near.n) snprintf(out, size, " (did you mean ." STR_FMT "?)", STR_ARG(near));
    else if (value_is(x, OBJECT_DICT)) snprintf(out, size, " (a key is written d[\"" STR_FMT "\"])", STR_ARG(name));
}

static bool no_attr(Value x, String *name, const Str *names, size_t n, Error *err) {
    char advice[160];
    advise_attr(x, string_str(name), names, n, advice, sizeof advice);
    return error_set(err, ERR_SCRIPT, "%s has no ." STR_FMT " field or method%s", value_type_name(x), STR_ARG(string_str(name)), advice);
}

typedef struct { Str at[64]; size_t n; } Names;

static void collect_name(void *ctx, Str name) {
    Names *names = ctx;
    if (names->n < 64) names->at[names->n++] = name;
}

bool vm_attr(Vm *vm, Value x, String *name, Value *out, Error *err) {
    Names names = { .n = 0 };
    if (!value_is_object(x)) return no_attr(x, name, NULL, 0, err);
    Object *o = value_object(x);
    if (o->type >= OBJECT_CLASSED) {
        const NativeClass *cls = (const NativeClass *)((Classed *)o)->cls;
        Value v = VALUE_GONE;
        if (cls->attr && !cls->attr(vm, x, name, &v, err)) return false;
        if (!value_is_gone(v)) return *out = v, true;
        if (cls->attr_names) cls->attr_names(x, collect_name, &names);
        return no_attr(x, name, names.at, names.n, err);
    }
    const NativeDef *def = native_method((ObjectType)o->type, string_str(name));
    if (def) {
        Native *bound = native_bind(vm_heap(vm), def, x, err);
        return bound && (*out = value_from_object(bound), true);
    }
    size_t n;
    const NativeDef *table = native_method_table((ObjectType)o->type, &n);
    for (size_t i = 0; i < n; i++) collect_name(&names, str_from(table[i].name));
    return no_attr(x, name, names.at, names.n, err);
}

bool operate_set_attr(Vm *vm, Value x, String *name, Value v, Error *err) {
    if (value_is_object(x) && value_object(x)->type >= OBJECT_CLASSED) {
        const NativeClass *cls = (const NativeClass *)((Classed *)value_object(x))->cls;
        if (cls->set_attr) return cls->set_attr(vm, x, name, v, err);
    }
    return error_set(err, ERR_SCRIPT, "can't assign to ." STR_FMT " field of %s", STR_ARG(string_str(name)), value_type_name(x));
}
