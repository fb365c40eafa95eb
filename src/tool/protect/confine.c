#include "tool/protect/confine.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "policy/limits.h"
#include "sandbox/reach.h"
#include "tool/pipeline/pipe.h"

static bool is_below(Str path, Str folder) {
    if (folder.n == 1) return true;                       /* "/" */
    return str_starts(path, folder) && (path.n == folder.n || path.at[folder.n] == '/');
}

/* ---- loading ---- */

bool confine_workspace(const Project *p, char real[PATH_MAX], Error *err) {
    Arena arena = { 0 };
    struct stat st;
    const char *path = project_path(p, p->settings.workspace, &arena);
    bool ok = (realpath(path, real) && stat(real, &st) == 0) || error_set(err, ERR_CONFIG, "workspace %s: %m", path);
    if (ok && !S_ISDIR(st.st_mode)) ok = error_set(err, ERR_CONFIG, "workspace %s: not a folder", path);
    arena_clear(&arena);
    return ok;
}

static void add_place(const Project *p, Arena *arena, const char **out, size_t *n, Str path) {
    char real[PATH_MAX];
    if (reach_resolve(project_path(p, path, arena), real)) out[(*n)++] = arena_str(arena, str_from(real)).at;
}

static const char *const *list_places(const Project *p, bool root, Arena *arena) {
    const char *home = getenv("HOME");
    size_t room = 4, n = 0;
    Limits limits;
    limits_from(p, &limits);
    for (size_t i = 0; i < p->n_servers; i++) room += p->servers[i].write_roots.n;
    const char **out = ARENA_ARRAY(arena, const char *, room + limits.sandbox.write_roots.n);
    if (root) add_place(p, arena, out, &n, p->root);
    add_place(p, arena, out, &n, p->settings.workspace);
    for (size_t i = 0; i < limits.sandbox.write_roots.n; i++) add_place(p, arena, out, &n, limits.sandbox.write_roots.at[i]);
    for (size_t i = 0; i < p->n_servers; i++)
        for (size_t k = 0; k < p->servers[i].write_roots.n; k++) add_place(p, arena, out, &n, p->servers[i].write_roots.at[k]);
    if (limits.sandbox.real_home && home && home[0] == '/') add_place(p, arena, out, &n, str_from(home));
    limits_clear(&limits);
    return out;
}

const char *const *confine_places(const Project *p, Arena *arena) { return list_places(p, false, arena); }
const char *const *confine_reach(const Project *p, Arena *arena) { return list_places(p, true, arena); }

/* The folder as written, relative to the workspace, as a path without links. */
static bool resolve(const char *workspace, Str written, char real[PATH_MAX], Error *err) {
    MEM_UNSET Error why;
    struct stat st;
    char *path = str_dup(written);
    error_none(&why);
    bool ok = sandbox_root(workspace, path, real, &why);
    free(path);
    if (!ok && why.kind == ERR_IO) return error_set(err, ERR_CONFIG, "no folder \"" STR_FMT "\" in the workspace", STR_ARG(written));
    if (!ok) return error_set(err, ERR_CONFIG, "%s", why.msg);
    if (!is_below(str_from(real), str_from(workspace))) return error_set(err, ERR_CONFIG, "\"" STR_FMT "\" is outside the workspace", STR_ARG(written));
    if (stat(real, &st) != 0 || !S_ISDIR(st.st_mode)) return error_set(err, ERR_CONFIG, "\"" STR_FMT "\" is not a folder", STR_ARG(written));
    return true;
}

static bool check_one(const ToolDef *def, const Safety *s, const char *workspace, const Limits *limits, Error *err) {
    char real[PATH_MAX];
    if (s->process && limits->sandbox.mode == SANDBOX_OFF)
        return error_set(err, ERR_CONFIG, "it cannot be enforced with sandbox.mode: off, because a tool of kind %s can start programs",
            tool_kind_name(def->kind));
    return resolve(workspace, s->workspace_root, real, err);
}

bool confine_check(const Project *p, Problems *problems) {
    Arena arena = { 0 };
    Limits limits;
    char workspace[PATH_MAX] = "";
    bool ok = true;
    limits_from(p, &limits);
    for (size_t i = 0; i < p->n_tools; i++) {
        const ToolDef *def = &p->tools[i];
        Safety s;
        MEM_UNSET Error err;
        error_none(&err);
        if (value_is_gone(def->safety)) continue;
        safety_of(def, &arena, &s, NULL);
        if (!s.workspace_root.n || ((workspace[0] || confine_workspace(p, workspace, &err)) && check_one(def, &s, workspace, &limits, &err))) continue;
        problems_add(problems, PROBLEM_ERROR, def->origin.file, safety_place(def, "workspace_root"), (Str){ 0 },
                     "tool \"" STR_FMT "\": safety.workspace_root: %s", STR_ARG(def->name), err.msg);
        ok = false;
    }
    arena_clear(&arena);
    limits_clear(&limits);
    return ok;
}

/* ---- registering ---- */

static ToolRoot *root_of(Runtime *rt, Str path, Error *err) {
    for (size_t i = 0; i < rt->roots.n; i++)
        if (str_eq(rt->roots.at[i]->path, path)) return rt->roots.at[i];
    ToolRoot *root = ARENA_ARRAY(&rt->arena, ToolRoot, 1);
    root->path = arena_str(&rt->arena, path);
    JailInput in = { .workspace = root->path.at, .protect = rt->rules.protect, .hidden = rt->hidden };
    if (!jail_new(&in, &root->jail, err)) return NULL;
    VEC_PUSH(&rt->roots, root);
    return root;
}

bool confine_entry(Runtime *rt, ToolEntry *e, Error *err) {
    char real[PATH_MAX];
    if (!e->safety.workspace_root.n) return true;
    if (check_one(&e->def, &e->safety, rt->rules.workspace, &rt->limits, err) && resolve(rt->rules.workspace, e->safety.workspace_root, real, err))
        e->root = root_of(rt, str_from(real), err);
    return e->root || error_wrap(err, "tool \"" STR_FMT "\": safety.workspace_root", STR_ARG(e->def.name));
}

void confine_free(Runtime *rt) {
    for (size_t i = 0; i < rt->roots.n; i++) jail_free(rt->roots.at[i]->jail);
    VEC_CLEAR(&rt->roots);
}

/* ---- calling ---- */

/* True for tools whose code does not use the call's jail and sandbox. */
static bool out_of_reach(const ToolEntry *e) {
    return e->def.kind == TOOL_MCP || e->def.kind == TOOL_NATIVE || e->def.kind == TOOL_DELEGATE || (e->def.kind == TOOL_STARLARK && !e->def.script);
}

bool confine_call(Pipe *p) {
    const ToolEntry *e = p->f.entry;
    const ToolRoot *caller = p->f.call->root, *own = e->root, *root = caller ? caller : own;
    if (caller && out_of_reach(e))
        return pipe_refuse(p, STEP_POLICY, STR("workspace_root"), REPAIR_REFUSED,
                           "tool \"" STR_FMT "\" cannot be confined to " STR_FMT ", the workspace_root of its caller", STR_ARG(e->def.name),
                               STR_ARG(caller->path));
    if (caller && own && is_below(own->path, caller->path)) root = own;
    else if (caller && own && !is_below(caller->path, own->path))
        return pipe_refuse(p, STEP_POLICY, STR("workspace_root"), REPAIR_REFUSED,
                           "tool \"" STR_FMT "\" works in " STR_FMT ", outside " STR_FMT ", the workspace_root of its caller", STR_ARG(e->def.name),
                           STR_ARG(own->path), STR_ARG(caller->path));
    p->root = root;
    if (!root) return true;
    p->host.jail = root->jail;
    p->host.workspace = root->path;
    return true;
}

void confine_rules(const ToolRoot *root, const char *program, SandboxRules *rules, const char *reads[2]) {
    if (!root) return;
    reads[0] = program;
    reads[1] = NULL;
    rules->workspace = root->path.at;
    rules->read_roots = reads;
    rules->write_roots = NULL;
    rules->real_home = false;
    if (rules->mode == SANDBOX_BEST_EFFORT) rules->mode = SANDBOX_STRICT;      /* enforce it, or refuse the call */
}

Str runtime_host_confined(Host *h) {
    const Pipe *p = h->call;
    return p->root ? p->root->path : (Str){ 0 };
}
