/* The module os. */
#include <unistd.h>
#include "script/script.h"

static NativeFn os_cwd, os_hostname, os_platform, os_args;

const NativeDef script_os[] = {
    { "os.cwd", os_cwd, SCRIPT_NO_PARAMS, 0, SCRIPT_FN, "The workspace, as an absolute path." },
    { "os.hostname", os_hostname, SCRIPT_NO_PARAMS, 0, SCRIPT_FN, "The name of this machine." },
    { "os.platform", os_platform, SCRIPT_NO_PARAMS, 0, SCRIPT_FN, "\"linux\"." },
    { "os.args", os_args, SCRIPT_NO_PARAMS, 0, SCRIPT_FN, "The operands harness was started with, as a list of strings." },
};
const size_t script_os_n = sizeof script_os / sizeof *script_os;

static bool os_cwd(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)a;
    Host *h = script_host(vm);
    return script_clean(vm, h ? h->workspace : STR(""), out, err);
}

static bool os_hostname(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)a;
    char name[256] = "";
    if (gethostname(name, sizeof name - 1) != 0) return error_set(err, ERR_IO, "%m");
    return script_clean(vm, str_from(name), out, err);
}

static bool os_platform(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)a;
    return script_text(vm, STR("linux"), out, err);
}

static bool os_args(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    (void)a;
    Host *h = script_host(vm);
    List *l = list_new(vm_heap(vm), 0, err);
    for (size_t i = 0; l && h && i < h->args.n; i++) {
        Value v;
        if (!script_clean(vm, h->args.at[i], &v, err) || !list_push(vm_heap(vm), l, v, err)) return false;
    }
    return l && (*out = value_from_object(l), true);
}
