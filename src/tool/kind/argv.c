/* argv tools (tools.json): a program that reads the arguments as JSON from stdin and writes one JSON value to
 * stdout. */
#include <unistd.h>
#include "base/path.h"
#include "tool/expand.h"
#include "tool/pipeline/pipe.h"
#include "value/json.h"

enum { QUOTE_MAX = 2048 };

static const char *program_of(ToolCallFrame *f, Arena *arena) {
    Str name = f->entry->def.argv.at[0], root = runtime_root(f->runtime), folder = f->entry->def.folder;
    if (name.n && name.at[0] == '/') return runtime_moved(f->runtime, arena_str(arena, name).at, arena);
    return path_normal(arena, str_from(arena_fmt(arena, STR_FMT "/" STR_FMT "/" STR_FMT, STR_ARG(root), STR_ARG(folder), STR_ARG(name)))).at;
}

static const char **argv_of(ToolCallFrame *f, Arena *arena) {
    const StrList *list = &f->entry->def.argv;
    const char **argv = ARENA_ARRAY(arena, const char *, list->n + 1);
    argv[0] = program_of(f, arena);
    for (size_t i = 1; i < list->n; i++) argv[i] = arena_str(arena, list->at[i]).at;
    return argv;
}

static const char **env_of(ToolCallFrame *f, Arena *arena) {
    const StrList *names = &f->entry->def.env_passthrough;
    const char **env = ARENA_ARRAY(arena, const char *, names->n + KIND_PROTECTED_MAX + KIND_INJECTED_MAX + 1);
    size_t n = 0;
    for (const char *const *more = kind_protected_env(&f->entry->def); *more; more++) env[n++] = *more;
    kind_injected_env(f, arena, env, &n);
    for (size_t i = 0; i < names->n; i++) {
        const char *name = arena_str(arena, names->at[i]).at, *value = getenv(name);
        if (value) env[n++] = arena_fmt(arena, "%s=%s", name, value);
    }
    return env;
}

/* On failure: JSON with `error` on stderr is the value; other text becomes its message. */
static bool take_failure(ToolCallFrame *f, const SandboxResult *r, Error *err) {
    Str text = str_trim(buf_str(&r->err));
    Value v;
    Error bad;
    f->is_error = true;
    if (!r->timed_out && !sandbox_result_limit(r) && json_read(f->heap, text, &(JsonRead){ 0 }, &v, &bad) && value_is_dict(v)
        && dict_find_str(value_dict(v), STR("error"))) {
        f->value = v;
        return true;
    }
    Buf message = { 0 };
    if (r->timed_out) buf_add(&message, STR("timed out"));
    else if (sandbox_result_limit(r)) buf_add(&message, str_from(sandbox_result_limit(r)));
    else if (text.n) buf_add(&message, text);
    else if (r->signal) buf_add_fmt(&message, "ended by signal %d", r->signal);
    else buf_add_fmt(&message, "exit status %d", r->exit_code);
    bool ok = kind_error_value(f, buf_str(&message), err);
    buf_clear(&message);
    return ok && (!r->timed_out || dict_put_str(f->heap, value_dict(f->value), STR("timed_out"), VALUE_TRUE, err));
}

static bool take_output(ToolCallFrame *f, const SandboxResult *r, Error *err) {
    Str text = str_trim(buf_str(&r->out));
    Error bad = { 0 };
    if (r->out_truncated) error_set(&bad, ERR_LIMIT, "more than 1 MiB");
    else if (json_read(f->heap, text, &(JsonRead){ .cancel = f->cancel }, &f->value, &bad)) return true;
    Buf message = { 0 };
    buf_add_fmt(&message, "stdout is not one JSON value (%s): ", bad.msg);
    buf_add(&message, str_sub(buf_str(&r->out), 0, QUOTE_MAX));
    bool ok = kind_error_value(f, buf_str(&message), err);
    buf_clear(&message);
    return ok;
}

/* Adds a hint to a failed start: the manifest is wrong, or the program was not built. */
static bool explain(const ToolCallFrame *f, const char *program, Error *err) {
    const ToolDef *d = &f->entry->def;
    if (err->kind != ERR_IO || err->hint[0]) return false;
    if (access(program, F_OK) == 0 && access(program, X_OK) < 0) return error_hint(err, "chmod +x makes it executable");
    if (access(program, F_OK) == 0) return error_hint(err, "the file exists: does the interpreter in its first line?");
    return error_hint(err, STR_FMT ":%u names it: does it exist, and is it executable?", STR_ARG(d->origin.file), d->origin.line);
}

bool kind_argv(ToolCallFrame *f, Error *err) {
    Arena arena = { 0 };
    Buf input = { 0 };
    SandboxResult r = { 0 };
    bool ok = true;
    if (f->raw.n) buf_add(&input, f->raw);
    else ok = json_write(&input, f->args, &(JsonWrite){ 0 }, err);
    SandboxCommand command = { .argv = argv_of(f, &arena), .env = env_of(f, &arena), .input = buf_str(&input) };
    ok = ok && (kind_run_program(f, &command, &r, err) || explain(f, command.argv[0], err));
    if (ok) ok = r.exit_code != 0 || r.timed_out || sandbox_result_limit(&r) ? take_failure(f, &r, err) : take_output(f, &r, err);
    sandbox_result_clear(&r);
    buf_clear(&input);
    arena_clear(&arena);
    return ok;
}
