/* The module time. */
#include "base/clock.h"
#include "script/script.h"
#include "value/int.h"

static NativeFn time_now, time_unix;

const NativeDef script_time[] = {
    { "time.now", time_now, SCRIPT_NO_PARAMS, 0, SCRIPT_FN, "The time in UTC as RFC 3339 with nanoseconds: \"2026-01-02T03:04:05.000000006Z\"." },
    { "time.unix", time_unix, SCRIPT_NO_PARAMS, 0, SCRIPT_FN, "Whole seconds since 1970, as an int." },
};
const size_t script_time_n = sizeof script_time / sizeof *script_time;

static bool time_now(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)a;
    char text[CLOCK_TEXT_SIZE];
    clock_format(clock_wall_ns(), text);
    return script_text(vm, str_from(text), out, err);
}

static bool time_unix(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)a;
    return int_make(vm_heap(vm), clock_wall_ns() / 1000000000, out, err);
}
