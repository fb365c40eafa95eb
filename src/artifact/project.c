#include "artifact/project.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>
#include "artifact/host_names.h"
#include "artifact/load.h"
#include "artifact/resolve.h"
#include "artifact/misplaced.h"
#include "artifact/stray.h"
#include "base/mem.h"
#include "base/path.h"
#include "value/list.h"

/* ---- loader setup and end ---- */

static bool make_host_names(Loader *l, Error *err) {
    Project *p = l->project;
    HostNames names = { l->in->predeclared, l->in->hook_predeclared };
    if (!names.tools || !names.hooks) {
        HostNames stand_ins;
        p->host_heap = heap_new(0);
        if (!host_names_make(p->host_heap, NULL, &stand_ins, err)) return false;
        heap_freeze_all(p->host_heap);
        if (!names.tools) names.tools = stand_ins.tools;
        if (!names.hooks) names.hooks = stand_ins.hooks;
    }
    l->predeclared = names.tools;
    l->hook_predeclared = names.hooks;
    return true;
}

bool loader_start(Loader *l, const ProjectInput *in, int root_fd, Problems *problems) {
    Project *p = mem_zero(1, sizeof *p);
    p->heap = heap_new(0);
    p->script_heap = heap_new(0);
    p->universe = in->universe ? in->universe : universe_new();
    p->owns_universe = !in->universe;
    *l = (Loader){ .in = in, .project = p, .settings = { .root = VALUE_GONE } };
    l->docs = (DocumentContext){ .root_fd = root_fd, .view = in->view, .arena = &p->arena, .heap = p->heap, .names = dict_new(p->heap, 0, NULL),
                                 .problems = problems, .strict = in->strict, .grants = &l->grants, .files = in->digests ? &l->files : NULL };
    l->vm = vm_new(p->script_heap, &(VmConfig){ 0 });
    l->interned = dict_new(p->script_heap, 0, NULL);                 /* must outlive the modules that use it */
    l->script_errors = mem_zero(1, sizeof *l->script_errors);
    Error err = { 0 };
    bool ok = p->universe ? make_host_names(l, &err) : error_set(&err, ERR_INTERNAL, "cannot create the predeclared names");
    if (!ok) problems_add(problems, PROBLEM_ERROR, STR(""), (Place){ 0 }, (Str){ 0 }, "%s", err.msg);
    return ok;
}

#define HAND_OVER(member) (p->member = l->member.at, p->n_##member = l->member.n)

static void hand_over(Loader *l, Project *p) {
    HAND_OVER(tools);
    HAND_OVER(hooks);
    HAND_OVER(agents);
    HAND_OVER(bundles);
    HAND_OVER(prompts);
    HAND_OVER(resources);
    HAND_OVER(tests);
    HAND_OVER(servers);
    HAND_OVER(sources);
    p->rules = l->rule_rows;
    HAND_OVER(modules);
    HAND_OVER(templates);
    HAND_OVER(schemas);
    grants_sort(&l->grants);
    HAND_OVER(grants);
    HAND_OVER(files);
    p->loaded_files = (StrList){ l->looked_at.at, l->looked_at.n };
}

static void seal(Project *p) {
    heap_set_limit(p->script_heap, 0);
    heap_freeze_all(p->heap);
    heap_freeze_all(p->script_heap);
    for (size_t i = p->n_modules; i-- > 0;) module_seal(p->modules[i]);   /* in reverse order: the heap finds the newest first */
}

Project *loader_finish(Loader *l, bool keep) {
    Project *p = l->project;
    vm_free(l->vm);
    free(l->script_errors);
    document_clear(&l->settings);
    VEC_CLEAR(&l->references);
    VEC_CLEAR(&l->unread);
    VEC_CLEAR(&l->rules);
    VEC_CLEAR(&l->strays);
    hand_over(l, p);
    if (keep) return seal(p), p;
    project_free(p);
    return NULL;
}

void project_free(Project *p) {
    if (!p) return;
    for (size_t i = p->n_modules; i-- > 0;) module_free(p->modules[i]);
    for (size_t i = 0; i < p->n_templates; i++) template_free(p->templates[i]);
    for (size_t i = 0; i < p->n_schemas; i++) schema_free(p->schemas[i]);
    void *owned[] = { p->tools, p->hooks, p->agents, p->bundles, p->prompts, p->resources, p->tests, p->servers, p->sources,
                      p->modules, p->templates, p->schemas, p->grants, p->files, p->loaded_files.at };
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    rule_rows_clear(&p->rules);
    heap_free(p->script_heap);
    heap_free(p->heap);
    if (p->host_heap) heap_free(p->host_heap);
    if (p->owns_universe && p->universe) universe_free(p->universe);
    arena_clear(&p->arena);
    free(p);
}

/* ---- location ---- */

static bool fail(Problems *problems, const char *file, const char *what) {
    problems_add(problems, PROBLEM_ERROR, str_from(file), (Place){ 0 }, (Str){ 0 }, "%s: %m", what);
    return false;
}

/* Finds the project's folder and, with -c, the file in it. */
static bool find_root(const ProjectInput *in, char root[PATH_MAX], Buf *config, Problems *problems) {
    const char *dir = in->dir ? in->dir : ".";
    if (!in->config) return realpath(dir, root) || fail(problems, dir, "open project");
    Buf path = { 0 };
    if (in->config[0] == '/') buf_add(&path, str_from(in->config));
    else buf_add_fmt(&path, "%s/%s", dir, in->config);
    Str all = buf_str(&path);
    size_t slash = all.n;
    while (all.at[slash - 1] != '/') slash--;                      /* an absolute path has one */
    buf_add(config, str_sub(all, slash, all.n));
    char *folder = str_dup(str_sub(all, 0, slash));
    bool ok = realpath(folder, root) || fail(problems, in->config, "open project");
    size_t n = ok ? strlen(root) : 0;
    if (n > 9 && strcmp(root + n - 9, "/.harness") == 0 && str_eq(buf_str(config), STR("harness.md"))) {
        root[n - 9] = 0;                                           /* the project is its parent folder */
        buf_reset(config);
        buf_add(config, STR(".harness/harness.md"));
    }
    free(folder);
    buf_clear(&path);
    return ok;
}

bool project_root(const ProjectInput *in, char root[static PATH_MAX]) {
    Problems problems = { 0 };
    Buf config = { 0 };
    bool ok = find_root(in, root, &config, &problems);
    buf_clear(&config);
    problems_clear(&problems);
    return ok;
}

/* ---- contents ---- */

static bool leads_out(Str path) {
    return str_starts(path, STR("/")) || str_eq(path, STR("..")) || str_starts(path, STR("../"));
}

/* Loads a folder outside of the project that the project names. Everything below it is read from there, and nothing
 * else. */
static void load_outside(Loader *l, const LoaderPlace *at, const char *key, size_t i, Str path) {
    DocumentContext inside = l->docs;
    char *name = str_dup(path);
    int root = openat(l->docs.root_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) {
        loader_error(l, at, key, "%s[%zu]: \"%s\": %m", key, i, name);
    } else {
        l->docs.root_fd = root;
        l->docs.base = path_normal(l->docs.arena,
            str_from(arena_fmt(l->docs.arena, STR_FMT "/%s", STR_ARG(str_starts(path, STR("/")) ? STR("") : l->project->root), name))).at;
        l->docs.shown = str_from(arena_fmt(l->docs.arena, "%s/", name));
        load_root(l, STR(""), SOURCE_ROOT);
        close(root);
    }
    l->docs.root_fd = inside.root_fd;
    l->docs.base = inside.base;
    l->docs.shown = inside.shown;
    free(name);
}

static void load_roots(Loader *l) {
    const Settings *s = &l->project->settings;
    LoaderPlace at = loader_file_place(l, &l->settings, SOURCE_PROJECT);
    for (size_t i = 0; i < s->artifact_roots.n; i++) {
        Str path = s->artifact_roots.at[i];
        loader_look_at(l, path);
        if (leads_out(path)) {
            load_outside(l, &at, "artifact_roots", i, path);
            continue;
        }
        if (!document_is_folder(&l->docs, path)) {
            const char *why = errno == EXDEV ? "it leads out of the project" : errno == ENOENT ? "there is no such folder" : "it is not a folder";
            loader_error(l, &at, "artifact_roots", "artifact_roots[%zu]: \"" STR_FMT "\": %s", i, STR_ARG(path), why);
            continue;
        }
        load_root(l, path, SOURCE_ROOT);
    }
}

static Value setting(const Loader *l, const char *key) {
    Value *v = value_is_dict(l->settings.root) ? dict_find_str(value_dict(l->settings.root), str_from(key)) : NULL;
    return v && !value_is_none(*v) ? *v : VALUE_GONE;
}

static bool listed(StrList list, Str path) {
    for (size_t i = 0; i < list.n; i++) {
        Str s = list.at[i];
        while (str_starts(s, STR("./"))) s = str_sub(s, 2, s.n);
        if (str_ends(s, STR("/"))) s = str_sub(s, 0, s.n - 1);
        if (str_eq(s, path) || (path.n == 0 && str_eq(s, STR(".")))) return true;
    }
    return false;
}

/* The path as written may be a link, which could lead to another file the next time. */
static void look_at_given(Loader *l, const char *given) {
    char here[PATH_MAX] = "";
    if (given[0] != '/' && !getcwd(here, sizeof here)) return;
    loader_look_at(l, path_normal(l->docs.arena, str_from(arena_fmt(l->docs.arena, "%s/%s", here, given))));
}

/* --tools: its path below the root, in the arena. False: reported. */
static bool given_manifest(Loader *l, Str *out) {
    char real[PATH_MAX];
    const char *given = l->in->tools;
    Str root = l->project->root;
    if (!realpath(given, real)) return fail(l->docs.problems, given, "--tools");
    if (!str_starts(str_from(real), root) || real[root.n] != '/') {
        problems_add(l->docs.problems, PROBLEM_ERROR, str_from(given), (Place){ 0 }, STR("its programs could not be read from the sandbox"),
                     "--tools: the file must be below the project's folder");
        return false;
    }
    *out = arena_str(l->docs.arena, str_from(real + root.n + 1));
    loader_look_at(l, *out);
    look_at_given(l, given);
    return true;
}

static void load_manifests(Loader *l) {
    const Settings *s = &l->project->settings;
    Str usual = STR("tools.json");
    loader_look_at(l, usual);
    if (!(s->manifests_set && s->manifests.n == 0) && !listed(s->manifests, usual) && document_exists(&l->docs, usual)) load_manifest(l, usual);
    for (size_t i = 0; i < s->manifests.n; i++) {
        loader_look_at(l, s->manifests.at[i]);
        load_manifest(l, s->manifests.at[i]);
    }
    Str more;
    if (!l->in->tools || !given_manifest(l, &more) || listed(s->manifests, more)) return;
    if (!str_eq(more, usual) || (s->manifests_set && s->manifests.n == 0)) load_manifest(l, more);    /* not loaded yet */
}

static void load_spaces(Loader *l) {
    const Settings *s = &l->project->settings;
    loader_look_at(l, STR("agent"));
    loader_look_at(l, STR("space.manifest.json"));
    bool there = document_exists(&l->docs, STR("agent")) || document_exists(&l->docs, STR("space.manifest.json"));
    if (!(s->spaces_set && s->spaces.n == 0) && !listed(s->spaces, STR("")) && there) load_space(l, STR(""));
    for (size_t i = 0; i < s->spaces.n; i++) {
        loader_look_at(l, s->spaces.at[i]);
        load_space(l, s->spaces.at[i]);
    }
}

static void load_all_servers(Loader *l) {
    const Settings *s = &l->project->settings;
    Value servers = setting(l, "mcp_servers");
    bool none = s->servers_set && (value_is_gone(servers) || (value_is_dict(servers) && value_dict(servers)->n == 0));
    loader_look_at(l, STR(".mcp.json"));
    if (!value_is_gone(servers)) load_servers(l, &l->settings, servers, false);
    if (!none && document_exists(&l->docs, STR(".mcp.json"))) load_mcp_json(l, STR(".mcp.json"));
}

static void load_sources(Loader *l) {
    Value sources = setting(l, "artifact_sources");
    if (value_is_list(sources)) load_source(l, &l->settings, sources);
}

static void load_everything(Loader *l) {
    load_settings(l);
    if (l->in->sources_only) {
        load_sources(l);
        return;
    }
    stray_root(l);
    misplaced_in_body(&l->docs, &l->settings);
    load_inline(l);
    loader_look_at(l, STR(".harness"));
    load_root(l, STR(".harness"), SOURCE_PROJECT);
    load_roots(l);
    load_sources(l);
    load_manifests(l);
    load_all_servers(l);
    load_spaces(l);
    stray_report(l);
    resolve_project(l);
}

bool project_load(const ProjectInput *in, Project **out, Problems *problems) {
    char root[PATH_MAX];
    Buf config = { 0 };
    size_t errors = problems->errors;
    *out = NULL;
    int fd = find_root(in, root, &config, problems) ? open(root, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0 && problems->errors == errors) fail(problems, in->dir ? in->dir : ".", "open project");
    if (fd >= 0) {
        Loader l;
        bool ready = loader_start(&l, in, fd, problems);
        l.project->root = arena_str(&l.project->arena, str_from(root));
        l.docs.base = l.project->root.at;
        l.config = arena_str(&l.project->arena, buf_str(&config));
        if (ready) load_everything(&l);
        *out = loader_finish(&l, problems->errors == errors);
        close(fd);
    }
    buf_clear(&config);
    problems_sort(problems);
    return *out != NULL;
}

/* ---- queries ---- */

size_t project_alias_servers(const ServerDef *servers, size_t n, Str name, const ServerDef *first[2]) {
    size_t found = 0;
    if (!str_starts(name, STR("mcp__"))) return 0;
    name = str_sub(name, 5, name.n);
    for (size_t i = 0; i < n; i++) {
        Str server = servers[i].name;
        if (!str_starts(name, server) || !str_starts(str_sub(name, server.n, name.n), STR("__"))) continue;
        if (found < 2) first[found] = &servers[i];
        found++;
    }
    return found;
}

bool project_names_free(const Project *p, const ToolDef *def, Error *err) {
    const ServerDef *first[2];
    for (size_t i = 0; i <= def->aliases.n; i++) {
        Str name = i ? def->aliases.at[i - 1] : def->name;
        if (project_alias_servers(p->servers, p->n_servers, name, first))
            return error_set(err, ERR_CONFIG, "tool \"" STR_FMT "\" has the name of a tool of MCP server \"" STR_FMT "\"", STR_ARG(name),
                STR_ARG(first[0]->name));
    }
    return true;
}

const ToolDef *project_tool(const Project *p, Str name) {
    for (size_t i = 0; i < p->n_tools; i++) {
        const ToolDef *t = &p->tools[i];
        if (t->agent.n) continue;
        if (str_eq(t->name, name)) return t;
        for (size_t a = 0; a < t->aliases.n; a++)
            if (str_eq(t->aliases.at[a], name)) return t;
    }
    return NULL;
}

const HookDef *project_hook(const Project *p, Str name) {
    for (size_t i = 0; i < p->n_hooks; i++)
        if (str_eq(p->hooks[i].name, name)) return &p->hooks[i];
    return NULL;
}

const AgentDef *project_agent(const Project *p, Str name) {
    for (size_t i = 0; i < p->n_agents; i++)
        if (str_eq(p->agents[i].name, name)) return &p->agents[i];
    return NULL;
}

const AgentDef *project_space_agent(const Project *p) {
    for (size_t i = 0; i < p->n_agents; i++)
        if (p->agents[i].from_space) return &p->agents[i];
    return NULL;
}

const char *project_path(const Project *p, Str path, Arena *arena) {
    if (path.n == 0) return arena_str(arena, p->root).at;
    if (path.at[0] == '/') return arena_str(arena, path).at;
    if (str_starts(path, STR("~/")) && getenv("HOME")) return arena_fmt(arena, "%s" STR_FMT, getenv("HOME"), STR_ARG(str_sub(path, 1, path.n)));
    return arena_fmt(arena, STR_FMT "/" STR_FMT, STR_ARG(p->root), STR_ARG(path));
}

ModelProvider project_model_provider(const ModelDef *m) {
    if (m->provider) return m->provider;
    if (m->script.n) return PROVIDER_SCRIPT;
    if (m->replay.n) return PROVIDER_REPLAY;
    return str_starts(m->name, STR("claude-")) ? PROVIDER_ANTHROPIC : PROVIDER_OPENAI;
}

const char *tool_kind_name(ToolKind kind) {
    static const char *const names[] = {
#define X(kind, name) name,
        TOOL_KINDS(X)
#undef X
    };
    return names[kind];
}

CallKind project_call_kind(const ToolDef *t) {
    if (t->call_kind) return t->call_kind;
    if (t->kind == TOOL_MCP) return CALL_MCP;
    return t->kind == TOOL_BUILTIN || t->kind == TOOL_DELEGATE ? call_kind_of_tool(t->name) : CALL_KIND_NONE;
}
