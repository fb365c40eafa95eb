#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/scheduler.h"
#include "base/thread.h"
#include "mcp/remote/remotes_private.h"

Remote *remotes_find(McpRemotes *m, Str name) {
    for (size_t i = 0; i < m->n; i++)
        if (str_eq(m->servers[i].def->name, name)) return &m->servers[i];
    return NULL;
}

/* ---- creating ---- */

/* Faces come first: a tool that has one is hidden under its raw name. */
static bool add_faces(McpRemotes *m, Error *err) {
    const Project *p = runtime_project(m->rt);
    for (size_t i = 0; i < p->n_tools; i++)
        if (p->tools[i].kind == TOOL_MCP && !remotes_add_face(remotes_find(m, p->tools[i].server), m, &p->tools[i], err)) return false;
    return true;
}

bool mcp_remotes_new(Runtime *rt, const McpRemotesConfig *config, McpRemotes **out, Error *err) {
    const Project *p = runtime_project(rt);
    McpRemotes *m = mem_zero(1, sizeof *m);
    m->rt = rt;
    m->config = *config;
    m->stop = cancel_new(NULL, 0);
    m->n = p->n_servers;
    m->servers = mem_zero(m->n + 1, sizeof *m->servers);
    for (size_t i = 0; i < m->n; i++) {
        Remote *s = &m->servers[i];
        s->all = m;
        s->def = &p->servers[i];
        pthread_mutex_init(&s->lock, NULL);
        thread_cond_init(&s->changed);
    }
    bool ok = add_faces(m, err);
    for (size_t i = 0; ok && i < m->n; i++) ok = remotes_hash(&m->servers[i], err) && remotes_load(&m->servers[i], err);
    if (ok) *out = m;
    else mcp_remotes_free(m);
    return ok;
}

/* ---- stopping ---- */

static void stop_one(void *arg) {
    Remote *s = arg;
    pthread_mutex_lock(&s->lock);
    RemoteLink *l = s->link;
    s->link = NULL;
    if (l) l->dropped = true;
    if (l) l->users++;
    pthread_mutex_unlock(&s->lock);
    if (l) remotes_give(s, l);
}

void mcp_remotes_stop(McpRemotes *m) {
    if (!m) return;
    Error err;
    cancel_fire(m->stop);
    if (m->n == 0) return;
    Scheduler *parallel = scheduler_new(m->n);
    for (size_t i = 0; i < m->n; i++)
        if (!scheduler_add(parallel, NULL, stop_one, &m->servers[i], &err)) stop_one(&m->servers[i]);
    scheduler_free(parallel);
}

void mcp_remotes_free(McpRemotes *m) {
    if (!m) return;
    for (size_t i = 0; i < m->n; i++) {
        Remote *s = &m->servers[i];
        for (size_t k = 0; k < s->tools.n; k++) remotes_tool_free(s->tools.at[k]);
        VEC_CLEAR(&s->tools);
        oauth_free(s->oauth);
        arena_clear(&s->arena);
        pthread_mutex_destroy(&s->lock);
        pthread_cond_destroy(&s->changed);
    }
    cancel_free(m->stop);
    arena_clear(&m->arena);
    free(m->servers);
    free(m);
}

/* ---- listing ---- */

typedef struct Listing { Remote *server; Cancel *cancel; } Listing;

static bool wanted(Remote *s) {
    pthread_mutex_lock(&s->lock);
    bool want = !s->listed;
    pthread_mutex_unlock(&s->lock);
    return want;
}

static void list_one(void *arg) {
    Listing *l = arg;
    Remote *s = l->server;
    RemoteLink *link;
    Error err = { 0 };
    Cancel *own = s->def->timeout_ms > 0 ? cancel_new_pausable(l->cancel, s->def->timeout_ms * 1000000) : NULL;
    if (remotes_take(s, own ? own : l->cancel, &link, &err)) remotes_give(s, link);
    else LOG_WRITE(runtime_log(s->all->rt), LOG_WARN, "%s%s%s%s; server " STR_FMT " is unavailable, so its tools are missing", err.msg,
                   err.hint[0] ? " (" : "", err.hint, err.hint[0] ? ")" : "", STR_ARG(s->def->name));
    cancel_free(own);
}

void mcp_remotes_list(McpRemotes *m, Cancel *cancel) {
    if (!m) return;
    size_t n = 0;
    Error err = { 0 };
    if (m->n && !runtime_may_act(m->rt, &err)) {
        LOG_WRITE(runtime_log(m->rt), LOG_WARN, "%s; so the tools of MCP servers that were never listed are missing", err.msg);
        return;
    }
    Listing *all = mem_alloc((m->n + 1) * sizeof *all);
    for (size_t i = 0; i < m->n; i++)
        if (wanted(&m->servers[i])) all[n++] = (Listing){ &m->servers[i], cancel };
    Scheduler *parallel = n > 1 ? scheduler_new(n) : NULL;
    for (size_t i = 0; i < n; i++)
        if (!parallel || !scheduler_add(parallel, NULL, list_one, &all[i], &err)) list_one(&all[i]);
    scheduler_free(parallel);
    free(all);
}

void mcp_remotes_list_for(McpRemotes *m, Str tool, Cancel *cancel) {
    bool raw = str_starts(tool, STR("mcp:")), alias = str_starts(tool, STR("mcp__"));
    if (!m || (!raw && !alias)) return;
    Str rest = str_sub(tool, raw ? 4 : 5, tool.n);
    for (size_t i = 0; i < m->n; i++) {
        Str name = m->servers[i].def->name, end = raw ? STR(":") : STR("__");
        if (str_starts(rest, name) && str_starts(str_sub(rest, name.n, rest.n), end) && wanted(&m->servers[i])) list_one(&(Listing){ &m->servers[i], cancel });
    }
}

static bool reach(McpRemotes *m, Str server, Str method, Value params, Cancel *cancel, Heap *heap, Value *out, Error *err) {
    Remote *s = remotes_find(m, server);
    RemoteLink *link;
    bool sent;
    if (!s) return error_set(err, ERR_VALIDATION, "no MCP server is named \"" STR_FMT "\" (see harness mcp list)", STR_ARG(server));
    Cancel *own = s->def->timeout_ms > 0 ? cancel_new_pausable(cancel, s->def->timeout_ms * 1000000) : NULL, *token = own ? own : cancel;
    bool taken = remotes_take(s, token, &link, err);
    bool ok = taken && (!method.n || (mcp_client_request(link->client, method, params, NULL, token, heap, out, &sent, err)
        && remotes_redact(s, heap, out, err)));
    if (!ok) redact_chars(runtime_redactor(m->rt), err->msg, sizeof err->msg);
    if (taken) remotes_give(s, link);
    cancel_free(own);
    return ok;
}

bool mcp_remotes_ask(McpRemotes *m, Str server, Cancel *cancel, Error *err) {
    return reach(m, server, (Str){ 0 }, VALUE_GONE, cancel, NULL, NULL, err);
}

bool mcp_remotes_request(McpRemotes *m, Str server, Str method, Value params, Cancel *cancel, Heap *heap, Value *out, Error *err) {
    return reach(m, server, method, params, cancel, heap, out, err);
}

/* ---- requests ---- */

size_t mcp_remotes_count(const McpRemotes *m) { return m ? m->n : 0; }

McpServerFacts mcp_remotes_facts(McpRemotes *m, size_t i) {
    Remote *s = &m->servers[i];
    McpServerFacts f = { .def = s->def };
    pthread_mutex_lock(&s->lock);
    f.listed = s->listed;
    f.running = s->link && mcp_client_alive(s->link->client);
    for (size_t k = 0; k < s->tools.n; k++) {
        const RemoteTool *t = s->tools.at[k];
        f.tools += t->pin.n && !t->gone && t->registered.n;
        f.held += t->changed.n > 0;
    }
    f.instructions = s->instructions;
    if (s->failures) snprintf(f.problem, sizeof f.problem, "%.590s", s->why.msg);
    else if (s->failed.n) snprintf(f.problem, sizeof f.problem, STR_FMT, STR_ARG(str_sub(s->failed, 0, 590)));
    pthread_mutex_unlock(&s->lock);
    return f;
}
