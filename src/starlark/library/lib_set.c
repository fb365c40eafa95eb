/* Methods of sets. Those that take another collection accept any iterable, and any number of them where
 * the specification allows it; the operators (setops.h) accept sets only. */
#include "starlark/vm/iter.h"
#include "starlark/vm/lib.h"
#include "starlark/vm/setops.h"
#include "starlark/vm/universe.h"

static Dict *self(const NativeArgs *a) { return value_set(a->self); }

bool lib_set_fill(Vm *vm, Dict *set, Value from, Error *err) {
    Iter it;
    Value item, *at;
    bool ok = true, fresh;
    if (!iter_begin(vm, &it, from, err)) return false;
    for (uint32_t i = 0; ok && iter_next(&it, &item); i++)
        ok = dict_insert(vm_heap(vm), set, item, VALUE_NONE, &at, &fresh, err) && lib_tick(vm, i, err);
    return iter_end(&it) && ok;
}

/* ---- single members ---- */

static bool method_add(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    Value *at;
    bool fresh;
    return dict_insert(vm_heap(vm), self(a), a->at[0], VALUE_NONE, &at, &fresh, err);
}

static bool method_clear(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)vm, (void)out;
    return self(a)->n == 0 || dict_clear(self(a), err);
}

static bool method_discard(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)vm, (void)out;
    Value v;
    return dict_remove(self(a), a->at[0], &v, err);
}

static bool method_pop(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)vm;
    Dict *s = self(a);
    Entry *e;
    uint32_t i = s->first;
    Value v;
    if (s->n == 0 || !dict_next(s, &i, &e)) return error_set(err, ERR_SCRIPT, "empty set");
    Value key = e->key;
    return dict_remove(s, key, &v, err) && (*out = key, true);
}

static bool method_remove(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)vm, (void)out;
    Value v;
    if (!dict_remove(self(a), a->at[0], &v, err)) return false;
    return !value_is_gone(v) || error_set(err, ERR_SCRIPT, "missing key");
}

/* ---- other collections ---- */

static bool no_keywords(const NativeArgs *a, Error *err) {
    return a->n_named == 0 || error_set(err, ERR_SCRIPT, "unexpected keyword arguments");
}

/* Returns a set for lookups: the argument itself, or a set of its items. */
static bool as_set(Vm *vm, Value v, Dict **out, Error *err) {
    if (value_is_set(v)) return *out = value_set(v), true;
    *out = set_new(vm_heap(vm), 0, err);
    return *out && lib_set_fill(vm, *out, v, err);
}

static bool arg_set(Vm *vm, const NativeArgs *a, uint32_t i, Dict **out, Error *err) {
    if (!iter_is_iterable(a->at[i]))
        return error_set(err, ERR_SCRIPT, "for parameter %u: got %s, want iterable", i + 1, value_type_name(a->at[i]));
    return as_set(vm, a->at[i], out, err);
}

typedef bool SetOp(Vm *vm, const Dict *a, const Dict *b, Dict **out, Error *err);

/* self OP first OP second …; always a new set. */
static bool combine(Vm *vm, const NativeArgs *a, SetOp *op, Dict **out, Error *err) {
    Dict *s, *other;
    if (!no_keywords(a, err) || !dict_copy(vm_heap(vm), self(a), &s, err)) return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!arg_set(vm, a, i, &other, err) || !op(vm, s, other, &s, err)) return false;
    return *out = s, true;
}

static bool combine_new(Vm *vm, const NativeArgs *a, SetOp *op, Value *out, Error *err) {
    Dict *s;
    return combine(vm, a, op, &s, err) && (*out = value_from_object(s), true);
}

/* The same, but replaces the contents of the set with the result. */
static bool combine_here(Vm *vm, const NativeArgs *a, SetOp *op, const char *verb, Error *err) {
    Dict *s;
    if (!dict_check_mutable(self(a), verb, err) || !combine(vm, a, op, &s, err) || !dict_clear(self(a), err)) return false;
    return lib_set_fill(vm, self(a), value_from_object(s), err);
}

static bool method_difference(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    return combine_new(vm, a, setops_difference, out, err);
}

static bool method_difference_update(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    return combine_here(vm, a, setops_difference, "delete from", err);
}

static bool method_intersection(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    return combine_new(vm, a, setops_intersection, out, err);
}

static bool method_intersection_update(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    return combine_here(vm, a, setops_intersection, "delete from", err);
}

static bool method_symmetric_difference(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    return combine_new(vm, a, setops_symmetric_difference, out, err);
}

static bool method_symmetric_difference_update(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    return combine_here(vm, a, setops_symmetric_difference, "insert into", err);
}

static bool fill_from_all(Vm *vm, Dict *s, const NativeArgs *a, Error *err) {
    if (a->n_named) return error_set(err, ERR_SCRIPT, "does not accept keyword arguments");
    for (uint32_t i = 0; i < a->n; i++) {
        if (!iter_is_iterable(a->at[i]))
            return error_set(err, ERR_SCRIPT, "argument #%u is not iterable: %s", i + 1, value_type_name(a->at[i]));
        if (!lib_set_fill(vm, s, a->at[i], err)) return false;
    }
    return true;
}

static bool method_union(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Dict *s;
    return dict_copy(vm_heap(vm), self(a), &s, err) && fill_from_all(vm, s, a, err) && (*out = value_from_object(s), true);
}

static bool method_update(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    return fill_from_all(vm, self(a), a, err);
}

/* ---- tests ---- */

/* True if some item of the argument is (or is not) in the set. */
static bool has_item(Vm *vm, const NativeArgs *a, bool member, bool *out, Error *err) {
    Iter it;
    Value item, *at = NULL;
    bool ok = true, found = false;
    if (!iter_begin(vm, &it, a->at[0], err)) return false;
    for (uint32_t i = 0; ok && !found && iter_next(&it, &item); i++) {
        ok = dict_get(self(a), item, &at, err) && lib_tick(vm, i, err);
        found = ok && (at != NULL) == member;
    }
    return iter_end(&it) && ok && (*out = found, true);
}

static bool method_isdisjoint(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    bool found;
    return has_item(vm, a, true, &found, err) && (*out = value_from_bool(!found), true);
}

static bool method_issuperset(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    bool found;
    return has_item(vm, a, false, &found, err) && (*out = value_from_bool(!found), true);
}

static bool method_issubset(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Dict *other;
    bool inside;
    if (!as_set(vm, a->at[0], &other, err) || !setops_subset(vm, self(a), other, &inside, err)) return false;
    return *out = value_from_bool(inside), true;
}

static const NativeParam x[] = { { "x", NATIVE_ANY } };
static const NativeParam other[] = { { "other", NATIVE_ITERABLE } };
enum { POSITIONAL = NATIVE_POSITIONAL, VARIADIC = NATIVE_VARIADIC };

const NativeDef lib_set[] = {
    { "add", method_add, x, 1, 1, POSITIONAL, "Adds a member." },
    { "clear", method_clear, NULL, 0, 0, POSITIONAL, "Removes all members." },
    { "difference", method_difference, NULL, 0, 0, VARIADIC, "The members that are in none of the others." },
    { "difference_update", method_difference_update, NULL, 0, 0, VARIADIC, "Removes the members that are in any of the others." },
    { "discard", method_discard, x, 1, 1, POSITIONAL, "Removes a member if present." },
    { "intersection", method_intersection, NULL, 0, 0, VARIADIC, "The members that are in all of the others." },
    { "intersection_update", method_intersection_update, NULL, 0, 0, VARIADIC, "Keeps only the members that are in all of the others." },
    { "isdisjoint", method_isdisjoint, other, 1, 1, POSITIONAL, "True if the two have no member in common." },
    { "issubset", method_issubset, other, 1, 1, POSITIONAL, "True if the other contains every member." },
    { "issuperset", method_issuperset, other, 1, 1, POSITIONAL, "True if the set contains every item of the other." },
    { "pop", method_pop, NULL, 0, 0, POSITIONAL, "Removes and returns the oldest member." },
    { "remove", method_remove, x, 1, 1, POSITIONAL, "Removes a member; fails if it is absent." },
    { "symmetric_difference", method_symmetric_difference, other, 1, 1, POSITIONAL, "The items that are in exactly one of the two." },
    { "symmetric_difference_update", method_symmetric_difference_update, other, 1, 1, POSITIONAL, "Keeps the items that are in exactly one of the two." },
    { "union", method_union, NULL, 0, 0, VARIADIC, "A set with the items of the others added." },
    { "update", method_update, NULL, 0, 0, VARIADIC, "Adds the items of the others." },
};
const size_t lib_set_n = sizeof lib_set / sizeof lib_set[0];
