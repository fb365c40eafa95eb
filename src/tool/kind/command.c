/* Command tools: a rendered template, run by /bin/sh in the sandbox. */
#include "tool/expand.h"
#include "tool/pipeline/pipe.h"

static const char *folder_of(ToolCallFrame *f, Arena *arena) {
    const Pipe *p = f->host->call;
    Str root = runtime_root(f->runtime), folder = f->entry->def.folder;
    if (p->root) return p->root->path.at;
    if (folder.n && folder.at[0] == '/') return runtime_moved(f->runtime, arena_str(arena, folder).at, arena);
    return folder.n ? arena_fmt(arena, STR_FMT "/" STR_FMT, STR_ARG(root), STR_ARG(folder)) : arena_str(arena, root).at;
}

bool kind_command(ToolCallFrame *f, Error *err) {
    const ToolDef *def = &f->entry->def;
    Arena arena = { 0 };
    Buf text = { 0 };
    SandboxResult r = { 0 };
    size_t own = value_is_dict(def->environment) ? value_dict(def->environment)->n : 0;
    const char **env = ARENA_ARRAY(&arena, const char *, own + KIND_PROTECTED_MAX + KIND_INJECTED_MAX + 1);
    size_t n = 0;
    for (const char *const *more = kind_protected_env(def); *more; more++) env[n++] = *more;
    kind_injected_env(f, &arena, env, &n);
    bool ok = expand_environment(def->environment, f->runtime->redactor, &arena, env, &n, err) && template_render_command(def->command, f->args, &text, err);
    if (ok) {
        const char *argv[] = { "/bin/sh", "-c", text.at ? text.at : "", NULL };
        ok = kind_run_program(f, &(SandboxCommand){ .argv = argv, .env = env, .cwd = folder_of(f, &arena) }, &r, err) && kind_process_value(f, &r, err);
    }
    sandbox_result_clear(&r);
    buf_clear(&text);
    arena_clear(&arena);
    return ok;
}

bool kind_command_show(ToolCallFrame *f, ToolInspection *out, Error *err) {
    return template_render_command(f->entry->def.command, f->args, &out->shown, err);
}
