#include "tool/runtime.h"
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "policy/location.h"
#include "policy/queue_tools.h"
#include "sandbox/domain.h"
#include "tool/pipeline/control.h"
#include "tool/protect/nested.h"
#include "tool/pipeline/pipe.h"
#include "tool/protect/protected.h"
#include "tool/resource.h"
#include "tool/protect/uses.h"

/* ---- paths ---- */

static const char *copy(Runtime *rt, Str s) { return arena_str(&rt->arena, s).at; }

const char *runtime_path(const Runtime *rt, Str path, Arena *arena) { return project_path(rt->project, path, arena); }

static const char *from_root(Runtime *rt, Str path) { return runtime_path(rt, path, &rt->arena); }

static bool set_workspace(Runtime *rt, Error *err) {
    char real[PATH_MAX];
    if (!confine_workspace(rt->project, real, err)) return false;
    rt->rules.workspace = copy(rt, str_from(real));
    return true;
}

static const char *const *roots(Runtime *rt, StrList list, const char *setting, Error *err) {
    const char **out = ARENA_ARRAY(&rt->arena, const char *, list.n + 1);
    char real[PATH_MAX];
    for (size_t i = 0; i < list.n; i++) {
        const char *path = from_root(rt, list.at[i]);
        Error problem = { 0 };
        if (!sandbox_root(rt->rules.workspace, path, real, &problem)) {
            error_set(err, problem.kind == ERR_SANDBOX ? ERR_SANDBOX : ERR_CONFIG, "%s[%zu]: %s", setting, i, problem.msg);
            return NULL;
        }
        out[i] = copy(rt, str_from(real));
    }
    return out;
}

/* ---- sandbox ---- */

const char *const *runtime_protected(Runtime *rt, bool self_edit) {
    RecordPaths more = { 0 };
    record_configs(&rt->places, rt->project->root, &rt->arena, &more);
    ProtectedList l = { .arena = &rt->arena, .project = rt->project, .root = rt->project->root, .workspace = str_from(rt->rules.workspace),
                        .write_roots = rt->rules.write_roots, .more = more.at, .n_more = more.n, .self_edit = self_edit };
    const char *const *paths = protected_paths(&l);
    VEC_CLEAR(&more);
    return paths;
}

/* Every folder that the settings make accessible, as written there. */
static bool are_steady(Runtime *rt, Error *err) {
    const StrList *lists[] = { &rt->limits.sandbox.read_roots, &rt->limits.sandbox.write_roots };
    const char *const *places = confine_places(rt->project, &rt->arena);
    if (!sandbox_root_steady(places, from_root(rt, rt->project->settings.workspace), err)) return error_wrap(err, "workspace");
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < lists[k]->n; i++)
            if (!sandbox_root_steady(places, from_root(rt, lists[k]->at[i]), err)) return error_wrap(err, "sandbox.%s_roots[%zu]", k ? "write" : "read", i);
    return true;
}

static bool set_rules(Runtime *rt, Error *err) {
    const Limits *l = &rt->limits;
    SandboxRules *r = &rt->rules;
    if (!set_workspace(rt, err)) return false;
    r->mode = l->sandbox.mode;
    r->mounts = l->sandbox.mounts;
    bool domains = l->has_domains || rt->config.n_allow_domains > 0;
    r->net = l->sandbox.network ? SANDBOX_NET_OPEN : domains ? SANDBOX_NET_PROXY : SANDBOX_NET_NONE;
    r->real_home = l->sandbox.real_home;
    r->memory_bytes = l->sandbox.memory_bytes;
    r->file_bytes = l->sandbox.file_bytes;
    r->cpu_seconds = l->sandbox.cpu_seconds;
    r->open_files = l->sandbox.open_files;
    r->processes = l->sandbox.processes;
    r->read_roots = roots(rt, l->sandbox.read_roots, "sandbox.read_roots", err);
    r->write_roots = r->read_roots ? roots(rt, l->sandbox.write_roots, "sandbox.write_roots", err) : NULL;
    if (!r->write_roots || !are_steady(rt, err)) return false;
    r->protect = runtime_protected(rt, l->sandbox.allow_self_edit);
    return true;
}

static void on_proxy(void *ctx, Str host, uint16_t port, bool allowed, const char *why) {
    const Runtime *rt = ctx;
    if (!allowed) LOG_WRITE(rt->config.log, LOG_INFO, "network: a program may not reach " STR_FMT ":%u: %s", STR_ARG(host), port, why);
}

void runtime_rules_look(Runtime *rt, SandboxRules *out) {
    pthread_mutex_lock(&rt->lock);
    *out = rt->rules;
    pthread_mutex_unlock(&rt->lock);
}

/* Starts the proxy, a thread and a port, when the first program needs it. */
bool runtime_rules(Runtime *rt, SandboxRules *out, Error *err) {
    bool ok = true;
    pthread_mutex_lock(&rt->lock);
    if (rt->rules.net == SANDBOX_NET_PROXY && !rt->proxy) {
        ok = proxy_start(rt->net, on_proxy, rt, &rt->proxy, err);
        if (ok) rt->rules.proxy_port = proxy_port(rt->proxy);
    }
    *out = rt->rules;
    pthread_mutex_unlock(&rt->lock);
    return ok;
}

static const char *folder_of(Runtime *rt, const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash != path ? copy(rt, (Str){ path, (size_t)(slash - path) }) : "/";
}

static void make_folder(const char *path) {
    char *p = mem_dup(path, strlen(path));
    for (char *c = p + 1; *c; c++)
        if (*c == '/') *c = 0, mkdir(p, 0700), *c = '/';
    mkdir(p, 0700);                                       /* store_open reports a failure */
    free(p);
}

static void hide_secret(void *ctx, Str secret) { redact_add_value(((Runtime *)ctx)->redactor, secret); }

/* The path of the journal as written, with links unresolved: the rules must cover links on the way. Without a journal, the record of running calls
 * is next to the path that was given. */
static bool set_state(Runtime *rt, Error *err) {
    Buf path = { 0 };
    const char *given = rt->config.state ? rt->config.state : getenv("HARNESS_STATE");
    char here[PATH_MAX];
    bool ok = true;
    if (given && given[0] && !store_is_url(given)) {
        if (given[0] != '/' && getcwd(here, sizeof here)) buf_add_fmt(&path, "%s/", here);
        buf_add(&path, str_from(given));
    } else if (!rt->config.ephemeral) {
        ok = location_given(rt->project, rt->config.state, &path, err);
    }
    if (ok && store_is_url(path.at)) {
        rt->database = copy(rt, buf_str(&path));
        store_url_secrets(rt->database, hide_secret, rt);
        ok = store_default_path(rt->project->root, &path, err);
    }
    if (ok && path.n) rt->rules.state = copy(rt, buf_str(&path));
    if (ok && !rt->config.ephemeral) rt->state = rt->rules.state;
    buf_clear(&path);
    return ok;
}

/* Sets the real path of the state. Called after the check that no tool can reach it. */
static void make_state(Runtime *rt) {
    char real[PATH_MAX];
    if (!rt->state) return;
    const char *folder = folder_of(rt, rt->state);
    make_folder(folder);
    if (realpath(folder, real)) rt->state = arena_fmt(&rt->arena, "%s%s", strcmp(real, "/") == 0 ? "" : real, strrchr(rt->state, '/'));
}

bool runtime_make_jails(Runtime *rt, Error *err) {
    static const char *const ends[] = { "", "-wal", "-shm", "-journal", "-lease", "-tail", "-format1", "-format2", "-format2-tail" };
    const char **hidden = ARENA_ARRAY(&rt->arena, const char *, sizeof ends / sizeof *ends + 1);
    for (size_t i = 0; rt->state && i < sizeof ends / sizeof *ends; i++) hidden[i] = arena_fmt(&rt->arena, "%s%s", rt->state, ends[i]);
    rt->hidden = hidden;
    JailInput in = { .workspace = rt->rules.workspace, .read_roots = rt->rules.read_roots, .write_roots = rt->rules.write_roots,
                     .protect = rt->rules.protect, .hidden = hidden };
    if (!jail_new(&in, &rt->jail, err)) return false;
    rt->hook_jail = jail_view_read_only(rt->jail);
    return true;
}

/* ---- network ---- */

static bool make_network(Runtime *rt, Error *err) {
    const Limits *l = &rt->limits;
    size_t n = l->domains.n + rt->config.n_allow_domains;
    Str *all = ARENA_ARRAY(&rt->arena, Str, n + 1);
    if (l->domains.n) memcpy(all, l->domains.at, l->domains.n * sizeof *all);
    for (size_t i = 0; i < rt->config.n_allow_domains; i++) all[l->domains.n + i] = arena_str(&rt->arena, rt->config.allow_domains[i]);
    if (rt->config.n_allow_domains && l->sandbox.network)
        return error_set(err, ERR_CONFIG, "--allow-domain has no effect with sandbox.network: true");
    bool listed = l->has_domains || rt->config.n_allow_domains > 0;
    rt->client = rt->shared->client;
    if (rule_list_new(listed ? all : NULL, listed ? n : 0, &rt->net, err)) return true;
    return error_wrap(err, "--allow-domain");          /* the project's own settings were checked when loading */
}

/* ---- tools ---- */

static ToolExecute *executor(const ToolDef *def) {
    switch (def->kind) {
    case TOOL_STARLARK: return def->script ? kind_starlark : kind_missing;
    case TOOL_COMMAND: return kind_command;
    case TOOL_ARGV: return kind_argv;
    default: return kind_missing;
    }
}

static bool register_project(Runtime *rt, Error *err) {
    const Project *p = rt->project;
    for (size_t i = 0; i < p->n_tools; i++) {
        const ToolDef *def = &p->tools[i];
        ToolEntry e = { .def = *def, .execute = executor(def), .scope = def->agent };
        if (def->kind == TOOL_MCP) continue;              /* MCP tools are registered by mcp/, with their server */
        if (def->kind == TOOL_COMMAND) e.inspect = kind_command_show;
        if (!safety_of(def, &rt->arena, &e.safety, NULL)) return error_set(err, ERR_CONFIG,
            "tool \"" STR_FMT "\": safety declares less than the tool does", STR_ARG(def->name));
        if (!confine_entry(rt, &e, err) || !registry_add(rt->registry, &e, err)) return false;
    }
    if (!tool_resources_register(rt, err)) return false;
    bool all = p->settings.builtin_all || (p->has_space && !p->settings.builtin_set);
    return tool_builtins_register(rt, all, &p->settings.builtin_tools, err);
}

/* ---- opening and closing ---- */

static bool load(Runtime *rt, Problems *problems, Error *err) {
    Buf told = { 0 };
    if (!host_modules_new(&rt->host_heap, &rt->tool_modules, &rt->hook_modules, err)) return false;
    ProjectInput in = { .dir = rt->config.dir, .config = rt->config.config, .fallback = rt->config.fallback, .tools = rt->config.tools,
                        .predeclared = rt->tool_modules, .hook_predeclared = rt->hook_modules, .lenient = rt->config.lenient,
                        .strict = rt->config.strict, .digests = true };
    record_places(rt->config.state, &rt->places);
    RecordDoor door = { .places = &rt->places, .reading = rt->config.reading || rt->config.judging, .ask = rt->config.ask_changed,
        .ask_ctx = rt->config.ask_trust_ctx, .told = &told, .drafts = rt->config.drafts, .n_drafts = rt->config.n_drafts };
    bool ok = record_load(&door, &in, &rt->project, problems, err) && safety_check(rt->project, problems)
        && confine_check(rt->project, problems) && uses_check(rt->project, problems) && queue_tools_check(rt->project, problems);
    Str rest = buf_str(&told), line;
    while (rest.n && str_next_line(&rest, &line)) LOG_WRITE(rt->config.log, LOG_WARN, STR_FMT, STR_ARG(line));
    buf_clear(&told);
    return ok;
}

/* Warns about best effort: it is allowed, but not silently. */
static void warn_of_less(const Runtime *rt) {
    SandboxRules strict = rt->rules;
    Error why = { 0 };
    if (rt->rules.mode != SANDBOX_BEST_EFFORT) return;
    strict.mode = SANDBOX_STRICT;
    if (!sandbox_available(&strict, &why)) LOG_WRITE(rt->config.log, LOG_WARN, "%s: programs are not fully confined (sandbox.mode: best-effort)", why.msg);
}

/* For a program directly in the workspace: tools can write files next to it. */
static void warn_of_exposed(const Runtime *rt) {
    const Project *p = rt->project;
    for (size_t i = 0; i < p->n_hooks; i++)
        if (p->hooks[i].exposed.n)
            LOG_WRITE(rt->config.log, LOG_WARN, STR_FMT ": the folder of this hook's program contains the workspace, so tools can write next to it: move it to a separate folder",
                      STR_ARG(p->hooks[i].exposed));
    for (size_t i = 0; i < p->n_servers; i++)
        if (p->servers[i].exposed.n)
            LOG_WRITE(rt->config.log, LOG_WARN, STR_FMT ": the folder of this program of server " STR_FMT " contains the workspace, so tools can write next to it: move it to a separate folder",
                      STR_ARG(p->servers[i].exposed), STR_ARG(p->servers[i].name));
}

/* The same for tools that get secrets, including those whose programs read files of the workspace by default. */
static void warn_of_exposed_tools(const Runtime *rt) {
    const Project *p = rt->project;
    for (size_t i = 0; i < p->n_tools; i++) {
        const ToolDef *t = &p->tools[i];
        if (t->exposed.n)
            LOG_WRITE(rt->config.log, LOG_WARN, STR_FMT ": the folder of this program of tool " STR_FMT ", which gets secrets, contains the workspace, so tools can write next to it: move it to a separate folder",
                      STR_ARG(t->exposed), STR_ARG(t->name));
        if (t->reads.n)
            LOG_WRITE(rt->config.log, LOG_WARN, "tool " STR_FMT " gets secrets and runs " STR_FMT " in the workspace: other tools can change files that see them. Keep what it runs in a separate folder and work there",
                      STR_ARG(t->name), STR_ARG(t->reads));
    }
}

static bool same_paths(const char *const *a, const char *const *b) {
    size_t i = 0;
    while (a[i] && b[i] && strcmp(a[i], b[i]) == 0) i++;
    return !a[i] && !b[i];
}

static bool same_text(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : !a && !b; }

/* A reload cannot change what the process was restricted to, nor what runs have started with. */
static bool fits_shared(Runtime *rt, Error *err) {
    const Runtime *old = rt->config.share;
    bool state = same_text(rt->state, old->state) && same_text(rt->database, old->database);
    const char *how = rt->config.judging ? "a simulation cannot" : "restart harness to";
    if (strcmp(rt->rules.workspace, old->rules.workspace) != 0) return error_set(err, ERR_CONFIG, "workspace: %s use another one", how);
    if (!state) return error_set(err, ERR_CONFIG, "store: %s use another location", how);
    return !rt->config.own_process || same_paths(rt->rules.write_roots, old->rules.write_roots)
        || error_set(err, ERR_CONFIG, "sandbox.write_roots: restart harness to add roots");
}

static bool restrain(Runtime *rt, Error *err) {
    if (rt->config.share) return fits_shared(rt, err);
    if (!rt->config.own_process) return true;
    size_t n = 0, more = 0, roots_n = 0;
    while (rt->rules.write_roots[roots_n]) roots_n++;
    while (rt->config.writable && rt->config.writable[more]) more++;
    const char **list = ARENA_ARRAY(&rt->arena, const char *, roots_n + more + 7);
    list[n++] = rt->rules.workspace;
    for (size_t i = 0; i < roots_n; i++) list[n++] = rt->rules.write_roots[i];
    for (size_t i = 0; i < more; i++) list[n++] = rt->config.writable[i];
    if (rt->state) list[n++] = folder_of(rt, rt->state);
    if (rt->record) list[n++] = rt->record;
    list[n++] = "/tmp";
    if (getenv("TMPDIR")) list[n++] = getenv("TMPDIR");
    return domain_restrict(list, err);
}

static void set_record(Runtime *rt) {
    size_t n = 0;
    while (rt->rules.write_roots[n]) n++;
    const char **reach = ARENA_ARRAY(&rt->arena, const char *, n + 2);
    reach[0] = rt->rules.workspace;
    memcpy(reach + 1, rt->rules.write_roots, n * sizeof *reach);
    rt->record = record_folder(&rt->places, reach, &rt->record_problem);
}

/* Opens the parts that decide about calls. */
static bool prepare_policy(Runtime *rt, Error *err) {
    limits_from(rt->project, &rt->limits);
    if (!policy_new(rt->project, &rt->policy, err)) return false;
    runtime_add_secrets(rt);
    return true;
}

static bool has_command_hooks(const Project *p) {
    for (size_t i = 0; i < p->n_hooks; i++)
        if (p->hooks[i].kind == HOOK_COMMAND) return true;
    return false;
}

static bool prepare(Runtime *rt, Error *err) {
    if (!set_rules(rt, err)) return false;
    warn_of_less(rt);
    warn_of_exposed(rt);
    warn_of_exposed_tools(rt);
    if (!set_state(rt, err)) return false;
    rt->rules.hidden = store_private_folders(&rt->arena);
    if (!sandbox_reach(&rt->rules, err)) return false;
    make_state(rt);
    if (!rt->config.judging) set_record(rt);
    if (!runtime_make_jails(rt, err) || !make_network(rt, err)) return false;
    rt->workers = worker_pool_new((size_t)rt->limits.script_heap_bytes, (uint32_t)rt->limits.script_depth);
    rt->command_hooks = !rt->config.judging && has_command_hooks(rt->project);
    rt->hook_stats = hook_stats_new();
    rt->hooks = hook_list_new(rt->project, rt->workers, rt->hook_stats);
    rt->calls = runtime_host_calls;
    if (!register_project(rt, err)) return false;
    heap_freeze_all(rt->heap);
    if (rt->config.open_files && !rt->config.share && !rt->config.open_files(rt->config.open_files_ctx, rt->project, err)) return false;
    return restrain(rt, err);
}

static bool take_shared(Runtime *rt, Error *err) {
    Runtime *old = rt->config.share;
    rt->shared = old ? old->shared : mem_zero(1, sizeof *rt->shared);
    atomic_fetch_add(&rt->shared->holders, 1);
    if (!old) {
        pthread_mutex_init(&rt->shared->lock, NULL);
        bool programs = !rt->config.reading && !rt->config.policy_only && !rt->config.judging;
        if (programs && !sandbox_start(&rt->shared->sandbox, err)) return false;
        rt->shared->client = client_new();
    }
    rt->sandbox = rt->shared->sandbox;
    return true;
}

static void leave_shared(RuntimeShared *s) {
    if (!s || atomic_fetch_sub(&s->holders, 1) > 1) return;
    sandbox_stop(s->sandbox);
    if (s->client) client_free(s->client);
    if (s->store) store_close(s->store);
    if (s->local) store_close(s->local);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

bool runtime_open(const RuntimeConfig *config, Runtime **out, Problems *problems, Error *err) {
    Runtime *rt = mem_zero(1, sizeof *rt);
    rt->config = *config;
    pthread_mutex_init(&rt->lock, NULL);
    pthread_mutex_init(&rt->asking, NULL);
    pthread_mutex_init(&rt->guarding, NULL);
    rt->heap = heap_new(0);
    rt->registry = registry_new();
    rt->redactor = redact_new();
    bool ok = take_shared(rt, err) && load(rt, problems, err) && runtime_check_trust(rt, err) && prepare_policy(rt, err);
    if (ok && !config->policy_only) ok = prepare(rt, err);
    rt->config.share = NULL;             /* do not store the pointer: that runtime may be closed first */
    if (ok) *out = rt;
    else runtime_close(rt);
    return ok;
}

bool runtime_complete(Runtime *rt, Error *err) {
    if (!rt->config.policy_only) return true;
    if (has_command_hooks(rt->project) && !sandbox_start(&rt->shared->sandbox, err)) return false;
    rt->sandbox = rt->shared->sandbox;
    if (!prepare(rt, err)) return false;
    rt->config.policy_only = false;
    return true;
}

void runtime_close(Runtime *rt) {
    if (!rt) return;
    control_free(rt->control);
    if (atomic_load(&rt->pipe)) pipe_free(rt->pipe);
    for (Pipe *p = rt->pipes, *next; p; p = next) next = p->kept.next, pipe_free(p);
    proxy_stop(rt->proxy);
    if (rt->hooks) hook_list_free(rt->hooks);
    if (rt->hook_stats) hook_stats_free(rt->hook_stats);
    if (rt->workers) worker_pool_free(rt->workers);
    registry_free(rt->registry);
    if (rt->policy) policy_free(rt->policy);
    runtime_guard_end(rt);
    confine_free(rt);
    nested_clear(&rt->nested);
    jail_free(rt->hook_jail);
    jail_free(rt->jail);
    if (rt->net) rule_list_free(rt->net);
    leave_shared(rt->shared);
    limits_clear(&rt->limits);
    for (size_t i = 0; i < rt->schemas.n; i++) schema_free(rt->schemas.at[i]);
    VEC_CLEAR(&rt->schemas);
    VEC_CLEAR(&rt->counted);
    redact_free(rt->redactor);
    project_free(rt->project);
    heap_free(rt->heap);
    if (rt->host_heap) heap_free(rt->host_heap);
    arena_clear(&rt->arena);
    record_places_clear(&rt->places);
    pthread_mutex_destroy(&rt->lock);
    pthread_mutex_destroy(&rt->asking);
    pthread_mutex_destroy(&rt->guarding);
    free(rt);
}

/* ---- accessors ---- */

const TrustSubject *runtime_trust_subject(const Runtime *rt) { return &rt->subject; }
const Project *runtime_project(const Runtime *rt) { return rt->project; }
Registry *runtime_registry(Runtime *rt) { return rt->registry; }
const Limits *runtime_limits(const Runtime *rt) { return &rt->limits; }
const Policy *runtime_policy(const Runtime *rt) { return rt->policy; }
Redactor *runtime_redactor(Runtime *rt) { return rt->redactor; }
Str runtime_workspace(const Runtime *rt) { return str_from(rt->rules.workspace); }
static bool sync_full(const Project *p) {
    Value *v = value_is_dict(p->settings.store) ? dict_find_str(value_dict(p->settings.store), STR("sync")) : NULL;
    return v && value_is_string(*v) && str_eq(value_str(*v), STR("full"));
}

Store *runtime_store(Runtime *rt, Error *err) {
    if (!rt->state) return NULL;
    RuntimeShared *all = rt->shared;
    pthread_mutex_lock(&all->lock);
    if (!all->store && !store_open(rt->database ? rt->database : rt->state, sync_full(rt->project), &all->store, err)) all->store = NULL;
    Store *s = all->store;
    pthread_mutex_unlock(&all->lock);
    return s;
}

Store *runtime_local_store(Runtime *rt, Error *err) {
    if (!rt->state || !rt->database) return runtime_store(rt, err);
    RuntimeShared *all = rt->shared;
    pthread_mutex_lock(&all->lock);
    if (!all->local && !store_open(rt->state, sync_full(rt->project), &all->local, err)) all->local = NULL;
    Store *s = all->local;
    pthread_mutex_unlock(&all->lock);
    return s;
}

void *runtime_user(Runtime *rt) { return rt->user; }
Workers *runtime_workers(Runtime *rt) { return rt->workers; }
Client *runtime_client(Runtime *rt) { return rt->client; }
const Jail *runtime_jail(const Runtime *rt) { return rt->jail; }
const Log *runtime_log(const Runtime *rt) { return rt->config.log; }
Sandbox *runtime_sandbox(Runtime *rt) { return rt->sandbox; }
const Rules *runtime_net(const Runtime *rt) { return rt->net; }

void runtime_extend(Runtime *rt, const HostCalls *more, void *user) {
    rt->user = user;
    if (more->register_agent) rt->calls.register_agent = more->register_agent;
    if (more->delegate) rt->calls.delegate = more->delegate;
    if (more->complete) rt->calls.complete = more->complete;
}
