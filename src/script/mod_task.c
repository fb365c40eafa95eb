/* The module task: background tasks, which src/tool/ manages. */
#include "script/script.h"

static NativeFn task_poll, task_await, task_cancel;
static const NativeParam id[] = { { "id", NATIVE_STRING } };
static const NativeParam await_params[] = { { "id", NATIVE_STRING }, { "timeout_ms", NATIVE_INT | NATIVE_NONE_IS_ABSENT } };

enum { TASK_FN = SCRIPT_FN | NATIVE_PLAIN_ERRORS };
const NativeDef script_task[] = {
    { "task.poll", task_poll, SCRIPT_PARAMS(id), 1, TASK_FN, "The state of a background task, with its result when it has finished." },
    { "task.await", task_await, SCRIPT_PARAMS(await_params), 1, TASK_FN,
        "Waits for a background task, at most timeout_ms; then returns the same as task.poll." },
    { "task.cancel", task_cancel, SCRIPT_PARAMS(id), 1, TASK_FN, "Ends a background task." },
};
const size_t script_task_n = sizeof script_task / sizeof *script_task;

static bool task(Vm *vm, const NativeArgs *a, HostTask what, int64_t timeout_ms, Value *out, Error *err) {
    if (!script_calls(vm)->task) return script_unavailable(vm, a, err);
    return script_outcome(a, script_calls(vm)->task(script_host(vm), what, script_arg(a, 0), timeout_ms, vm_heap(vm), out, err), err);
}

static bool task_poll(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return task(vm, a, HOST_TASK_POLL, 0, out, err); }
static bool task_cancel(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return task(vm, a, HOST_TASK_CANCEL, 0, out, err); }

static bool task_await(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    int64_t timeout_ms = -1;
    if (!script_arg_i64(a, 1, 0, INT64_MAX / 1000000, &timeout_ms, err)) return script_outcome(a, false, err);
    return task(vm, a, HOST_TASK_AWAIT, timeout_ms, out, err);
}
