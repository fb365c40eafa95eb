/* The life of a client: its runs, its general link, its end. */
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "mcp/host/host_private.h"
#include "mcp/host/tasks.h"

McpPeer *mcp_peer_new(McpHost *s, const McpPeerConfig *config, Error *err) {
    McpPeer *p = mem_zero(1, sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    thread_cond_init(&p->changed);
    p->server = s;
    p->config = *config;
    p->session = str_dup(config->session);
    p->config.session = str_from(p->session);
    p->version = MCP_NONE;
    p->level = MCP_LEVEL_INFO;
    p->about = heap_new(0);
    p->general = config->general;
    if (p->general) mcp_link_keep(p->general);
    pthread_mutex_lock(&s->lock);
    bool open = !s->closing;
    if (open) p->next = s->peers, s->peers = p;
    pthread_mutex_unlock(&s->lock);
    if (open) return p;
    error_set(err, ERR_CANCELLED, "the server is shutting down");
    mcp_peer_close(p, 0);
    return NULL;
}

McpVersion mcp_peer_version(const McpPeer *p) { return atomic_load_explicit(&p->version, memory_order_acquire); }

void peer_send_general(McpPeer *p, Str message) {
    pthread_mutex_lock(&p->lock);
    McpLink *l = p->general;
    if (l) mcp_link_keep(l);
    pthread_mutex_unlock(&p->lock);
    if (l) l->send(l, message, false);
    mcp_link_release(l);
}

/* ---- runs ---- */

static void end_run(McpPeer *p, PeerRun *r) {
    Error err = { 0 };
    if (!run_end(r->run, RUN_COMPLETED, &err)) LOG_WRITE(p->server->config.log, LOG_ERROR, "cannot record the end of an MCP session: %s", err.msg);
    serve_project_release(p->server, r->project);
    free(r);
}

static PeerRun *start_run(McpPeer *p, ServeProject *project, Error *err) {
    EventSink sink;
    RunConfig config = { .session = p->config.session, .served = true, .after = p->runs[1] ? p->runs[1]->run : NULL };
    PeerRun *r = mem_zero(1, sizeof *r);
    if (p->server->config.events >= 0) {
        sink = event_sink_lines(p->server->config.events, false);
        config.sinks = &sink;
        config.n_sinks = 1;
    }
    r->project = project;
    if (run_start(project->rt, &config, &r->run, err)) return r;
    free(r);
    return NULL;
}

/* Shifts the runs to make room for a new one; *out is the run to end. False: all are in use. */
static bool shift_runs(McpPeer *p, PeerRun **out) {
    size_t n = 0;
    while (n < PEER_RUNS_MAX && p->runs[n]) n++;
    *out = NULL;
    if (n == PEER_RUNS_MAX) {
        size_t oldest = n;
        while (oldest > 0 && p->runs[oldest - 1]->users) oldest--;
        if (oldest == 0) return false;
        n = oldest - 1;
        *out = p->runs[n];
    }
    memmove(&p->runs[1], &p->runs[0], n * sizeof *p->runs);
    p->runs[0] = NULL;
    return true;
}

/* The run of the newest project, or NULL. A run keeps its project alive, so comparing pointers is safe. */
PeerRun *peer_newest_run(McpPeer *p) {
    PeerRun *r = p->runs[0];
    if (!r || r->project != atomic_load(&p->server->project) || !atomic_load(&r->project->asked)) return NULL;
    r->users++;
    return r;
}

PeerRun *peer_use_run(McpPeer *p, Error *err) {
    ServeProject *project = serve_project(p->server);       /* before locking the peer: the server's lock comes first */
    PeerRun *gone = NULL, *r = NULL;
    pthread_mutex_lock(&p->lock);
    bool fresh = p->runs[0] && p->runs[0]->project == project;
    if (!fresh && shift_runs(p, &gone)) {
        r = p->runs[0] = start_run(p, project, err);
        if (r) project = NULL;                               /* now owned by the run */
        else memmove(&p->runs[0], &p->runs[1], (PEER_RUNS_MAX - 1) * sizeof *p->runs), p->runs[PEER_RUNS_MAX - 1] = NULL;
    } else {
        r = p->runs[0];
    }
    if (r) r->users++;
    pthread_mutex_unlock(&p->lock);
    if (project) serve_project_release(p->server, project);
    if (gone) end_run(p, gone);
    return r;
}

void peer_leave_run(McpPeer *p, PeerRun *r) {
    pthread_mutex_lock(&p->lock);
    r->users--;
    pthread_mutex_unlock(&p->lock);
}

/* ---- the end ---- */

bool mcp_peer_idle(McpPeer *p) {
    pthread_mutex_lock(&p->lock);
    bool idle = p->n_flights == 0;
    for (size_t i = 0; i < PEER_RUNS_MAX && p->runs[i]; i++) idle = idle && p->runs[i]->users == 0;      /* a task of it is running */
    pthread_mutex_unlock(&p->lock);
    return idle && !serve_tasks_working(p);
}

static void fire_all(McpPeer *p) {
    for (Flight *f = p->flights; f; f = f->next)
        if (f->q.cancel) cancel_fire(f->q.cancel);
}

void peer_drain(McpPeer *p, int64_t grace_ms) {
    int64_t until = clock_mono_ns() + grace_ms * 1000000;
    serve_input_end(p);
    pthread_mutex_lock(&p->lock);
    p->closing = true;
    while (p->n_flights && grace_ms > 0)
        if (!thread_cond_wait(&p->changed, &p->lock, until)) break;
    fire_all(p);
    while (p->n_flights) pthread_cond_wait(&p->changed, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

static void unlist(McpPeer *p) {
    pthread_mutex_lock(&p->server->lock);
    McpPeer **at = &p->server->peers;
    while (*at && *at != p) at = &(*at)->next;
    if (*at) *at = p->next;
    pthread_mutex_unlock(&p->server->lock);
}

void mcp_peer_close(McpPeer *p, int64_t grace_ms) {
    if (!p) return;
    peer_drain(p, grace_ms);
    unlist(p);
    /* before the closes below: tasks of a run use them until the run ends */
    for (size_t i = 0; i < PEER_RUNS_MAX && p->runs[i]; i++) end_run(p, p->runs[i]);
    serve_subscribe_close(p);
    serve_input_close(p);
    serve_tasks_close(p);
    mcp_link_release(p->general);
    heap_free(p->about);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->changed);
    free(p->session);
    free(p);
}
