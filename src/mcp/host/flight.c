/* A request in flight: from registration in the peer's list until its response is written. */
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "mcp/host/host_private.h"
#include "value/int.h"

enum { SPARE_MAX = 16, SPARE_BYTES = 64 << 10, HEAP_MAX = 192 << 20, STALL_MS = 1000, BYTES_MAX = 512 << 20, SMALL = 64 << 10 };

/* ---- memory ---- */

Flight *flight_take(McpHost *s) {
    Flight *f = atomic_exchange_explicit(&s->cached, NULL, memory_order_acquire);
    if (f) return f;
    pthread_mutex_lock(&s->lock);
    f = s->spare;
    if (f) s->spare = f->next, s->n_spare--;
    pthread_mutex_unlock(&s->lock);
    if (f) return f;
    f = mem_zero(1, sizeof *f);
    f->q.heap = heap_new(HEAP_MAX);
    return f;
}

static void trim(Buf *b) {
    if (b->cap > SPARE_BYTES) buf_clear(b);
    else buf_reset(b);
}

void flight_give(McpHost *s, Flight *f) {
    Heap *heap = f->q.heap;
    Buf text = f->q.text, arguments = f->q.arguments, out = f->out;
    mcp_link_release(f->q.link);
    if (f->q.cancel) cancel_free(f->q.cancel);
    trim(&text);
    trim(&arguments);
    trim(&out);
    if (heap_stats(heap).used > SPARE_BYTES) heap_free(heap), heap = heap_new(HEAP_MAX);
    else heap_reset(heap);
    *f = (Flight){ .q = { .heap = heap, .text = text, .arguments = arguments }, .out = out };
    Flight *none = NULL;
    if (atomic_compare_exchange_strong_explicit(&s->cached, &none, f, memory_order_release, memory_order_relaxed)) return;
    pthread_mutex_lock(&s->lock);
    bool keep = s->n_spare < SPARE_MAX;
    if (keep) f->next = s->spare, s->spare = f, s->n_spare++;
    pthread_mutex_unlock(&s->lock);
    if (!keep) flight_free(f);
}

void flight_free(Flight *f) {
    if (!f) return;
    heap_free(f->q.heap);
    buf_clear(&f->q.text);
    buf_clear(&f->q.arguments);
    buf_clear(&f->out);
    free(f);
}

/* ---- the list ---- */

static bool same_id(Value a, Value b) {
    if (value_is_string(a) && value_is_string(b)) return str_eq(value_str(a), value_str(b));
    return value_is_int(a) && value_is_int(b) && int_compare(a, b) == 0;
}

static Flight *find(McpPeer *p, Value id) {
    for (Flight *f = p->flights; f; f = f->next)
        if (f->listed && same_id(f->q.id, id)) return f;
    return NULL;
}

/* Large requests of some clients must not block small ones of others. */
static bool has_room(const McpHost *s, size_t bytes) {
    size_t most = s->config.bytes_max ? s->config.bytes_max : BYTES_MAX, now = atomic_load(&s->bytes);
    return now == 0 || now + bytes <= (bytes > SMALL ? most : 2 * most);
}

static bool may_enter(McpPeer *p, const Flight *f, Error *err) {
    if (p->closing) return error_set(err, ERR_CANCELLED, "the server is shutting down");
    if (f->quick) return true;
    size_t most = p->config.shared ? MCP_SHARED_MAX : MCP_REQUESTS_MAX;
    if (p->n_flights >= most + MCP_PARKED_MAX) return error_set(err, ERR_LIMIT, "too many requests in flight (limit %zu): wait for responses", most);
    if (p->bytes && p->bytes + f->bytes > PEER_BYTES_MAX)
        return error_set(err, ERR_LIMIT, "requests in flight exceed %d bytes: wait for responses", PEER_BYTES_MAX);
    return has_room(p->server, f->bytes) || error_set(err, ERR_LIMIT, "the server is busy with large requests of other clients: try again later");
}

/* Locked: the request is in the list, so another thread may cancel it. */
void flight_attach(Flight *f, PeerRun *run) {
    if (!run) return;
    f->run = run;
    f->q.run = run->run;
    f->q.cancel = cancel_new(run_cancel(run->run), 0);
    if (f->q.peer->closing || atomic_load(&f->quiet)) cancel_fire(f->q.cancel);
}

FlightEntry flight_enter(Flight *f, Error *err) {
    McpPeer *p = f->q.peer;
    pthread_mutex_lock(&p->lock);
    FlightEntry e = !p->config.shared && find(p, f->q.id) ? FLIGHT_ID_USED : may_enter(p, f, err) ? FLIGHT_IN : FLIGHT_FULL;
    if (e == FLIGHT_IN) {
        f->listed = true;
        f->next = p->flights;
        if (f->next) f->next->at = &f->next;
        f->at = &p->flights;
        p->flights = f;
        p->n_flights++;
        p->bytes += f->bytes;
        atomic_fetch_add(&p->server->bytes, f->bytes);
        if (!f->quick) flight_attach(f, peer_newest_run(p));
    }
    pthread_mutex_unlock(&p->lock);
    return e;
}

static void leave(Flight *f) {
    McpPeer *p = f->q.peer;
    pthread_mutex_lock(&p->lock);
    *f->at = f->next;
    if (f->next) f->next->at = f->at;
    f->listed = false;
    pthread_mutex_unlock(&p->lock);
}

/* Signals the end of a request. The peer may be freed as soon as none is in flight. */
static void told(McpPeer *p, PeerRun *run, size_t bytes) {
    atomic_fetch_sub(&p->server->bytes, bytes);
    pthread_mutex_lock(&p->lock);
    if (run) run->users--;
    p->n_flights--;
    p->ended++;
    p->bytes -= bytes;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

static bool is_full(const McpPeer *p) { return p->n_flights >= MCP_REQUESTS_MAX && !p->closing; }

void peer_wait_for_room(McpPeer *p) {
    pthread_mutex_lock(&p->lock);
    while (is_full(p) && p->stalled != p->ended + 1) {
        int64_t until = clock_mono_ns() + (int64_t)STALL_MS * 1000000;
        uint64_t ended = p->ended;
        if (!thread_cond_wait(&p->changed, &p->lock, until) && p->ended == ended) p->stalled = ended + 1;
    }
    pthread_mutex_unlock(&p->lock);
}

/* ---- responding ---- */

void flight_finish(Flight *f, bool ok, const Error *err) {
    McpPeer *p = f->q.peer;
    McpHost *s = f->q.server;
    PeerRun *run = f->run;
    size_t bytes = f->bytes;
    leave(f);
    if (!f->q.answered && !atomic_load(&f->quiet) && f->q.link) {
        serve_write_answer(&f->q, ok, err, &f->out);
        f->q.link->send(f->q.link, buf_str(&f->out), true);
    }
    flight_give(s, f);
    told(p, run, bytes);
}

void flight_cancel(McpPeer *p, Value id) {
    pthread_mutex_lock(&p->lock);
    Flight *f = find(p, id);
    if (f) {
        atomic_store(&f->quiet, true);
        if (f->q.cancel) cancel_fire(f->q.cancel);
    }
    pthread_mutex_unlock(&p->lock);
    if (!f) serve_subscribe_cancel(p, id);
}

/* A closed connection cancels the request in stateless versions; otherwise the client may reconnect for the result. */
void mcp_peer_link_gone(McpPeer *p, McpLink *link) {
    pthread_mutex_lock(&p->lock);
    for (Flight *f = p->flights; f; f = f->next)
        if (f->q.link == link && f->ends_with_link) {
            atomic_store(&f->quiet, true);
            if (f->q.cancel) cancel_fire(f->q.cancel);
        }
    pthread_mutex_unlock(&p->lock);
    serve_subscribe_gone(p, link);
}

void serve_notify(McpRequest *q, Str method, Value params) {
    pthread_mutex_lock(&q->peer->lock);                      /* another thread may be parking or answering the
                                                              * request */
    McpLink *link = atomic_load(&((Flight *)q)->quiet) ? NULL : q->link;
    if (link) mcp_link_keep(link);
    pthread_mutex_unlock(&q->peer->lock);
    if (!link) return;
    Buf out = { 0 };
    rpc_write_notification(&out, method, params);
    link->send(link, buf_str(&out), false);
    buf_clear(&out);
    mcp_link_release(link);
}

/* ---- waiting for the client ---- */

void serve_park(McpRequest *q, Value result) {
    Flight *f = (Flight *)q;
    McpPeer *p = q->peer;
    q->result = result;
    q->result_type = "input_required";
    pthread_mutex_lock(&p->lock);
    McpLink *link = q->link;
    bool heard = link && !atomic_load(&f->quiet);
    f->listed = false;
    q->link = NULL;
    if (heard) serve_write_answer(q, true, NULL, &f->out);    /* with the lock held: the client may resend at once,
                                                               * under another id */
    q->result_type = NULL;
    q->result = VALUE_GONE;
    pthread_mutex_unlock(&p->lock);
    if (heard) link->send(link, buf_str(&f->out), true);
    mcp_link_release(link);
}

/* The parked request's heap is not in use: its thread waits. */
void serve_unpark(McpRequest *q, McpRequest *as) {
    Flight *f = (Flight *)q, *g = (Flight *)as;
    McpPeer *p = q->peer;
    Error err;
    pthread_mutex_lock(&p->lock);
    q->progress = VALUE_GONE;
    bool ok = value_copy_all_into(q->heap, as->id, &q->id, &err)
        && (value_is_gone(as->progress) || value_copy_all_into(q->heap, as->progress, &q->progress, &err));
    f->listed = ok;
    g->listed = false;
    q->link = as->link;
    q->level = as->level;
    as->link = NULL;
    as->answered = true;
    if (atomic_load(&g->quiet)) {                            /* the client that resumed it has already left */
        atomic_store(&f->quiet, true);
        cancel_fire(q->cancel);
    }
    pthread_mutex_unlock(&p->lock);
}

/* Several calls of one request may ask at the same time; the request's thread waits for all of them. */
bool serve_wait(McpRequest *q, Error *err) {
    Flight *f = (Flight *)q;
    if (!f->scheduled) return true;
    pthread_mutex_lock(&q->peer->lock);
    bool ok = f->waits > 0 || scheduler_wait_begin(q->server->scheduler, q->peer, err);
    if (ok) f->waits++;
    pthread_mutex_unlock(&q->peer->lock);
    return ok;
}

void serve_go_on(McpRequest *q) {
    Flight *f = (Flight *)q;
    if (!f->scheduled) return;
    pthread_mutex_lock(&q->peer->lock);
    if (--f->waits == 0) scheduler_wait_end(q->server->scheduler, q->peer);
    pthread_mutex_unlock(&q->peer->lock);
}
