#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "mcp/host/host_private.h"
#include "mcp/host/watch.h"

enum { RUNNING_MAX = 24 };               /* maximum of concurrent requests */

/* ---- links ---- */

void mcp_link_keep(McpLink *l) { atomic_fetch_add_explicit(&l->holders, 1, memory_order_relaxed); }

void mcp_link_release(McpLink *l) {
    if (l && atomic_fetch_sub_explicit(&l->holders, 1, memory_order_acq_rel) == 1) l->free(l);
}

/* ---- projects ---- */

static void project_close(ServeProject *p) {
    for (int v = 0; v < MCP_NONE; v++) {
        buf_clear(&p->tools[v].text);
        free(p->tools[v].shown);
    }
    pthread_mutex_destroy(&p->lock);
    agent_set_free(p->agents);
    mcp_remotes_stop(p->servers);
    runtime_close(p->rt);
    mcp_remotes_free(p->servers);
    free(p);
}

/* Asks the project's MCP servers for their tools once: when it is opened, or as soon as it is trusted. */
static void list_servers(ServeProject *p) {
    if (atomic_load(&p->asked) || !runtime_may_act(p->rt, NULL) || atomic_exchange(&p->asked, true)) return;
    mcp_remotes_list(p->servers, NULL);
}

ServeProject *serve_project(McpHost *s) {
    pthread_mutex_lock(&s->lock);
    ServeProject *p = s->project;
    p->holders++;
    pthread_mutex_unlock(&s->lock);
    list_servers(p);
    return p;
}

void serve_project_release(McpHost *s, ServeProject *p) {
    pthread_mutex_lock(&s->lock);
    bool last = --p->holders == 0;
    pthread_mutex_unlock(&s->lock);
    if (last) project_close(p);
}

void serve_project_set(McpHost *s, Runtime *rt, Agents *agents) {
    ServeProject *p = mem_zero(1, sizeof *p), *old;
    Error err = { 0 };
    *p = (ServeProject){ .rt = rt, .agents = agents, .holders = 1 };
    pthread_mutex_init(&p->lock, NULL);
    if (mcp_remotes_new(rt, &(McpRemotesConfig){ .version = MCP_NONE, .program = s->config.version }, &p->servers, &err)) list_servers(p);
    else LOG_WRITE(runtime_log(rt), LOG_WARN, "%s; so the tools of other servers are missing", err.msg);
    pthread_mutex_lock(&s->lock);
    old = s->project;
    s->project = p;
    pthread_mutex_unlock(&s->lock);
    if (old) serve_project_release(s, old);
}

/* ---- the server ---- */

bool serve_project_open(const McpHostConfig *config, Runtime *share, Runtime **rt, Agents **agents, Problems *problems, Error *err) {
    RuntimeConfig c = config->runtime;
    c.share = share;
    c.untrusted = !share || !runtime_may_act(share, NULL);   /* clients get a response, and every call reports why it
                                                              * fails */
    if (!runtime_open(&c, rt, problems, err)) return false;
    if (config->secret.n) redact_add_value(runtime_redactor(*rt), config->secret);
    return agent_set_new(*rt, &(AgentsConfig){ 0 }, agents, err) || (runtime_close(*rt), false);     /* the tool `delegate` needs agents */
}

bool mcp_host_new(const McpHostConfig *config, McpHost **out, Problems *problems, Error *err) {
    Runtime *rt;
    Agents *agents;
    Error why = { 0 };
    int64_t since_ns = clock_file_ns();
    if (!serve_project_open(config, NULL, &rt, &agents, problems, err)) return false;
    McpHost *s = mem_zero(1, sizeof *s);
    s->config = *config;
    s->scheduler = scheduler_new(RUNNING_MAX);
    s->keys = rpc_keys();
    pthread_mutex_init(&s->lock, NULL);
    serve_project_set(s, rt, agents);
    if (config->watch && !serve_watch_start(s, since_ns, &why)) {
        s->config.watch = false;
        LOG_WRITE(config->log, LOG_WARN, "%s: changed files are not noticed", why.msg);
    }
    *out = s;
    return true;
}

void peer_each(McpHost *s, void (*each)(void *ctx, McpPeer *p), void *ctx) {
    pthread_mutex_lock(&s->lock);
    for (McpPeer *p = s->peers; p; p = p->next) each(ctx, p);
    pthread_mutex_unlock(&s->lock);
}

static void free_spare(McpHost *s) {
    flight_free(atomic_load(&s->cached));
    for (Flight *f = s->spare, *next; f; f = next) next = f->next, flight_free(f);
}

void mcp_host_abandon(McpHost *s) {
    enum { ABANDON_MS = 10000 };
    ServeProject *p = serve_project(s);
    (void)runtime_abandon(p->rt, ABANDON_MS);
}

void mcp_host_close(McpHost *s, int64_t grace_ms) {
    if (!s) return;
    int64_t until = clock_mono_ns() + grace_ms * 1000000;
    serve_watch_stop(s);
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_mutex_unlock(&s->lock);
    while (s->peers) {                                   /* no peer can be added any more */
        int64_t left = (until - clock_mono_ns()) / 1000000;
        mcp_peer_close(s->peers, left > 0 ? left : 0);
    }
    scheduler_free(s->scheduler);
    free_spare(s);
    serve_project_release(s, s->project);
    json_keys_free(s->keys);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
