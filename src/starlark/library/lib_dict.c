/* Methods of dicts. */
#include "starlark/vm/iter.h"
#include "starlark/vm/lib.h"
#include "starlark/vm/setops.h"
#include "starlark/vm/universe.h"

static Dict *self(const NativeArgs *a) { return value_dict(a->self); }

/* ---- filling ---- */

/* The two items of element #i of a sequence of pairs. */
static bool pair_of(Vm *vm, Value v, uint32_t i, Value pair[2], Error *err) {
    const char *what = "dictionary update sequence element";
    Iter it;
    if (!iter_is_iterable(v)) return error_set(err, ERR_SCRIPT, "%s #%u is not iterable (%s)", what, i, value_type_name(v));
    ptrdiff_t n = iter_length(v);
    if (n < 0) return error_set(err, ERR_SCRIPT, "%s #%u has unknown length (%s)", what, i, value_type_name(v));
    if (n != 2) return error_set(err, ERR_SCRIPT, "%s #%u has length %td, want 2", what, i, n);
    if (!iter_begin(vm, &it, v, err)) return false;
    bool both = iter_next(&it, &pair[0]) && iter_next(&it, &pair[1]);
    if (!iter_end(&it)) return false;
    return both || error_set(err, ERR_SCRIPT, "%s #%u has less than 2 items", what, i);
}

static bool put_pairs(Vm *vm, Dict *d, Iter *it, Error *err) {
    Value item, pair[2];
    for (uint32_t i = 0; iter_next(it, &item); i++) {
        if (value_is_tuple(item) && value_tuple(item)->n == 2) memcpy(pair, value_tuple(item)->at, sizeof pair);
        else if (!pair_of(vm, item, i, pair, err)) return false;
        if (!dict_put(vm_heap(vm), d, pair[0], pair[1], err) || !lib_tick(vm, i, err)) return false;
    }
    return true;
}

static bool fill_from(Vm *vm, Dict *d, Value from, Error *err) {
    if (value_is_dict(from)) return setops_dict_update(vm, d, value_dict(from), err);
    Iter it;
    if (!iter_begin(vm, &it, from, err)) return false;
    bool ok = put_pairs(vm, d, &it, err);
    return iter_end(&it) && ok;
}

/* A keyword may occur twice: f(a=1, **{"a": 2}). */
static bool keywords_differ(Vm *vm, const NativeArgs *a, Error *err) {
    Dict *seen = set_new(vm_heap(vm), a->n_named, err);
    for (uint32_t i = 0; i < a->n_named; i++) {
        Value *at, name = value_from_object(a->named[i].name);
        bool fresh;
        if (!seen || !dict_insert(vm_heap(vm), seen, name, VALUE_NONE, &at, &fresh, err)) return false;
        if (!fresh) return error_set(err, ERR_SCRIPT, "duplicate keyword arg: \"" STR_FMT "\"", STR_ARG(value_str(name)));
    }
    return true;
}

bool lib_dict_fill(Vm *vm, Dict *d, const NativeArgs *a, Error *err) {
    if (a->n > 1) return error_set(err, ERR_SCRIPT, "got %u arguments, want at most 1", a->n);
    if (a->n == 1 && !fill_from(vm, d, a->at[0], err)) return false;
    uint32_t before = d->n;
    for (uint32_t i = 0; i < a->n_named; i++)
        if (!dict_put(vm_heap(vm), d, value_from_object(a->named[i].name), a->named[i].value, err)) return false;
    return d->n == before + a->n_named || keywords_differ(vm, a, err);   /* usually each keyword is a new key */
}

/* ---- methods ---- */

static bool method_clear(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)vm, (void)out;
    return dict_clear(self(a), err);
}

static bool method_get(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)vm;
    Value *found;
    if (!dict_get(self(a), a->at[0], &found, err)) return false;
    *out = found ? *found : native_given(a, 1) ? a->at[1] : VALUE_NONE;
    return true;
}

static List *list_for(Vm *vm, const Dict *d, Error *err) {
    return vm_work(vm, d->used / 8 + 1, err) ? list_new(vm_heap(vm), d->n, err) : NULL;
}

static bool method_items(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    const Dict *d = self(a);
    List *l = list_for(vm, d, err);
    if (!l) return false;
    Entry *e;
    for (uint32_t i = 0; dict_next(d, &i, &e);) {
        Tuple *pair = tuple_new(vm_heap(vm), 2, err);
        if (!pair || !lib_tick(vm, i, err)) return false;
        pair->at[0] = e->key;
        pair->at[1] = e->value;
        l->at[l->n++] = value_from_object(pair);
    }
    return *out = value_from_object(l), true;
}

static bool method_keys(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    List *l;
    return iter_to_list(vm, a->self, &l, err) && (*out = value_from_object(l), true);
}

static bool method_values(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    const Dict *d = self(a);
    List *l = list_for(vm, d, err);
    if (!l) return false;
    Entry *e;
    for (uint32_t i = 0; dict_next(d, &i, &e);) l->at[l->n++] = e->value;
    return *out = value_from_object(l), true;
}

static bool method_pop(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)vm;
    Value v;
    if (!dict_remove(self(a), a->at[0], &v, err)) return false;
    if (value_is_gone(v) && !native_given(a, 1)) return error_set(err, ERR_SCRIPT, "missing key");
    return *out = value_is_gone(v) ? a->at[1] : v, true;
}

static bool method_popitem(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Dict *d = self(a);
    Entry *e;
    uint32_t i = d->first;                              /* the oldest entry */
    if (d->n == 0 || !dict_next(d, &i, &e)) return error_set(err, ERR_SCRIPT, "empty dict");
    if (!dict_check_mutable(d, "delete from", err)) return false;
    Tuple *pair = tuple_new(vm_heap(vm), 2, err);
    if (!pair) return false;
    pair->at[0] = e->key;
    return dict_remove(d, e->key, &pair->at[1], err) && (*out = value_from_object(pair), true);
}

static bool method_setdefault(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Dict *d = self(a);
    Value v = native_given(a, 1) ? a->at[1] : VALUE_NONE, *at;
    bool fresh;
    if (object_frozen(&d->obj) || d->busy) {            /* allowed as long as nothing changes */
        if (!dict_get(d, a->at[0], &at, err)) return false;
        return at ? (*out = *at, true) : dict_check_mutable(d, "insert into", err);
    }
    return dict_insert(vm_heap(vm), d, a->at[0], v, &at, &fresh, err) && (*out = *at, true);
}

static bool method_update(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    return lib_dict_fill(vm, self(a), a, err);
}

static const NativeParam key_default[] = { { "key", NATIVE_ANY }, { "default", NATIVE_ANY } };

const NativeDef lib_dict[] = {
    { "clear", method_clear, NULL, 0, 0, NATIVE_POSITIONAL, "Removes all entries." },
    { "get", method_get, key_default, 2, 1, NATIVE_POSITIONAL, "The value of a key, or the default, or None." },
    { "items", method_items, NULL, 0, 0, NATIVE_POSITIONAL, "A list of (key, value) pairs." },
    { "keys", method_keys, NULL, 0, 0, NATIVE_POSITIONAL, "A list of the keys." },
    { "pop", method_pop, key_default, 2, 1, NATIVE_POSITIONAL, "Removes a key and returns its value, or the default." },
    { "popitem", method_popitem, NULL, 0, 0, NATIVE_POSITIONAL, "Removes and returns the oldest (key, value) pair." },
    { "setdefault", method_setdefault, key_default, 2, 1, NATIVE_POSITIONAL, "The value of a key, which is inserted if absent." },
    { "update", method_update, NULL, 0, 0, NATIVE_VARIADIC, "Adds entries of a mapping or of pairs, then the keywords." },
    { "values", method_values, NULL, 0, 0, NATIVE_POSITIONAL, "A list of the values." },
};
const size_t lib_dict_n = sizeof lib_dict / sizeof lib_dict[0];
