/* Messages from a client: classifies and checks them, and starts requests. */
#include "mcp/host/host_private.h"
#include "value/list.h"

static void send_error(McpLink *link, Value id, int code, const char *message) {
    if (!link) return;
    Buf out = { 0 };
    rpc_write_error(&out, id, code, str_from(message), VALUE_GONE);
    link->send(link, buf_str(&out), true);
    buf_clear(&out);
}

/* ---- notifications ---- */

static void take_notification(McpPeer *p, const RpcMessage *m) {
    if (str_eq(m->method, STR("notifications/initialized"))) {
        atomic_store(&p->ready, true);
    } else if (str_eq(m->method, STR("notifications/cancelled")) && !value_is_gone(m->params) && !p->config.shared) {
        Value *id = dict_find_str(value_dict(m->params), STR("requestId"));
        if (id && rpc_is_id(*id)) flight_cancel(p, *id);
    }
}

/* ---- requests ---- */

static void work(void *flight) {
    Flight *f = flight;
    MEM_UNSET Error err;
    error_none(&err);
    bool ok = f->method->run(&f->q, &err);
    flight_finish(f, ok, &err);
}

/* The first request of a peer, or after the project was reloaded, starts a run. */
static bool attach_run(Flight *f, Error *err) {
    if (f->run) return true;
    PeerRun *run = peer_use_run(f->q.peer, err);
    pthread_mutex_lock(&f->q.peer->lock);
    flight_attach(f, run);
    pthread_mutex_unlock(&f->q.peer->lock);
    return run != NULL;
}

static bool prepare(Flight *f, McpVersion version, Error *err) {
    McpRequest *q = &f->q;
    if (!serve_prepare(q, version, err)) return false;
    if (!serve_method_in(f->method, q->version)) {
        q->code = RPC_METHOD_NOT_FOUND;
        return error_set(err, ERR_PROTOCOL, "unknown method \"" STR_FMT "\" in %s", STR_ARG(q->method), mcp_version_date(q->version).at);
    }
    return f->method->how == SERVE_QUICK || attach_run(f, err);
}

/* NULL: already answered. */
static Flight *start(Flight *f, McpVersion version) {
    McpRequest *q = &f->q;
    MEM_UNSET Error err;
    error_none(&err);
    bool ok = prepare(f, version, &err), resumed = ok && mcp_stateless(q->version) && serve_param(q, "requestState");
    if (resumed) ok = serve_input_resume(q, &err);
    else if (ok && f->method->how == SERVE_WORK) return f;
    else if (ok) ok = f->method->run(q, &err);
    flight_finish(f, ok, &err);
    return NULL;
}

/* True for a stateless message. Known before the request is parsed in full. */
static bool is_stateless(const RpcMessage *m, McpVersion version) {
    return mcp_stateless(version) || !value_is_gone(value_member(value_member(m->params, "_meta"), "io.modelcontextprotocol/protocolVersion"));
}

static Flight *take_request(Flight *f, McpPeer *p, const RpcMessage *m, McpVersion version, McpLink *link) {
    MEM_UNSET Error err;
    error_none(&err);
    f->q = (McpRequest){ .server = p->server, .peer = p, .id = m->id, .method = m->method, .heap = f->q.heap, .text = f->q.text,
                         .arguments = f->q.arguments, .params = m->params, .ttl_ms = -1, .level = MCP_LEVEL_OFF, .version = MCP_NONE, .link = link };
    f->method = serve_method_named(m->method);
    f->quick = !f->method || f->method->how == SERVE_QUICK;
    f->ends_with_link = is_stateless(m, version);
    if (link) mcp_link_keep(link);
    switch (flight_enter(f, &err)) {
    case FLIGHT_IN:
        return start(f, version);
    case FLIGHT_ID_USED:                                     /* respond with this id anyway, although the client may
                                                              * match it to the other request */
        send_error(link, m->id, RPC_INVALID_REQUEST, "the id of this request is still in use by another one");
        break;
    case FLIGHT_FULL:
        send_error(link, m->id, RPC_INTERNAL, err.msg);
        break;
    }
    f->q.peer = NULL;
    flight_give(p->server, f);
    return NULL;
}

/* Consumes `f`, which holds the message's memory. */
static Flight *take(Flight *f, McpPeer *p, const RpcMessage *m, McpVersion version, McpLink *link) {
    if (m->kind == RPC_REQUEST) return take_request(f, p, m, version, link);
    if (m->kind == RPC_NOTIFICATION) take_notification(p, m);
    else serve_input_response(p, m);
    flight_give(p->server, f);
    return NULL;
}

void peer_schedule(Flight *f) {
    Error err = { 0 };
    f->scheduled = true;
    if (!scheduler_add(f->q.server->scheduler, f->q.peer, work, f, &err)) flight_finish(f, false, &err);
}

void peer_schedule_last(Flight *f) {
    f->scheduled = true;
    scheduler_add_last(f->q.server->scheduler, f->q.peer, work, f);
}

/* ---- batches ---- */

static bool is_request(Value v) {
    RpcMessage m;
    int code;
    Error err;
    return !rpc_message(v, &m, &code, &err) || m.kind == RPC_REQUEST;        /* malformed ones are answered too */
}

static void take_batch(McpPeer *p, const List *all, McpVersion version, McpLink *link) {
    size_t answers = 0;
    for (uint32_t i = 0; i < all->n; i++) answers += is_request(all->at[i]);
    McpLink *shared = link ? peer_batch_link(link, answers) : NULL;
    for (uint32_t i = 0; i < all->n; i++) {
        RpcMessage m;
        int code;
        Error err = { 0 };
        Flight *f = NULL;
        if (rpc_message(all->at[i], &m, &code, &err)) f = peer_begin_message(p, &m, version, shared);
        else send_error(shared, m.id, code, err.msg);
        if (f) peer_schedule(f);
    }
    mcp_link_release(shared);
}

static bool may_batch(McpPeer *p, const List *all, McpVersion version, Error *err) {
    McpVersion has = mcp_peer_version(p);
    if (has == MCP_NONE) has = version;
    if (!mcp_batches(has)) return error_set(err, ERR_PROTOCOL, "a message must be an object: only protocol version 2025-03-26 has batches");
    if (all->n == 0) return error_set(err, ERR_PROTOCOL, "a batch must not be empty");
    return all->n <= MCP_REQUESTS_MAX || error_set(err, ERR_PROTOCOL, "a batch may have %d messages at most", MCP_REQUESTS_MAX);
}

/* ---- public ---- */

Flight *peer_begin(McpPeer *p, Str message, McpVersion version, McpLink *link) {
    Flight *f = flight_take(p->server);
    RpcMessage m = { 0 };
    Value v;
    int code;
    MEM_UNSET Error err;
    error_none(&err);
    bool read = rpc_read_json(f->q.heap, message, p->server->keys, &v, &code, &err);
    f->bytes = heap_stats(f->q.heap).used;
    if (read && value_is_list(v)) {
        code = RPC_INVALID_REQUEST;
        read = may_batch(p, value_list(v), version, &err);
        if (read) {
            take_batch(p, value_list(v), version, link);
            flight_give(p->server, f);
            return NULL;
        }
    } else if (read) {
        read = rpc_message(v, &m, &code, &err);
    }
    if (read) return take(f, p, &m, version, link);
    send_error(link, m.id, code, err.msg);
    flight_give(p->server, f);
    return NULL;
}

Flight *peer_begin_message(McpPeer *p, const RpcMessage *message, McpVersion version, McpLink *link) {
    Flight *f = flight_take(p->server);
    RpcMessage m = *message;
    Error err = { 0 };
    String *name = string_new(f->q.heap, m.method, &err);
    bool ok = name && (value_is_gone(m.params) || value_copy_all_into(f->q.heap, m.params, &m.params, &err)) &&
              (value_is_gone(m.id) || value_copy_all_into(f->q.heap, m.id, &m.id, &err));
    if (ok) {
        m.method = value_str(value_from_object(name));
        f->bytes = heap_stats(f->q.heap).used;
        return take(f, p, &m, version, link);
    }
    send_error(link, message->id, RPC_INTERNAL, err.msg);
    flight_give(p->server, f);
    return NULL;
}
