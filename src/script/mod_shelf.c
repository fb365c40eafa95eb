/* The modules cache, ctx and metrics: values that outlive calls (script/shelf.h). */
#include "base/clock.h"
#include "script/script.h"
#include "value/int.h"

static NativeFn shelf_fn_get, shelf_fn_set, shelf_fn_has, shelf_fn_delete, shelf_fn_clear, shelf_fn_snapshot;
static NativeFn metrics_incr, metrics_set, metrics_get, metrics_reset, metrics_snapshot;
static const NativeParam get_params[] = { { "k", NATIVE_STRING }, { "default", NATIVE_ANY } };
static const NativeParam set_params[] = { { "k", NATIVE_STRING }, { "v", NATIVE_ANY } };
static const NativeParam key[] = { { "k", NATIVE_STRING } };
static const NativeParam incr_params[] = { { "name", NATIVE_STRING }, { "delta", NATIVE_INT | NATIVE_FLOAT } };
static const NativeParam number_params[] = { { "name", NATIVE_STRING }, { "value", NATIVE_INT | NATIVE_FLOAT } };
static const NativeParam name[] = { { "name", NATIVE_STRING } };
static const NativeParam maybe_name[] = { { "name", NATIVE_STRING | NATIVE_NONE_IS_ABSENT } };

const NativeDef script_cache[] = {
    { "cache.get", shelf_fn_get, SCRIPT_PARAMS(get_params), 1, SCRIPT_FN, "A copy of the value of k in this run, or the default (None)." },
    { "cache.set", shelf_fn_set, SCRIPT_PARAMS(set_params), 2, SCRIPT_FN, "Stores a copy of v, which must have a JSON form, for the rest of the run." },
    { "cache.has", shelf_fn_has, SCRIPT_PARAMS(key), 1, SCRIPT_FN, "True if k has a value." },
    { "cache.delete", shelf_fn_delete, SCRIPT_PARAMS(key), 1, SCRIPT_FN, "Deletes k; returns True if it existed." },
    { "cache.clear", shelf_fn_clear, SCRIPT_NO_PARAMS, 0, SCRIPT_FN, "Deletes everything." },
};
const size_t script_cache_n = sizeof script_cache / sizeof *script_cache;

const NativeDef script_ctx[] = {
    { "ctx.get", shelf_fn_get, SCRIPT_PARAMS(get_params), 1, SCRIPT_FN, "A copy of the value of k in this turn, or the default (None)." },
    { "ctx.set", shelf_fn_set, SCRIPT_PARAMS(set_params), 2, SCRIPT_FN, "Stores a copy of v, which must have a JSON form, for the rest of the turn." },
    { "ctx.has", shelf_fn_has, SCRIPT_PARAMS(key), 1, SCRIPT_FN, "True if k has a value." },
    { "ctx.delete", shelf_fn_delete, SCRIPT_PARAMS(key), 1, SCRIPT_FN, "Deletes k; returns True if it existed." },
    { "ctx.clear", shelf_fn_clear, SCRIPT_NO_PARAMS, 0, SCRIPT_FN, "Deletes everything." },
    { "ctx.snapshot", shelf_fn_snapshot, SCRIPT_NO_PARAMS, 0, SCRIPT_FN, "A dict of everything, sorted by key." },
};
const size_t script_ctx_n = sizeof script_ctx / sizeof *script_ctx;

const NativeDef script_metrics[] = {
    { "metrics.incr", metrics_incr, SCRIPT_PARAMS(incr_params), 1, SCRIPT_FN, "Adds delta (default 1) to a number of the run; returns the sum." },
    { "metrics.set", metrics_set, SCRIPT_PARAMS(number_params), 2, SCRIPT_FN, "Sets a number of the run." },
    { "metrics.get", metrics_get, SCRIPT_PARAMS(name), 1, SCRIPT_FN, "A number of the run; 0 if it was never set." },
    { "metrics.reset", metrics_reset, SCRIPT_PARAMS(maybe_name), 0, SCRIPT_FN, "Deletes one number, or all of them." },
    { "metrics.snapshot", metrics_snapshot, SCRIPT_NO_PARAMS, 0, SCRIPT_FN, "A dict of all numbers, sorted by name." },
};
const size_t script_metrics_n = sizeof script_metrics / sizeof *script_metrics;

#define IS_OF(def, module) ((def) >= script_##module && (def) < script_##module + script_##module##_n)

/* cache and ctx have the same functions; the table that contains a function determines which of the two it uses. */
static bool shelf_of(Vm *vm, const NativeArgs *a, Shelf **out, Error *err) {
    Host *h = script_host(vm);
    Shelf *s = !h ? NULL : IS_OF(a->def, metrics) ? h->metrics : IS_OF(a->def, cache) ? h->cache : h->ctx;
    if (!s) return error_set(err, ERR_SCRIPT, "not available here");
    return *out = s, true;
}

static bool shelf_fn_get(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Shelf *s;
    Value v;
    int64_t since = clock_mono_ns();
    if (!shelf_of(vm, a, &s, err) || !shelf_get(s, script_arg(a, 0), vm_heap(vm), &v, err) || !script_charge(vm, since, err)) return false;
    if (!value_is_gone(v)) *out = v;
    else if (native_given(a, 1)) *out = a->at[1];
    return true;
}

static bool shelf_fn_set(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    Shelf *s;
    int64_t since = clock_mono_ns();
    return shelf_of(vm, a, &s, err) && shelf_set(s, script_arg(a, 0), a->at[1], err) && script_charge(vm, since, err);
}

static bool shelf_fn_has(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Shelf *s;
    return shelf_of(vm, a, &s, err) && (*out = value_from_bool(shelf_has(s, script_arg(a, 0))), true);
}

static bool shelf_fn_delete(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Shelf *s;
    return shelf_of(vm, a, &s, err) && (*out = value_from_bool(shelf_delete(s, script_arg(a, 0))), true);
}

static bool shelf_fn_clear(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    Shelf *s;
    return shelf_of(vm, a, &s, err) && (shelf_clear(s), true);
}

static bool shelf_fn_snapshot(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Shelf *s;
    int64_t since = clock_mono_ns();
    return shelf_of(vm, a, &s, err) && shelf_snapshot(s, vm_heap(vm), out, err) && script_charge(vm, since, err);
}

static bool metrics_incr(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Shelf *s;
    Value delta = native_given(a, 1) ? a->at[1] : value_from_small(1);
    return shelf_of(vm, a, &s, err) && shelf_add(s, script_arg(a, 0), delta, vm_heap(vm), out, err);
}

static bool metrics_set(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return shelf_fn_set(vm, a, out, err); }

static bool metrics_get(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Shelf *s;
    Value v;
    if (!shelf_of(vm, a, &s, err) || !shelf_get(s, script_arg(a, 0), vm_heap(vm), &v, err)) return false;
    return *out = value_is_gone(v) ? value_from_small(0) : v, true;
}

static bool metrics_reset(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    Shelf *s;
    if (!shelf_of(vm, a, &s, err)) return false;
    if (native_given(a, 0)) shelf_delete(s, script_arg(a, 0));
    else shelf_clear(s);
    return true;
}

static bool metrics_snapshot(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return shelf_fn_snapshot(vm, a, out, err); }
