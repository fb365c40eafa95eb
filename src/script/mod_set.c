/* The module set: functions on sets. set() itself is a built-in function of the language. */
#include "script/script.h"
#include "starlark/vm/iter.h"
#include "starlark/vm/lib.h"
#include "starlark/vm/setops.h"

static NativeFn set_fn_new, set_contains, set_size, set_values, set_union, set_intersect, set_diff;
static const NativeParam items[] = { { "items", NATIVE_ITERABLE | NATIVE_NONE_IS_ABSENT } };
static const NativeParam contains_params[] = { { "s", NATIVE_ITERABLE }, { "x", NATIVE_ANY } };
static const NativeParam one[] = { { "s", NATIVE_ITERABLE } };
static const NativeParam two[] = { { "a", NATIVE_ITERABLE }, { "b", NATIVE_ITERABLE } };

const NativeDef script_set[] = {
    { "set.new", set_fn_new, SCRIPT_PARAMS(items), 0, SCRIPT_FN, "A set of the items, or an empty one." },
    { "set.contains", set_contains, SCRIPT_PARAMS(contains_params), 2, SCRIPT_FN, "Is x in s?" },
    { "set.size", set_size, SCRIPT_PARAMS(one), 1, SCRIPT_FN, "The number of members of s." },
    { "set.values", set_values, SCRIPT_PARAMS(one), 1, SCRIPT_FN, "The members of s as a list, in insertion order." },
    { "set.union", set_union, SCRIPT_PARAMS(two), 2, SCRIPT_FN, "The members of a or b." },
    { "set.intersect", set_intersect, SCRIPT_PARAMS(two), 2, SCRIPT_FN, "The members of both a and b." },
    { "set.diff", set_diff, SCRIPT_PARAMS(two), 2, SCRIPT_FN, "The members of a that are not in b." },
};
const size_t script_set_n = sizeof script_set / sizeof *script_set;

/* Returns the set itself, or a set of the items of any other iterable. */
static bool as_set(Vm *vm, Value v, Dict **out, Error *err) {
    if (value_is_set(v)) return *out = value_set(v), true;
    Dict *s = set_new(vm_heap(vm), 0, err);
    return s && lib_set_fill(vm, s, v, err) && (*out = s, true);
}

static bool set_fn_new(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Dict *s = set_new(vm_heap(vm), 0, err);
    if (!s || (native_given(a, 0) && !lib_set_fill(vm, s, a->at[0], err))) return false;
    return *out = value_from_object(s), true;
}

static bool set_contains(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Dict *s;
    Value *at;
    return as_set(vm, a->at[0], &s, err) && dict_get(s, a->at[1], &at, err) && (*out = value_from_bool(at != NULL), true);
}

static bool set_size(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Dict *s;
    return as_set(vm, a->at[0], &s, err) && (*out = value_from_small(s->n), true);
}

static bool set_values(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Dict *s;
    List *l;
    if (!as_set(vm, a->at[0], &s, err) || !iter_to_list(vm, value_from_object(s), &l, err)) return false;
    return *out = value_from_object(l), true;
}

typedef bool SetOp(Vm *vm, const Dict *a, const Dict *b, Dict **out, Error *err);

static bool combine(Vm *vm, const NativeArgs *a, SetOp *op, Value *out, Error *err) {
    Dict *x, *y, *result;
    if (!as_set(vm, a->at[0], &x, err) || !as_set(vm, a->at[1], &y, err) || !op(vm, x, y, &result, err)) return false;
    return *out = value_from_object(result), true;
}

static bool set_union(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return combine(vm, a, setops_union, out, err); }
static bool set_intersect(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return combine(vm, a, setops_intersection, out, err); }
static bool set_diff(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return combine(vm, a, setops_difference, out, err); }
