/* The module log, which is also callable. Its output counts towards the limit of print(). */
#include "script/script.h"
#include "starlark/vm/repr.h"

static NativeFn log_info, log_warn, log_error, log_debug;
static const NativeParam message[] = { { "msg", NATIVE_ANY } };

const NativeDef script_log[] = {
    { "log.info", log_info, SCRIPT_PARAMS(message), 1, SCRIPT_FN, "Writes a line to the log and to the run's events." },
    { "log.warn", log_warn, SCRIPT_PARAMS(message), 1, SCRIPT_FN, "The same, as a warning." },
    { "log.error", log_error, SCRIPT_PARAMS(message), 1, SCRIPT_FN, "The same, as an error." },
    { "log.debug", log_debug, SCRIPT_PARAMS(message), 1, SCRIPT_FN, "The same, at debug level." },
    { "log", log_info, SCRIPT_PARAMS(message), 1, SCRIPT_FN, "As log.info." },
};
const size_t script_log_n = sizeof script_log / sizeof *script_log;

static bool write_line(Vm *vm, const NativeArgs *a, LogLevel level, Error *err) {
    Buf text = { 0 };
    bool ok = repr_str(vm, &text, a->at[0], err) && vm_count_output(vm, text.n, err) &&
              host_log(script_host(vm), level, buf_str(&text), err);
    buf_clear(&text);
    return ok;
}

static bool log_info(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return (void)out, write_line(vm, a, LOG_INFO, err); }
static bool log_warn(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return (void)out, write_line(vm, a, LOG_WARN, err); }
static bool log_error(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return (void)out, write_line(vm, a, LOG_ERROR, err); }
static bool log_debug(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return (void)out, write_line(vm, a, LOG_DEBUG, err); }
