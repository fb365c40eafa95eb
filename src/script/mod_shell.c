/* The module shell: the parser of the shell/ room, for guards. */
#include "script/script.h"
#include "shell/shell.h"
#include "starlark/vm/work.h"
#include "value/list.h"

static NativeFn shell_parse;
static const NativeParam parse_params[] = { { "text", NATIVE_STRING } };

const NativeDef script_shell[] = {
    { "shell.parse", shell_parse, SCRIPT_PARAMS(parse_params), 1, SCRIPT_FN,
      "The simple commands of shell text, without running anything: a list of {program, args, exact, redirects}. Finds those in lists, pipelines, "
      "substitutions and functions, in the text of sh -c and eval, and after wrappers such as env, sudo and xargs. program is the base name; it and each "
      "item of args are None if they are unknown before the command runs. exact: all of it is known. redirects: a list of {op, fd, target}. Text that "
      "cannot be parsed ends with a command that is not exact and has no program." },
};
const size_t script_shell_n = sizeof script_shell / sizeof *script_shell;

static bool is_known(const ShellWord *w) { return w->exact || (w->pattern && !memchr(w->text.at, SHELL_UNKNOWN, w->text.n)); }

static bool word_value(Vm *vm, const ShellWord *w, Value *out, Error *err) {
    if (!is_known(w)) return *out = VALUE_NONE, true;
    return script_clean(vm, w->text, out, err);
}

static const char *redirect_op(ShellRedirectKind kind) {
    static const char *const names[] = { [SHELL_READ] = "<", [SHELL_WRITE] = ">", [SHELL_APPEND] = ">>", [SHELL_READ_WRITE] = "<>", [SHELL_HEREDOC] = "<<",
                                         [SHELL_HERESTRING] = "<<<", [SHELL_DUPLICATE] = ">&" };
    return names[kind];
}

static bool redirects_value(Vm *vm, const ShellCommand *c, Value *out, Error *err) {
    Heap *h = vm_heap(vm);
    List *l = list_new(h, c->redirects_n, err);
    for (size_t i = 0; l && i < c->redirects_n; i++) {
        const ShellRedirect *r = &c->redirects[i];
        Value target, item;
        if (!word_value(vm, &r->target, &target, err)) return false;
        ScriptDict d = script_dict(vm, err);
        script_dict_text(&d, "op", str_from(redirect_op(r->kind)));
        if (r->fd < 0) script_dict_put(&d, "fd", VALUE_NONE);
        else script_dict_int(&d, "fd", r->fd);
        script_dict_put(&d, "target", target);
        if (!script_dict_end(&d, &item) || !list_push(h, l, item, err)) return false;
    }
    return l && (*out = value_from_object(l), true);
}

static bool args_value(Vm *vm, const ShellCommand *c, Value *out, bool *exact, Error *err) {
    Heap *h = vm_heap(vm);
    List *l = list_new(h, c->words_n, err);
    for (size_t i = 1; l && i < c->words_n; i++) {
        Value v;
        *exact &= c->words[i].exact;
        if (!word_value(vm, &c->words[i], &v, err) || !list_push(h, l, v, err)) return false;
    }
    return l && (*out = value_from_object(l), true);
}

static bool command_value(Vm *vm, const ShellCommand *c, Value *out, Error *err) {
    bool exact = c->exact && c->runs != SHELL_RUNS_UNKNOWN;
    Value program = VALUE_NONE, args, redirects;
    if (!vm_work(vm, 4 + c->words_n + c->redirects_n, err)) return false;
    if (c->program.n && !script_clean(vm, c->program, &program, err)) return false;
    if (!args_value(vm, c, &args, &exact, err) || !redirects_value(vm, c, &redirects, err)) return false;
    ScriptDict d = script_dict(vm, err);
    script_dict_put(&d, "program", program);
    script_dict_put(&d, "args", args);
    script_dict_bool(&d, "exact", exact);
    script_dict_put(&d, "redirects", redirects);
    return script_dict_end(&d, out);
}

static bool list_value(Vm *vm, const ShellCommands *all, Value *out, Error *err) {
    static const ShellCommand unknown = { 0 };
    Heap *h = vm_heap(vm);
    List *l = list_new(h, (uint32_t)all->n + 1, err);
    Value v;
    for (size_t i = 0; l && i < all->n; i++)
        if (!command_value(vm, &all->at[i], &v, err) || !list_push(h, l, v, err)) return false;
    if (l && all->problem && (!command_value(vm, &unknown, &v, err) || !list_push(h, l, v, err))) return false;
    return l && (*out = value_from_object(l), true);
}

static bool shell_parse(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Str text = script_arg(a, 0);
    Arena arena = { 0 };
    if (!vm_work(vm, 1 + text.n / 4, err)) return false;
    ShellCommands all = shell_commands(text, &arena);
    bool ok = list_value(vm, &all, out, err);
    arena_clear(&arena);
    return ok;
}
