/* Trust check: before anything of a project runs, compares what it asks for with what the user agreed to. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/path.h"
#include "policy/trust.h"
#include "tool/protect/protected.h"
#include "tool/runtime_private.h"

/* ---- grants that do not come from a single key ---- */

typedef struct Found { bool http; } Found;

static void reach(void *ctx, Str module, Str member) {
    (void)member;
    if (str_eq(module, STR("http"))) ((Found *)ctx)->http = true;
}

static void add_http(Runtime *rt, Grants *g, const Module *script, const char *what, Str name, const Origin *origin) {
    Found f = { 0 };
    if (!script) return;
    module_each_reached(script, reach, &f);
    if (!f.http) return;
    grants_add(g, &(Grant){ .kind = GRANT_KIND_NETWORK, .file = origin->file, .line = origin->line,
                            .path = str_from(arena_fmt(&rt->arena, "%s " STR_FMT, what, STR_ARG(name))),
                            .words = "reaches any public host over HTTP (network.allowed_domains would limit it)" });
}

static void add_hosts(Runtime *rt, Grants *g) {
    const Project *p = rt->project;
    Value *list = value_is_dict(p->settings.network) ? dict_find_str(value_dict(p->settings.network), STR("allowed_domains")) : NULL;
    if (list && !value_is_none(*list)) return;           /* the list itself is the grant */
    for (size_t i = 0; i < p->n_tools; i++) add_http(rt, g, p->tools[i].script, "tool", p->tools[i].name, &p->tools[i].origin);
    for (size_t i = 0; i < p->n_hooks; i++) add_http(rt, g, p->hooks[i].script, "hook", p->hooks[i].name, &p->hooks[i].origin);
    for (size_t i = 0; i < p->n_resources; i++)
        add_http(rt, g, p->resources[i].script, "resource", p->resources[i].name, &p->resources[i].origin);
}

/* A path inside the project may be a link that leads out. */
static void add_link(Runtime *rt, Grants *g, Str path, const char *key, const char *words) {
    const Project *p = rt->project;
    if (path.n == 0) return;
    char real[PATH_MAX];
    if (!realpath(project_path(p, path, &rt->arena), real)) return;
    Str at = str_from(real);
    if (str_starts(at, p->root) && (at.n == p->root.n || at.at[p->root.n] == '/')) return;
    grants_add(g, &(Grant){ .kind = GRANT_KIND_FILES, .file = p->settings.file, .path = str_from(key), .value = arena_str(&rt->arena, at), .words = words });
}

/* A root that is a link: trust covers its target. */
static void add_root(Runtime *rt, Grants *g, Str path, const Origin *origin, const char *key, const char *words) {
    const Project *p = rt->project;
    char real[PATH_MAX];
    const char *named = project_path(p, path, &rt->arena);
    if (path.n == 0 || !realpath(named, real)) return;
    if (strcmp(path_normal(&rt->arena, str_from(named)).at, real) == 0) return;
    grants_add(g, &(Grant){ .kind = GRANT_KIND_FILES, .file = origin ? origin->file : p->settings.file, .path = str_from(key),
                            .value = arena_str(&rt->arena, str_from(real)), .words = words });
}

static void add_sandbox_roots(Runtime *rt, Grants *g, const char *key, const char *words) {
    Value sandbox = rt->project->settings.sandbox;
    Value *list = value_is_dict(sandbox) ? dict_find_str(value_dict(sandbox), str_from(key)) : NULL;
    for (uint32_t i = 0; list && value_is_list(*list) && i < value_list(*list)->n; i++) {
        Value v = value_list(*list)->at[i];
        if (value_is_string(v)) add_root(rt, g, value_str(v), NULL, arena_fmt(&rt->arena, "sandbox.%s[%u]", key, i), words);
    }
}

static void add_server_paths(Runtime *rt, Grants *g, const ServerDef *s) {
    Entry *e;
    for (size_t i = 0; i < s->read_roots.n; i++)
        add_root(rt, g, s->read_roots.at[i], &s->origin, arena_fmt(&rt->arena, "server " STR_FMT " read_roots[%zu]", STR_ARG(s->name), i),
            "lets it read this folder, the target of a link");
    for (size_t i = 0; i < s->write_roots.n; i++)
        add_root(rt, g, s->write_roots.at[i], &s->origin, arena_fmt(&rt->arena, "server " STR_FMT " write_roots[%zu]", STR_ARG(s->name), i),
            "lets it write this folder, the target of a link");
    for (uint32_t i = 0; value_is_dict(s->oauth) && dict_next(value_dict(s->oauth), &i, &e);)
        if (value_is_string(e->value) && str_ends(value_str(e->key), STR("_file")))
            add_root(rt, g, value_str(e->value), &s->origin,
                     arena_fmt(&rt->arena, "server " STR_FMT " oauth." STR_FMT, STR_ARG(s->name), STR_ARG(value_str(e->key))),
                     "signs in with this file, the target of a link");
}

static void add_roots(Runtime *rt, Grants *g) {
    add_sandbox_roots(rt, g, "read_roots", "lets tools read this folder, the target of a link");
    add_sandbox_roots(rt, g, "write_roots", "lets tools write this folder, the target of a link");
    for (size_t i = 0; i < rt->project->n_servers; i++) add_server_paths(rt, g, &rt->project->servers[i]);
}

static bool has_variable(Value map) {
    Entry *e;
    for (uint32_t i = 0; value_is_dict(map) && dict_next(value_dict(map), &i, &e);)
        if (value_is_string(e->value) && str_find(value_str(e->value), STR("${")) >= 0) return true;
    return false;
}

/* The provider determines how a key is sent, and without a base_url also the host. */
static void add_providers(Runtime *rt, Grants *g) {
    const Settings *s = &rt->project->settings;
    for (size_t i = 0; i < s->n_models; i++) {
        const ModelDef *m = &s->models[i];
        if ((project_model_usual(m) || (!m->base_url.n && !m->api_key_env.n)) && !has_variable(m->headers)) continue;
        grants_add(g, &(Grant){ .kind = GRANT_KIND_NETWORK, .file = m->origin.file, .line = m->origin.line,
                                .path = str_from(arena_fmt(&rt->arena, "model " STR_FMT, STR_ARG(m->name))),
                                .value = str_from(arena_fmt(&rt->arena, "\"%s\"", project_provider_name(project_model_provider(m)))),
                                .words = "uses this provider's protocol with the model's server" });
    }
}

static void add_links(Runtime *rt, Grants *g) {
    const Settings *s = &rt->project->settings;
    add_link(rt, g, s->workspace, "workspace", "uses a workspace outside of the project");
    for (size_t i = 0; i < s->n_models; i++) {
        add_link(rt, g, s->models[i].script, "model.script", "runs a model script from outside of the project");
        add_link(rt, g, s->models[i].replay, "model.replay", "reads a recording from outside of the project");
    }
}

/* Root can change anything anyway, so its files do not count as another user's. */
static bool is_foreign(uid_t owner, uid_t self) { return owner != self && owner != 0; }

static void add_owner(Runtime *rt, Grants *g) {
    const Project *p = rt->project;
    struct stat st;
    const char *foreign = NULL;
    uid_t owner = 0, self = geteuid();
    if (stat(p->root.at, &st) == 0 && is_foreign(st.st_uid, self)) {
        owner = st.st_uid;
        foreign = "the folder of the project belongs to another user";
    }
    for (size_t i = 0; !foreign && i < p->n_files; i++)
        if (is_foreign(p->files[i].owner, self)) {
            owner = p->files[i].owner;
            foreign = "files of the project belong to another user";
        }
    if (!foreign) return;
    grants_add(g, &(Grant){ .kind = GRANT_KIND_OWNER, .value = str_from(arena_fmt(&rt->arena, "%u", (unsigned)owner)), .words = foreign });
}

/* ---- code ---- */

static bool digest_file(const char *path, uint8_t out[SHA256_BYTES], Error *err) {
    char piece[16384];
    Sha256 s;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return error_set(err, ERR_IO, "%s: %m", path);
    sha256_init(&s);
    ssize_t n;
    while ((n = read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0) sha256_add(&s, (Str){ piece, (size_t)n });
    close(fd);
    if (n < 0) return error_set(err, ERR_IO, "%s: %m", path);
    sha256_end(&s, out);
    return true;
}

static int by_path(const void *a, const void *b) { return str_cmp(((const LoadedFile *)a)->path, ((const LoadedFile *)b)->path); }

/* Collects the loaded files and the programs they name, each once, by path relative to the root. */
static bool gather_code(Runtime *rt, Error *err) {
    const Project *p = rt->project;
    ProtectedList list = { .arena = &rt->arena, .project = p, .root = p->root, .workspace = p->root };
    const char *const *programs = protected_programs(&list);
    size_t n_programs = 0, n = 0, kept = 0;
    while (programs[n_programs]) n_programs++;
    LoadedFile *all = ARENA_ARRAY(&rt->arena, LoadedFile, p->n_files + n_programs + 1);
    for (size_t i = 0; i < p->n_files; i++) all[n++] = p->files[i];
    for (size_t i = 0; i < n_programs; i++) {
        struct stat st;
        if (stat(programs[i], &st) != 0 || !S_ISREG(st.st_mode)) continue;
        Str path = str_from(programs[i]);
        bool inside = str_starts(path, p->root) && path.at[p->root.n] == '/';
        all[n].path = inside ? str_sub(path, p->root.n + 1, path.n) : path;
        if (!digest_file(programs[i], all[n++].digest, err)) return false;
    }
    qsort(all, n, sizeof *all, by_path);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || !str_eq(all[kept - 1].path, all[i].path)) all[kept++] = all[i];
    rt->subject.files = all;
    rt->subject.n_files = kept;
    return true;
}

/* ---- the decision ---- */

static void gather_grants(Runtime *rt) {
    const Project *p = rt->project;
    Grants g = { 0 };
    for (size_t i = 0; i < p->n_grants; i++) grants_add(&g, &p->grants[i]);
    add_hosts(rt, &g);
    add_links(rt, &g);
    add_roots(rt, &g);
    add_providers(rt, &g);
    add_owner(rt, &g);
    grants_sort(&g);
    Grant *list = ARENA_ARRAY(&rt->arena, Grant, g.n + 1);
    if (g.n) memcpy(list, g.at, g.n * sizeof *list);
    rt->subject = (TrustSubject){ .root = p->root, .grants = list, .n_grants = g.n };
    VEC_CLEAR(&g);
}

static bool refuse(Runtime *rt, TrustState state, Error *err) {
    const char *why = state == TRUST_GRANTS_CHANGED ? "it asks for more than you agreed to"
                    : state == TRUST_CODE_CHANGED ? "its files changed since you agreed, and it uses secrets, files outside or no sandbox"
                    : "it asks for more than the defaults";
    error_set(err, ERR_POLICY, "the project " STR_FMT " is not trusted: %s", STR_ARG(rt->project->root), why);
    char above[PATH_MAX];
    if (trust_is_nested(&rt->subject, rt->config.trust, above))
        return error_hint(err, "HARNESS_TRUST holds the project %s, whose calls could have written this one: look at it, then set HARNESS_TRUST to this folder", above);
    if (rt->config.tools) return error_hint(err, "`harness trust --tools %s` shows what it asks for, and asks you", rt->config.tools);
    return error_hint(err, "`harness trust` shows what it asks for, and asks you");
}

static bool ask(Runtime *rt, TrustState state, bool *yes, Error *err) {
    bool always = false;
    *yes = rt->config.ask_trust && rt->config.ask_trust(rt->config.ask_trust_ctx, &rt->subject, state, &always);
    return !*yes || trust_give(&rt->subject, always, err);
}

static bool is_trusted(TrustState state) { return state == TRUST_NOT_NEEDED || state == TRUST_GIVEN; }

static bool same_grant(const Grant *a, const Grant *b) {
    return a->kind == b->kind && str_eq(a->file, b->file) && str_eq(a->path, b->path) && str_eq(a->value, b->value);
}

/* A draft has what its project is trusted with, and nothing more. */
static bool check_within(Runtime *rt, const TrustSubject *within, Error *err) {
    for (size_t i = 0; i < rt->subject.n_grants; i++) {
        const Grant *g = &rt->subject.grants[i];
        size_t k = 0;
        while (k < within->n_grants && !same_grant(g, &within->grants[k])) k++;
        if (k < within->n_grants) continue;
        Str value = str_sub(g->value, 0, 200);
        error_set(err, ERR_POLICY, "the draft asks for more than this project is trusted with: " STR_FMT "%s" STR_FMT ", which %s", STR_ARG(g->path),
                  value.n ? ": " : "", STR_ARG(value), g->words);
        error_hint(err, "leave it out of the draft, or save it and run `harness trust` first");
        return error_place(err, arena_str(&rt->arena, g->file).at, g->line, 0);
    }
    atomic_store(&rt->may_act, true);
    return true;
}

bool runtime_check_trust(Runtime *rt, Error *err) {
    TrustState state = TRUST_NOT_NEEDED;
    gather_grants(rt);
    if (rt->config.within) return check_within(rt, rt->config.within, err);
    if (rt->subject.n_grants && !gather_code(rt, err)) return false;
    if (rt->config.reading) return true;
    if (!trust_state(&rt->subject, rt->config.trust, &state, err)) return false;
    bool yes = rt->config.trusted || is_trusted(state);
    if (!yes && !ask(rt, state, &yes, err)) return false;
    atomic_store(&rt->may_act, yes);
    return yes || rt->config.untrusted || refuse(rt, state, err);
}

bool runtime_may_act(Runtime *rt, Error *err) {
    TrustState state = TRUST_MISSING;
    if (atomic_load(&rt->may_act)) return true;
    if (rt->config.reading) return error_set(err, ERR_POLICY, "this command only reads the project and starts nothing of it");
    if (trust_state(&rt->subject, rt->config.trust, &state, NULL) && is_trusted(state)) {
        atomic_store(&rt->may_act, true);
        return true;
    }
    return refuse(rt, state, err);
}
