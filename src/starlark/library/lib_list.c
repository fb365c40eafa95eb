/* Methods of lists. */
#include "starlark/vm/iter.h"
#include "starlark/vm/lib.h"
#include "starlark/vm/universe.h"
#include "starlark/vm/work.h"

static List *self(const NativeArgs *a) { return value_list(a->self); }

static bool method_append(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    return list_push(vm_heap(vm), self(a), a->at[0], err);
}

static bool method_clear(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)vm, (void)out;
    return list_clear(self(a), err);
}

/* Copies the items of a contiguous sequence in one step. They may be the list's own, whose storage may move. */
static bool extend_block(Vm *vm, List *l, Object *from, Error *err) {
    uint32_t n = from->type == OBJECT_LIST ? ((List *)from)->n : ((Tuple *)from)->n;
    if (n == 0) return true;
    if (!list_reserve(vm_heap(vm), l, n, err)) return false;
    const Value *items = from->type == OBJECT_LIST ? ((List *)from)->at : ((Tuple *)from)->at;
    if (n && !work_copy_values(&(Work){ .vm = vm }, l->at + l->n, items, n, err)) return false;
    l->n += n;
    return true;
}

static bool method_extend(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    List *l = self(a), *items;
    if (!list_check_mutable(l, "extend", err)) return false;
    Value from = a->at[0];
    if (value_is_list(from) || value_is_tuple(from)) return extend_block(vm, l, value_object(from), err);
    return iter_to_list(vm, from, &items, err) && extend_block(vm, l, &items->obj, err);
}

/* Index of the first item that equals v; n if there is none. */
static bool find(Vm *vm, const List *l, Value v, size_t from, size_t to, size_t *out, Error *err) {
    Work w = { .vm = vm };
    size_t each = lib_compare_cost(v);
    for (size_t i = from; i < to; i++) {
        bool same;
        if (!vm_equal(vm, l->at[i], v, &same, err) || !work_add(&w, each, err)) return false;
        if (same) return *out = i, true;
    }
    return *out = l->n, true;
}

static bool method_index(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    const List *l = self(a);
    size_t start, end, at;
    if (!native_arg_slice(a, 1, l->n, &start, &end, err) || !find(vm, l, a->at[0], start, end, &at, err)) return false;
    if (at == l->n) return error_set(err, ERR_SCRIPT, "value not in list");
    return *out = value_from_small((int64_t)at), true;
}

static bool method_insert(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    List *l = self(a);
    int64_t i;
    if (!native_arg_i64(a, 0, &i, err)) return false;
    if (i < 0) i += l->n;
    if (i < 0) i = 0;
    return list_insert(vm_heap(vm), l, i > l->n ? l->n : (size_t)i, a->at[1], err) && vm_work(vm, l->n / 64, err);
}

static bool method_pop(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    List *l = self(a);
    int64_t i = (int64_t)l->n - 1;
    if (native_given(a, 0) && !native_arg_i64(a, 0, &i, err)) return false;
    int64_t at = i < 0 ? i + l->n : i;
    if (l->n == 0) return error_set(err, ERR_SCRIPT, "index %lld out of range: empty list", (long long)i);
    if (at < 0 || at >= l->n)
        return error_set(err, ERR_SCRIPT, "list index %lld out of range [%lld:%lld]", (long long)i, -(long long)l->n, (long long)l->n - 1);
    return list_remove_at(l, (size_t)at, out, err) && vm_work(vm, (l->n - (size_t)at) / 64, err);
}

static bool method_remove(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    List *l = self(a);
    size_t at;
    if (!list_check_mutable(l, "remove from", err) || !find(vm, l, a->at[0], 0, l->n, &at, err)) return false;
    if (at == l->n) return error_set(err, ERR_SCRIPT, "element not found");
    return list_remove_at(l, at, NULL, err);
}

static const NativeParam x[] = { { "x", NATIVE_ANY } };
static const NativeParam iterable[] = { { "iterable", NATIVE_ITERABLE } };
static const NativeParam pop_params[] = { { "index", NATIVE_INT } };
static const NativeParam insert_params[] = { { "index", NATIVE_INT }, { "x", NATIVE_ANY } };
static const NativeParam index_params[] = { { "x", NATIVE_ANY }, { "start", NATIVE_ANY }, { "end", NATIVE_ANY } };

const NativeDef lib_list[] = {
    { "append", method_append, x, 1, 1, NATIVE_POSITIONAL, "Appends an item." },
    { "clear", method_clear, NULL, 0, 0, NATIVE_POSITIONAL, "Removes all items." },
    { "extend", method_extend, iterable, 1, 1, NATIVE_POSITIONAL, "Appends all items of an iterable." },
    { "index", method_index, index_params, 3, 1, NATIVE_POSITIONAL, "The index of the first equal item." },
    { "insert", method_insert, insert_params, 2, 2, NATIVE_POSITIONAL, "Inserts an item before the one at the index." },
    { "pop", method_pop, pop_params, 1, 0, NATIVE_POSITIONAL, "Removes and returns the item at the index, or the last one." },
    { "remove", method_remove, x, 1, 1, NATIVE_POSITIONAL, "Removes the first equal item." },
};
const size_t lib_list_n = sizeof lib_list / sizeof lib_list[0];
