/* Paths used by command hooks, servers and tools with secrets, and load errors for those that cannot be determined. */
#include <limits.h>
#include "tool/protect/confine.h"
#include "tool/protect/uses.h"

static Str in_root(ProtectedList *l, Str folder) { return str_from(protected_path(l, l->root, folder.n ? folder : STR("."))); }

void uses_hook(ProtectedList *l, const HookDef *h, UsesFound *found) {
    if (h->kind == HOOK_COMMAND) uses_text(l, USES_HOOK, in_root(l, h->folder), h->command, found);
}

void uses_server(ProtectedList *l, const ServerDef *s, UsesFound *found) {
    Str folder = s->cwd.n ? str_from(project_path(l->project, s->cwd, l->arena)) : l->workspace;
    Entry *e;
    if (!s->command.n) return;
    uses_argv(l, USES_SERVER, folder, s->command, &s->args, found);
    for (uint32_t i = 0; value_is_dict(s->env) && dict_next(value_dict(s->env), &i, &e);)
        if (value_is_string(e->value)) uses_variable(l, USES_SERVER, folder, value_str(e->key), value_str(e->value), found);
}

static void report(Problems *problems, const Origin *at, const char *what, Str name, const char *key, const UsesFound *f) {
    if (f->word.n)
        problems_add(problems, PROBLEM_ERROR, at->file, (Place){ at->line, at->column }, str_from(f->instead),
                     "%s \"" STR_FMT "\": %s: " STR_FMT ": %s", what, STR_ARG(name), key, STR_ARG(f->word), f->why);
    else
        problems_add(problems, PROBLEM_ERROR, at->file, (Place){ at->line, at->column }, str_from(f->instead), "%s \"" STR_FMT "\": %s: %s",
            what, STR_ARG(name), key, f->why);
}

/* Reports a write root of a server if it is, or is inside, a protected path that the server itself uses. */
static bool check_roots(ProtectedList *l, const ServerDef *s, Problems *problems) {
    UsesFound unused = { 0 };
    bool ok = true;
    if (!s->write_roots.n) return true;
    table_clear(&l->at);
    uses_server(l, s, &unused);
    for (size_t r = 0; r < s->write_roots.n && ok; r++) {
        Str root = str_from(project_path(l->project, s->write_roots.at[r], l->arena));
        root = str_from(protected_path(l, l->workspace, root));
        for (size_t i = 0; i < l->at.n && ok; i++) {
            Str path = l->at.entry[i].key;
            ok = !(str_starts(root, path) && (root.n == path.n || root.at[path.n] == '/'));
            if (!ok)
                problems_add(problems, PROBLEM_ERROR, s->origin.file, (Place){ s->origin.line, s->origin.column },
                             STR("let it write to another folder, or to its HOME"),
                             "server \"" STR_FMT "\": write_roots[%zu]: " STR_FMT " has the server's own program, which nothing may change while it is used", STR_ARG(s->name), r,
                             STR_ARG(s->write_roots.at[r]));
        }
    }
    table_clear(&l->at);
    return ok;
}

static bool check_tool(ProtectedList *l, Project *p, ToolDef *t, Problems *problems) {
    UsesFound f = { 0 };
    if (!uses_secret(p, t)) return true;
    table_clear(&l->at);
    uses_tool(l, t, &f);
    t->closed = l->at.n > 0;
    t->exposed = arena_str(&p->arena, f.exposed);
    t->reads = arena_str(&p->arena, f.reads);
    t->safe_path = f.safe_path || f.exposed.n;
    if (f.why) report(problems, &t->origin, "tool", t->name, t->kind == TOOL_STARLARK ? "exec.run gets secrets" : "command gets secrets", &f);
    return !f.why;
}

bool uses_check(Project *p, Problems *problems) {
    Arena arena = { 0 };
    char workspace[PATH_MAX];
    bool ok = true;
    if (!confine_workspace(p, workspace, NULL)) return true;            /* reported where it is used */
    ProtectedList l = { .arena = &arena, .project = p, .root = p->root, .workspace = str_from(workspace) };
    for (size_t i = 0; i < p->n_hooks; i++) {
        HookDef *h = &p->hooks[i];
        UsesFound f = { 0 };
        uses_hook(&l, h, &f);
        h->exposed = arena_str(&p->arena, f.exposed);
        h->safe_path = f.safe_path;
        if (f.why) report(problems, &h->origin, "hook", h->name, "command", &f);
        ok = ok && !f.why;
    }
    for (size_t i = 0; i < p->n_servers; i++) {
        ServerDef *s = &p->servers[i];
        UsesFound f = { 0 };
        uses_server(&l, s, &f);
        s->exposed = arena_str(&p->arena, f.exposed);
        s->safe_path = f.safe_path;
        if (f.why) report(problems, &s->origin, "server", s->name, "command", &f);
        ok = check_roots(&l, s, problems) && ok && !f.why;
    }
    for (size_t i = 0; i < p->n_tools; i++) ok = check_tool(&l, p, &p->tools[i], problems) && ok;
    table_clear(&l.at);
    arena_clear(&arena);
    return ok;
}
