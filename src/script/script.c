#include "script/script.h"

#include <math.h>
#include "base/clock.h"
#include "base/utf8.h"
#include "starlark/vm/work.h"
#include "value/int.h"

bool script_unavailable(Vm *vm, const NativeArgs *a, Error *err) {
    const Host *h = script_host(vm);
    return error_set(err, ERR_SCRIPT, "%s is not available %s", a->def->name, h && h->judging ? "in a simulation" : "here");
}

bool script_outcome(const NativeArgs *a, bool ok, Error *err) { return ok || error_wrap(err, "%s", a->def->name); }

const HostCalls *script_calls(Vm *vm) {
    static const HostCalls none = { 0 };
    Host *h = script_host(vm);
    return h && h->calls ? h->calls : &none;
}

bool host_run_program(Host *h, const SandboxCommand *command, Cancel *cancel, SandboxResult *out, Error *err) {
    if (h->calls && h->calls->program) return h->calls->program(h, command, cancel, out, err);
    return sandbox_run(h->sandbox, h->rules, command, cancel, out, err);
}

bool host_log(Host *h, LogLevel level, Str message, Error *err) {
    if (!h) return true;
    if (h->calls && h->calls->log) return h->calls->log(h, level, message, err);
    LOG_WRITE(h->log, level, STR_FMT, STR_ARG(message));
    return true;
}

bool script_charge(Vm *vm, int64_t since, Error *err) {
    int64_t ns = clock_mono_ns() - since;
    return vm_work(vm, ns > 0 ? (size_t)ns / 10 : 0, err);
}

/* ---- arguments ---- */

Str script_arg(const NativeArgs *a, uint32_t i) { return native_given(a, i) ? value_str(a->at[i]) : STR(""); }

double script_number(Value v) { return value_is_float(v) ? value_float(v) : int_to_double(v); }

bool script_arg_seconds(const NativeArgs *a, uint32_t i, double max, int64_t *out, Error *err) {
    if (!native_given(a, i)) return true;
    double seconds = script_number(a->at[i]);
    if (!(seconds >= 0 && seconds <= max))               /* rejects NaN too */
        return error_set(err, ERR_SCRIPT, "for parameter %s: must be between 0 and %.15g", a->def->params[i].name, max);
    return *out = (int64_t)(seconds * 1e9), true;
}

bool script_arg_i64(const NativeArgs *a, uint32_t i, int64_t min, int64_t max, int64_t *out, Error *err) {
    if (!native_given(a, i)) return true;
    int64_t n;
    if (!int_to_i64(a->at[i], &n) || n < min || n > max)
        return error_set(err, ERR_SCRIPT, "for parameter %s: must be between %lld and %lld", a->def->params[i].name, (long long)min,
                         (long long)max);
    return *out = n, true;
}

bool script_named(Vm *vm, const NativeArgs *a, Dict **out, Error *err) {
    Dict *d = dict_new(vm_heap(vm), a->n_named, err);
    for (uint32_t i = 0; d && i < a->n_named; i++)
        if (!dict_put(vm_heap(vm), d, value_from_object(a->named[i].name), a->named[i].value, err)) return false;
    return d && (*out = d, true);
}

/* ---- results ---- */

bool script_text(Vm *vm, Str s, Value *out, Error *err) { return work_string(&(Work){ .vm = vm }, s, out, err); }

bool script_clean(Vm *vm, Str bytes, Value *out, Error *err) {
    size_t valid = utf8_valid_prefix(bytes);
    if (valid == bytes.n) return script_text(vm, bytes, out, err);
    Work w = { .vm = vm };
    Buf text = { 0 };
    bool ok = true;
    while (ok && bytes.n) {
        buf_add(&text, str_sub(bytes, 0, valid));
        if (valid < bytes.n) buf_add_utf8(&text, 0xFFFD);
        ok = work_add(&w, 1 + valid / 32, err) && work_room(&w, &text, 0, err);
        bytes = str_sub(bytes, valid + 1, bytes.n);
        valid = utf8_valid_prefix(bytes);
    }
    ok = ok && script_text(vm, buf_str(&text), out, err);
    buf_clear(&text);
    return ok;
}

ScriptDict script_dict(Vm *vm, Error *err) {
    Dict *d = dict_new(vm_heap(vm), 8, err);
    return (ScriptDict){ vm, d, err, d != NULL };
}

void script_dict_put(ScriptDict *d, const char *key, Value v) {
    d->ok = d->ok && dict_put_str(vm_heap(d->vm), d->dict, str_from(key), v, d->err);
}

void script_dict_text(ScriptDict *d, const char *key, Str s) {
    Value v;
    d->ok = d->ok && script_text(d->vm, s, &v, d->err);
    if (d->ok) script_dict_put(d, key, v);
}

void script_dict_clean(ScriptDict *d, const char *key, Str bytes) {
    Value v;
    d->ok = d->ok && script_clean(d->vm, bytes, &v, d->err);
    if (d->ok) script_dict_put(d, key, v);
}

void script_dict_int(ScriptDict *d, const char *key, int64_t i) {
    Value v;
    d->ok = d->ok && int_make(vm_heap(d->vm), i, &v, d->err);
    if (d->ok) script_dict_put(d, key, v);
}

void script_dict_bool(ScriptDict *d, const char *key, bool b) { script_dict_put(d, key, value_from_bool(b)); }

bool script_dict_end(ScriptDict *d, Value *out) {
    if (d->ok) *out = value_from_object(d->dict);
    return d->ok;
}
