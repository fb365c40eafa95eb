/* Opens a server's connection: its settings, restarts, and reference counts. */
#include <limits.h>
#include <stdlib.h>
#include <time.h>
#include "artifact/environment.h"
#include "base/clock.h"
#include "base/mem.h"
#include "mcp/remote/remotes_private.h"
#include "tool/protect/confine.h"

/* Backoff for a server that dies early: doubles after each failure, up to BACKOFF_MAX_MS. */
enum { BACKOFF_MS = 250, BACKOFF_MAX_MS = 30000, WAIT_MS = 2000, YOUNG_MS = 10000, INSTRUCTIONS_MAX = 16384,
       SERVER_CPU_SECONDS = 30 * 24 * 3600,    /* the limit of one call does not apply to a program that serves many */
       EXTRA_VARIABLES = 2 };

/* ---- settings ---- */

static void add_secret(void *ctx, Str value) { redact_add_value(runtime_redactor(((Remote *)ctx)->all->rt), value); }

static bool expand(Remote *s, const char *what, Value map, const char *between, const char ***out, size_t *n, Error *err) {
    size_t max = value_is_dict(map) ? value_dict(map)->n : 0;
    Entry *e;
    *out = ARENA_ARRAY(&s->arena, const char *, max + EXTRA_VARIABLES + 1);
    *n = 0;
    for (uint32_t i = 0; max && dict_next(value_dict(map), &i, &e);) {
        Buf text = { 0 };
        if (!value_is_string(e->value)) continue;
        buf_add(&text, value_str(e->key));
        buf_add(&text, str_from(between));
        bool ok = environment_expand(value_str(e->value), &text, add_secret, s, err);
        if (ok) (*out)[(*n)++] = arena_str(&s->arena, buf_str(&text)).at;
        buf_clear(&text);
        if (!ok) return error_wrap(err, "server " STR_FMT ": %s", STR_ARG(s->def->name), what);
    }
    return true;
}

static bool set_headers(Remote *s, Error *err) {
    const char **lines;
    size_t n;
    if (!expand(s, "headers", s->def->headers, ":", &lines, &n, err)) return false;
    ClientHeader *headers = ARENA_ARRAY(&s->arena, ClientHeader, n + 1);
    for (size_t i = 0; i < n; i++) {
        Str line = str_from(lines[i]);
        size_t colon = (size_t)str_find_char(line, ':');
        headers[i] = (ClientHeader){ arena_str(&s->arena, str_sub(line, 0, colon)), str_sub(line, colon + 1, line.n) };
    }
    s->config.headers = headers;
    s->config.n_headers = n;
    return true;
}

static bool browse(void *ctx, Str url, Error *err) {
    const McpRemotesConfig *c = &((Remote *)ctx)->all->config;
    return c->browse(c->ctx, url, err);
}

/* A remote server may refer us to public hosts only for a token; a local one also to local hosts. */
static OAuthConfig oauth_config(Remote *s, Error *why) {
    Runtime *rt = s->all->rt;
    Store *store = runtime_local_store(rt, why);
    return (OAuthConfig){ .server = s->def->url, .client = runtime_client(rt), .rules = runtime_net(rt),
                          .shelf = store ? oauth_store_shelf(store) : (OAuthShelf){ 0 }, .settings = s->def->oauth,
                          .open = s->all->config.browse ? browse : NULL, .secret = add_secret, .ctx = s };
}

static bool set_url(Remote *s, Error *err) {
    Error why = { 0 };
    OAuthConfig o = oauth_config(s, &why);
    s->config.http = o.client;
    oauth_free(s->oauth);                                 /* left over from a failed attempt */
    s->oauth = oauth_new(&o, err);
    if (!s->oauth) return error_wrap(err, "server " STR_FMT, STR_ARG(s->def->name));
    if (!set_headers(s, err)) return false;
    if (!oauth_is_given(s->config.headers, s->config.n_headers)) s->config.oauth = s->oauth;
    return true;
}

bool mcp_remotes_logout(McpRemotes *m, Str server, Cancel *cancel, OAuthForgotten *out, Error *err) {
    Remote *s = remotes_find(m, server);
    Error why = { 0 };
    if (!s) return error_set(err, ERR_VALIDATION, "no MCP server is named \"" STR_FMT "\" (see harness mcp list)", STR_ARG(server));
    if (!s->def->url.n) return error_set(err, ERR_VALIDATION, "server " STR_FMT " is a program, not a URL: it has no token", STR_ARG(server));
    if (!runtime_may_act(m->rt, err)) return false;
    OAuthConfig o = oauth_config(s, &why);
    if (why.kind != ERR_NONE) return *err = why, false;
    OAuth *a = oauth_new(&o, &why);
    if (!a) o.settings = VALUE_GONE, a = oauth_new(&o, err);      /* sign out even if a variable is not set */
    bool ok = a && oauth_forget(a, cancel, out, err);
    oauth_free(a);
    return ok;
}

static const char *const *add_roots(Remote *s, const char *const *base, StrList more, const char *what, Error *err) {
    size_t n = 0;
    char real[PATH_MAX];
    while (base && base[n]) n++;
    const char **out = ARENA_ARRAY(&s->arena, const char *, n + more.n + 1);
    if (n) memcpy(out, base, n * sizeof *out);
    for (size_t i = 0; i < more.n; i++) {
        const char *path = runtime_path(s->all->rt, more.at[i], &s->arena);
        if (!sandbox_root(s->rules.workspace, path, real, err) || !sandbox_root_steady(confine_places(runtime_project(s->all->rt), &s->arena), path, err)) {
            error_wrap(err, "server " STR_FMT ": %s[%zu]", STR_ARG(s->def->name), what, i);
            return NULL;
        }
        out[n++] = runtime_moved(s->all->rt, arena_str(&s->arena, str_from(real)).at, &s->arena);
    }
    return out;
}

/* Variables of the entry's `env` override others. */
static void add_variable(const char **env, size_t *n, const char *name, const char *setting) {
    for (size_t i = 0; i < *n; i++)
        if (strncmp(env[i], name, strlen(name)) == 0 && env[i][strlen(name)] == '=') return;
    env[(*n)++] = setting;
}

/* The entry decides about network access; if the project lists allowed hosts, the program reaches only those. */
static bool set_program(Remote *s, Error *err) {
    const char **env;
    size_t n;
    if (!runtime_rules(s->all->rt, &s->rules, err)) return false;
    s->rules.cpu_seconds = SERVER_CPU_SECONDS;
    if (!s->def->network) s->rules.net = SANDBOX_NET_NONE;
    else if (s->rules.net == SANDBOX_NET_NONE) s->rules.net = SANDBOX_NET_OPEN;
    if (!(s->rules.read_roots = add_roots(s, s->rules.read_roots, s->def->read_roots, "read_roots", err))) return false;
    if (!(s->rules.write_roots = add_roots(s, s->rules.write_roots, s->def->write_roots, "write_roots", err))) return false;
    if (!sandbox_reach(&s->rules, err)) return error_wrap(err, "server " STR_FMT, STR_ARG(s->def->name));
    if (!expand(s, "env", s->def->env, "=", &env, &n, err)) return false;
    add_variable(env, &n, "PYTHONDONTWRITEBYTECODE", "PYTHONDONTWRITEBYTECODE=1");        /* the program's folder is protected */
    if (s->def->safe_path) add_variable(env, &n, "PYTHONSAFEPATH", "PYTHONSAFEPATH=1");
    s->config.sandbox = runtime_sandbox(s->all->rt);
    s->config.rules = &s->rules;
    s->config.env = env;
    if (s->def->cwd.n) s->config.cwd = runtime_moved(s->all->rt, runtime_path(s->all->rt, s->def->cwd, &s->arena), &s->arena);
    return true;
}

static bool configure(Remote *s, Error *err) {
    if (s->configured) return true;
    s->config = (McpClientConfig){ .server = s->def, .version = s->all->config.version, .program = s->all->config.program,
                                  .log = runtime_log(s->all->rt), .redact = runtime_redactor(s->all->rt) };
    remotes_answers(s, &s->config.answers);
    pthread_mutex_lock(&s->lock);
    bool ok = s->def->url.n ? set_url(s, err) : set_program(s, err);
    pthread_mutex_unlock(&s->lock);
    return s->configured = ok;
}

/* ---- opening ---- */

/* A long-running program could write protected files at any time, so it counts as running for its whole life. */
static bool open_link(Remote *s, Cancel *cancel, RemoteLink **out, Error *err) {
    Runtime *rt = s->all->rt;
    bool program = !s->def->url.n, guarded = program && runtime_guard(rt, true, err);
    McpClient *client;
    if (program && !guarded) return false;
    if (!configure(s, err) || !mcp_client_open(&s->config, cancel, &client, err)) {
        if (guarded) runtime_unguard(rt);
        return false;
    }
    RemoteLink *l = mem_zero(1, sizeof *l);
    *l = (RemoteLink){ .client = client, .users = 1, .guarded = guarded, .opened_ns = clock_mono_ns() };
    *out = l;
    return true;
}

static void close_link(Remote *s, RemoteLink *l) {
    Error err = { 0 };
    mcp_client_close(l->client);
    if (l->guarded && !runtime_verify(s->all->rt, &err)) LOG_WRITE(runtime_log(s->all->rt), LOG_ERROR, "server " STR_FMT ": %s",
        STR_ARG(s->def->name), err.msg);
    if (l->guarded) runtime_unguard(s->all->rt);
    free(l);
}

void remotes_give(Remote *s, RemoteLink *l) {
    pthread_mutex_lock(&s->lock);
    bool last = --l->users == 0 && l->dropped;
    pthread_mutex_unlock(&s->lock);
    if (last) close_link(s, l);
}

/* The caller holds the lock. */
static void note_failure(Remote *s, const Error *why, bool young) {
    s->failures = young ? s->failures + 1 : 1;
    int64_t ms = BACKOFF_MS;
    for (int i = 1; i < s->failures && ms < BACKOFF_MAX_MS; i++) ms *= 2;
    s->not_before_ns = clock_mono_ns() + (ms < BACKOFF_MAX_MS ? ms : BACKOFF_MAX_MS) * 1000000;
    s->why = *why;
}

/* Drops a dead connection, and a program that can now write a protected file: it is restarted after its running calls
 * have ended. The caller holds the lock. */
static RemoteLink *drop_unfit(Remote *s) {
    RemoteLink *l = s->link;
    Error why = { 0 };
    bool alive = l && mcp_client_alive(l->client);
    if (!l || (alive && !mcp_client_exposed(l->client))) return NULL;
    s->link = NULL;
    l->dropped = true;
    if (alive) {
        LOG_WRITE(runtime_log(s->all->rt), LOG_INFO, "server " STR_FMT ": a protected file was replaced; restarting the server", STR_ARG(s->def->name));
        return l->users == 0 ? l : NULL;
    }
    error_set(&why, ERR_IO, "server " STR_FMT " ended", STR_ARG(s->def->name));
    note_failure(s, &why, clock_mono_ns() - l->opened_ns < (int64_t)YOUNG_MS * 1000000);
    return l->users == 0 ? l : NULL;
}

/* Waits for the backoff if it is short. */
static bool wait_turn(Remote *s, Cancel *cancel, Error *err) {
    pthread_mutex_lock(&s->lock);
    int64_t wait = s->not_before_ns - clock_mono_ns();
    Error why = s->why;
    int failures = s->failures;
    pthread_mutex_unlock(&s->lock);
    if (wait <= 0) return true;
    if (wait > (int64_t)WAIT_MS * 1000000)
        return error_set(err, ERR_IO, "%.700s (%d times in a row); next attempt in %lld s", why.msg, failures, (long long)(wait / 1000000000 + 1));
    return cancel_sleep(cancel, wait, err);
}

bool remotes_list(Remote *s, RemoteLink *l, Cancel *cancel, Error *err) {
    Heap *h = heap_new(0);
    List *tools = NULL;
    Value *offers = dict_find_str(value_dict(mcp_client_offers(l->client)), STR("capabilities"));
    bool none = offers && value_is_dict(*offers) && !dict_find_str(value_dict(*offers), STR("tools"));
    atomic_store(&s->stale, false);
    bool ok = none || mcp_client_list(l->client, STR("tools/list"), STR("tools"), cancel, h, &tools, err);
    if (ok && !tools) ok = (tools = list_new(h, 0, err)) != NULL;
    Value list = ok ? value_from_object(tools) : VALUE_GONE;
    ok = ok && remotes_redact(s, h, &list, err);
    if (ok) {
        Buf words = { 0 };
        buf_add(&words, value_member_text(mcp_client_offers(l->client), "instructions"));
        redact_text(runtime_redactor(s->all->rt), &words);
        Str instructions = str_sub(buf_str(&words), 0, words.n < INSTRUCTIONS_MAX ? words.n : INSTRUCTIONS_MAX);
        pthread_mutex_lock(&s->lock);
        if (!str_eq(s->instructions, instructions)) s->instructions = arena_str(&s->arena, instructions);
        buf_clear(&words);
        remotes_refresh(s);                               /* first, so that remotes_save overwrites nothing that another process has stored */
        remotes_apply(s, value_list(list));
        s->listed = true;
        remotes_save(s);
        remotes_note_failure(s, STR(""));
        pthread_mutex_unlock(&s->lock);
    }
    heap_free(h);
    return ok;
}

/* Publishes the connection only after its tools were compared with the pins. */
static bool open_now(Remote *s, Cancel *cancel, RemoteLink **out, Error *err) {
    Error why = { 0 };
    RemoteLink *l = NULL;
    bool ok = wait_turn(s, cancel, &why) && open_link(s, cancel, &l, &why);
    if (ok && !remotes_list(s, l, cancel, &why)) ok = false, close_link(s, l);
    redact_chars(runtime_redactor(s->all->rt), why.msg, sizeof why.msg);
    redact_chars(runtime_redactor(s->all->rt), why.hint, sizeof why.hint);
    pthread_mutex_lock(&s->lock);
    s->opening = false;
    if (ok) s->link = l;
    else if (why.kind != ERR_CANCELLED && s->not_before_ns <= clock_mono_ns()) {
        note_failure(s, &why, true);
        remotes_note_failure(s, str_from(why.msg));
    }
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    if (ok) *out = l;
    else if (err) *err = why;
    return ok;
}

static bool take(Remote *s, Cancel *cancel, RemoteLink **out, bool *fresh, Error *err) {
    RemoteLink *dead = NULL;
    bool ok = true, mine = false;
    pthread_mutex_lock(&s->lock);
    ok = runtime_may_act(s->all->rt, err);
    while (ok && s->opening) ok = cancel_wait(&s->changed, &s->lock, cancel, INT64_MAX, err);        /* another thread is opening it */
    if (ok) dead = drop_unfit(s);
    if (ok && s->link) s->link->users++, *out = s->link;
    else if (ok) s->opening = mine = true;
    pthread_mutex_unlock(&s->lock);
    if (dead) close_link(s, dead);
    *fresh = mine;
    return ok && (!mine || open_now(s, cancel, out, err));
}

bool remotes_take(Remote *s, Cancel *cancel, RemoteLink **out, Error *err) {
    bool fresh;
    RemoteLink *l;
    if (!take(s, cancel, &l, &fresh, err)) return false;
    if (!fresh && atomic_load(&s->stale) && !remotes_list(s, l, cancel, err)) return remotes_give(s, l), false;
    *out = l;
    return true;
}
