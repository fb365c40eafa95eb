/* env, sleep, random and assert: functions without a module. */
#include <stdlib.h>
#include "base/random.h"
#include "script/script.h"
#include "starlark/vm/repr.h"
#include "value/int.h"

static NativeFn misc_env, misc_sleep, misc_random, misc_assert;
static const NativeParam env_params[] = { { "key", NATIVE_STRING } };
static const NativeParam sleep_params[] = { { "seconds", NATIVE_INT | NATIVE_FLOAT } };
static const NativeParam random_params[] = { { "min", NATIVE_INT }, { "max", NATIVE_INT } };
static const NativeParam assert_params[] = { { "cond", NATIVE_ANY }, { "msg", NATIVE_ANY } };

const NativeDef script_misc[] = {
    { "env", misc_env, SCRIPT_PARAMS(env_params), 1, SCRIPT_FN,
      "The value of an environment variable that sandbox.env_allow lists; \"\" when it is not set, or not listed (with a warning in the log)." },
    { "sleep", misc_sleep, SCRIPT_PARAMS(sleep_params), 1, SCRIPT_FN, "Waits for the given number of seconds; a timeout of the call ends it early." },
    { "random", misc_random, SCRIPT_PARAMS(random_params), 2, SCRIPT_FN, "A random int from min to max, both included." },
    { "assert", misc_assert, SCRIPT_PARAMS(assert_params), 1, SCRIPT_FN | NATIVE_PLAIN_ERRORS, "Fails with \"assertion failed: msg\" unless cond is true." },
};
const size_t script_misc_n = sizeof script_misc / sizeof *script_misc;

static bool listed(const Host *h, Str name) {
    for (size_t i = 0; h && i < h->env_allow.n; i++)
        if (str_eq(h->env_allow.at[i], name)) return true;
    return false;
}

static bool misc_env(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Host *h = script_host(vm);
    Str name = script_arg(a, 0);
    if (h && h->judging) return error_set(err, ERR_SCRIPT, "not available in a simulation");
    if (listed(h, name)) {
        char *text = str_dup(name);
        const char *value = getenv(text);
        bool ok = script_clean(vm, str_from(value ? value : ""), out, err);
        return free(text), ok;
    }
    Buf warning = { 0 };
    buf_add_fmt(&warning, "env: " STR_FMT " is not in sandbox.env_allow, so scripts cannot read it", STR_ARG(str_sub(name, 0, 200)));
    bool ok = vm_count_output(vm, warning.n, err) && host_log(h, LOG_WARN, buf_str(&warning), err) && script_text(vm, STR(""), out, err);
    buf_clear(&warning);
    return ok;
}

static bool misc_sleep(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    int64_t ns = 0;
    return script_arg_seconds(a, 0, 1e6, &ns, err) && cancel_sleep(vm_cancel(vm), ns, err);
}

static bool misc_random(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    int64_t min, max;
    if (!native_arg_i64(a, 0, &min, err) || !native_arg_i64(a, 1, &max, err)) return false;
    if (min > max) return error_set(err, ERR_SCRIPT, "min is greater than max");
    uint64_t range = (uint64_t)max - (uint64_t)min + 1;  /* 0: all 64 bits */
    uint64_t offset = range ? random_below(range) : random_u64();
    return int_make(vm_heap(vm), (int64_t)((uint64_t)min + offset), out, err);
}

static bool misc_assert(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)out;
    if (value_truth(a->at[0])) return true;
    if (!native_given(a, 1)) return error_set(err, ERR_SCRIPT, "assertion failed");
    Buf text = { 0 };
    if (repr_str(vm, &text, a->at[1], err)) error_set(err, ERR_SCRIPT, "assertion failed: " STR_FMT, STR_ARG(buf_str(&text)));
    buf_clear(&text);
    return false;
}
