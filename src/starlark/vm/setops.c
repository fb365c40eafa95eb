#include "starlark/vm/setops.h"

#include "starlark/vm/lib.h"

static bool add_all(Vm *vm, Dict *to, const Dict *from, Error *err) {
    Entry *e;
    Value *at;
    bool fresh;
    for (uint32_t i = 0; dict_next(from, &i, &e);)
        if (!dict_insert(vm_heap(vm), to, e->key, VALUE_NONE, &at, &fresh, err) || !lib_tick(vm, i, err)) return false;
    return true;
}

static bool copy(Vm *vm, const Dict *d, Dict **out, Error *err) {
    return vm_work(vm, d->n, err) && dict_copy(vm_heap(vm), d, out, err);
}

bool setops_union(Vm *vm, const Dict *a, const Dict *b, Dict **out, Error *err) {
    Dict *s;
    return copy(vm, a, &s, err) && add_all(vm, s, b, err) && (*out = s, true);
}

/* Copies the members of `from` whose membership in `other` equals `wanted`. */
static bool pick(Vm *vm, const Dict *from, const Dict *other, bool wanted, Dict *to, Error *err) {
    Entry *e;
    for (uint32_t i = 0; dict_next(from, &i, &e);) {
        Value *found;
        if (!dict_get(other, e->key, &found, err) || !lib_tick(vm, i, err)) return false;
        if ((found != NULL) == wanted && !dict_put(vm_heap(vm), to, e->key, VALUE_NONE, err)) return false;
    }
    return true;
}

static bool pick_new(Vm *vm, const Dict *from, const Dict *other, bool wanted, Dict **out, Error *err) {
    Dict *s = set_new(vm_heap(vm), 0, err);
    return s && pick(vm, from, other, wanted, s, err) && (*out = s, true);
}

bool setops_intersection(Vm *vm, const Dict *a, const Dict *b, Dict **out, Error *err) {
    return pick_new(vm, b, a, true, out, err);
}

bool setops_difference(Vm *vm, const Dict *a, const Dict *b, Dict **out, Error *err) {
    return pick_new(vm, a, b, false, out, err);
}

bool setops_symmetric_difference(Vm *vm, const Dict *a, const Dict *b, Dict **out, Error *err) {
    Dict *s;
    return pick_new(vm, a, b, false, &s, err) && pick(vm, b, a, false, s, err) && (*out = s, true);
}

bool setops_subset(Vm *vm, const Dict *a, const Dict *b, bool *out, Error *err) {
    Entry *e;
    if (a->n > b->n) return *out = false, true;
    for (uint32_t i = 0; dict_next(a, &i, &e);) {
        Value *found;
        if (!dict_get(b, e->key, &found, err) || !lib_tick(vm, i, err)) return false;
        if (!found) return *out = false, true;
    }
    return *out = true, true;
}

bool setops_compare(Vm *vm, const char *op, const Dict *a, const Dict *b, bool *out, Error *err) {
    bool proper = op[1] == 0;
    if (op[0] == '>') { const Dict *t = a; a = b; b = t; }
    if (proper && a->n == b->n) return *out = false, true;
    return setops_subset(vm, a, b, out, err);
}

bool setops_update(Vm *vm, char op, Dict *s, const Dict *t, Error *err) {
    Dict *result;
    if (op == '|') return add_all(vm, s, t, err);
    bool ok = op == '&' ? setops_intersection(vm, s, t, &result, err)
            : op == '-' ? setops_difference(vm, s, t, &result, err) : setops_symmetric_difference(vm, s, t, &result, err);
    return ok && dict_clear(s, err) && add_all(vm, s, result, err);
}

bool setops_dict_update(Vm *vm, Dict *d, const Dict *from, Error *err) {
    Entry *e;
    for (uint32_t i = 0; dict_next(from, &i, &e);)        /* if `from` is d itself, no entry is new and nothing moves */
        if (!dict_put(vm_heap(vm), d, e->key, e->value, err) || !lib_tick(vm, i, err)) return false;
    return true;
}

bool setops_dict_union(Vm *vm, const Dict *a, const Dict *b, Dict **out, Error *err) {
    Dict *d;
    return copy(vm, a, &d, err) && setops_dict_update(vm, d, b, err) && (*out = d, true);
}
