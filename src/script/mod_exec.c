/* The module exec: runs programs in the sandbox. */
#include "base/vec.h"
#include "script/script.h"

static NativeFn exec_run;
static const NativeParam run_params[] = {
    { "cmd", NATIVE_STRING }, { "args", NATIVE_LIST | NATIVE_TUPLE | NATIVE_NONE_IS_ABSENT }, { "timeout_ms", NATIVE_INT | NATIVE_NONE_IS_ABSENT },
    { "stdin", NATIVE_STRING | NATIVE_BYTES | NATIVE_NONE_IS_ABSENT }, { "env", NATIVE_DICT | NATIVE_NONE_IS_ABSENT },
    { "cwd", NATIVE_STRING | NATIVE_NONE_IS_ABSENT },
};

const NativeDef script_exec[] = {
    { "exec.run", exec_run, SCRIPT_PARAMS(run_params), 1, SCRIPT_FN,
      "Runs a program, without a shell, in the sandbox: {stdout, stderr, exit_code, timed_out, truncated}. timeout_ms defaults to 30000." },
};
const size_t script_exec_n = sizeof script_exec / sizeof *script_exec;

enum { TIMEOUT_MS = 30000, ARGS_MAX = 10000, ENV_MAX = 1000 };
#define TIMEOUT_MS_MAX (INT64_MAX / 1000000)

/* The parts of one command; all text is in `arena`. */
typedef struct { Arena arena; VEC(const char *) argv, env; SandboxCommand command; } Run;

static bool text_of(Run *r, Value v, const char *what, const char **out, Error *err) {
    if (!value_is_string(v)) return error_set(err, ERR_SCRIPT, "for parameter %s: got %s, want string", what, value_type_name(v));
    Str s = value_str(v);
    if (str_find_char(s, 0) >= 0) return error_set(err, ERR_SCRIPT, "for parameter %s: contains a NUL character", what);
    return *out = arena_str(&r->arena, s).at, true;
}

static bool take_args(Run *r, const NativeArgs *a, Error *err) {
    const char *text;
    if (!text_of(r, a->at[0], "cmd", &text, err)) return false;
    if (!*text) return error_set(err, ERR_SCRIPT, "for parameter cmd: is empty");
    VEC_PUSH(&r->argv, text);
    bool given = native_given(a, 1), list = given && value_is_list(a->at[1]);
    const Value *at = !given ? NULL : list ? value_list(a->at[1])->at : value_tuple(a->at[1])->at;
    uint32_t n = !given ? 0 : list ? value_list(a->at[1])->n : value_tuple(a->at[1])->n;
    if (n > ARGS_MAX) return error_set(err, ERR_LIMIT, "too many arguments (limit %d)", ARGS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        if (!text_of(r, at[i], "args", &text, err)) return false;
        VEC_PUSH(&r->argv, text);
    }
    VEC_PUSH(&r->argv, NULL);
    return true;
}

/* The host's variables come first, so that variables set by the script override them. */
static bool take_env(Run *r, const Host *h, const NativeArgs *a, Error *err) {
    for (size_t i = 0; h->child_env && h->child_env[i]; i++) VEC_PUSH(&r->env, h->child_env[i]);
    Entry *e;
    if (native_given(a, 4) && value_dict(a->at[4])->n > ENV_MAX) return error_set(err, ERR_LIMIT, "too many variables (limit %d)", ENV_MAX);
    for (uint32_t i = 0; native_given(a, 4) && dict_next(value_dict(a->at[4]), &i, &e);) {
        const char *name, *value;
        if (!text_of(r, e->key, "env", &name, err) || !text_of(r, e->value, "env", &value, err)) return false;
        if (!*name || strchr(name, '=')) return error_set(err, ERR_SCRIPT, "for parameter env: not a name: \"%.100s\"", name);
        VEC_PUSH(&r->env, arena_fmt(&r->arena, "%s=%s", name, value));
    }
    VEC_PUSH(&r->env, NULL);
    return true;
}

static bool take_cwd(Run *r, const Host *h, const NativeArgs *a, Error *err) {
    JailPlace place;
    JailStat st;
    if (!native_given(a, 5)) return true;
    if (!h->jail) return error_set(err, ERR_SCRIPT, "for parameter cwd: not available here");
    if (!jail_place(h->jail, script_arg(a, 5), false, &r->arena, &place, err) || !jail_stat(h->jail, script_arg(a, 5), &st, err)) return false;
    if (st.type != 'd') return error_set(err, ERR_SCRIPT, STR_FMT ": not a folder", STR_ARG(script_arg(a, 5)));
    return r->command.cwd = place.absolute.at, true;
}

static bool prepare(Run *r, const Host *h, const NativeArgs *a, Error *err) {
    int64_t timeout = TIMEOUT_MS;
    if (!script_arg_i64(a, 2, 0, TIMEOUT_MS_MAX, &timeout, err)) return false;
    if (!take_args(r, a, err) || !take_env(r, h, a, err) || !take_cwd(r, h, a, err)) return false;
    r->command.argv = r->argv.at;
    r->command.env = r->env.at;
    r->command.input = script_arg(a, 3);
    r->command.timeout_ms = timeout;
    return true;
}

static bool result_value(Vm *vm, const SandboxResult *res, Value *out, Error *err) {
    ScriptDict d = script_dict(vm, err);
    script_dict_clean(&d, "stdout", buf_str(&res->out));
    script_dict_clean(&d, "stderr", buf_str(&res->err));
    script_dict_int(&d, "exit_code", res->exit_code);
    script_dict_bool(&d, "timed_out", res->timed_out);
    script_dict_bool(&d, "truncated", res->out_truncated || res->err_truncated);
    return script_dict_end(&d, out);
}

static bool exec_run(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Host *h = script_host(vm);
    if (!h || !h->sandbox || !h->rules) return error_set(err, ERR_SCRIPT, "not available here");
    Run r = { 0 };
    SandboxResult res = { 0 };
    bool ok = prepare(&r, h, a, err) && host_run_program(h, &r.command, vm_cancel(vm), &res, err);
    if (ok && sandbox_result_limit(&res)) ok = error_set(err, ERR_LIMIT, "%s: %s", r.argv.at[0], sandbox_result_limit(&res));
    ok = ok && result_value(vm, &res, out, err);
    sandbox_result_clear(&res);
    VEC_CLEAR(&r.argv);
    VEC_CLEAR(&r.env);
    arena_clear(&r.arena);
    return ok;
}
