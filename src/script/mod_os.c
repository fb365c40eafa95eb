/* The module os, and env(). */
#include <stdlib.h>
#include <unistd.h>
#include "script/script.h"

static NativeFn os_cwd, os_hostname, os_platform, os_args, os_env;
static const NativeParam env_params[] = { { "key", NATIVE_STRING } };

const NativeDef script_os[] = {
    { "os.cwd", os_cwd, SCRIPT_NO_PARAMS, 0, SCRIPT_FN, "The workspace, as an absolute path." },
    { "os.hostname", os_hostname, SCRIPT_NO_PARAMS, 0, SCRIPT_FN, "The name of this machine." },
    { "os.platform", os_platform, SCRIPT_NO_PARAMS, 0, SCRIPT_FN, "\"linux\"." },
    { "os.args", os_args, SCRIPT_NO_PARAMS, 0, SCRIPT_FN, "The operands harness was started with, as a list of strings." },
    { "env", os_env, SCRIPT_PARAMS(env_params), 1, SCRIPT_FN,
      "The value of an environment variable that sandbox.env_allow lists; \"\" when it is not set, or not listed (with a warning in the log)." },
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

static bool listed(const Host *h, Str name) {
    for (size_t i = 0; h && i < h->env_allow.n; i++)
        if (str_eq(h->env_allow.at[i], name)) return true;
    return false;
}

static bool os_env(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Host *h = script_host(vm);
    Str name = script_arg(a, 0);
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
