#include "mcp/remote/client_private.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#define META "io.modelcontextprotocol/"

/* ---- opening and closing ---- */

/* Adds the server and the request to a message such as "timed out after 60 s". */
static void name_timeout(const McpClient *c, int64_t from_ns, Error *err) {
    double s = (double)(clock_mono_ns() - from_ns) / 1e9;
    error_set(err, ERR_TIMEOUT, "server " STR_FMT " did not answer within %.*f s", STR_ARG(c->config.server->name), s < 1 ? 1 : 0, s);
}

static Str base_name(Str path) {
    size_t at = path.n;
    while (at > 0 && path.at[at - 1] != '/') at--;
    return str_sub(path, at, path.n);
}

/* Adds a hint about the likely cause. npx, uvx and similar programs hang when they download a package without a network. */
static void add_cause(const McpClient *c, Error *err) {
    const ServerDef *d = c->config.server;
    Str program = base_name(d->command);
    if (d->url.n) return;
    if (err->kind == ERR_TIMEOUT && (d->network || !mcp_client_fetches(d->command)))
        error_hint(err, "is it an MCP server? A server answers JSON-RPC on its standard output");
    if (!d->network && mcp_client_fetches(d->command))
        error_hint(err, "the sandbox has no network and " STR_FMT " needs it: write network: true below " STR_FMT ": in mcp_servers",
            STR_ARG(program), STR_ARG(d->name));
}

bool mcp_client_fetches(Str command) {
    static const char *const names[] = { "npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun", "uvx", "uv", "pipx", "docker", "podman", "deno" };
    Str name = base_name(command);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_eq(name, str_from(names[i]))) return true;
    return false;
}

bool mcp_client_open(const McpClientConfig *config, Cancel *cancel, McpClient **out, Error *err) {
    McpClient *c = mem_zero(1, sizeof *c);
    c->config = *config;
    c->version = MCP_NONE;
    c->heap = heap_new(0);
    c->stop = cancel_new(NULL, 0);
    c->next_id = 1;
    pthread_mutex_init(&c->lock, NULL);
    thread_cond_init(&c->changed);
    Error why = { 0 };
    int64_t from_ns = clock_mono_ns();
    bool ok = (config->server->url.n ? client_http_open(c, &why) : client_stdio_open(c, &why)) && client_negotiate(c, cancel, &why);
    if (ok) return *out = c, true;
    if (why.kind == ERR_TIMEOUT) name_timeout(c, from_ns, &why);
    if (c->wire && c->transport->explain) c->transport->explain(c, &why);
    if (why.kind == ERR_TIMEOUT || why.kind == ERR_IO) add_cause(c, &why);
    mcp_client_close(c);
    if (err) *err = why;
    return false;
}

void mcp_client_close(McpClient *c) {
    if (!c) return;
    cancel_fire(c->stop);
    client_listen_end(c);
    scheduler_free(c->scheduler);                         /* first, because its jobs send messages */
    if (c->wire) c->transport->close(c);
    for (size_t i = 0; i < sizeof c->kept / sizeof *c->kept; i++) buf_clear(&c->kept[i].json);
    client_headers_free(c);
    cancel_free(c->stop);
    heap_free(c->heap);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->changed);
    free(c);
}

McpVersion mcp_client_version(const McpClient *c) { return c->version; }
Value mcp_client_offers(const McpClient *c) { return c->offers; }

bool mcp_client_alive(McpClient *c) {
    pthread_mutex_lock(&c->lock);
    bool alive = !c->dead;
    pthread_mutex_unlock(&c->lock);
    return alive;
}

bool mcp_client_exposed(McpClient *c) { return c->transport && c->transport->exposed && c->transport->exposed(c); }

/* ---- helpers ---- */

static bool put(Heap *h, Dict *d, const char *key, Value v, Error *err) { return dict_put_str(h, d, str_from(key), v, err); }

static bool put_empty(Heap *h, Dict *d, const char *key, Error *err) {
    Dict *e = dict_new(h, 0, err);
    return e && put(h, d, key, value_from_object(e), err);
}

bool client_info(const McpClient *c, Heap *h, Value *out, Error *err) {
    Dict *d = dict_new(h, 2, err);
    if (!d || !dict_put_text(h, d, "name", STR("harness"), err)
        || !dict_put_text(h, d, "version", str_from(c->config.program ? c->config.program : "0"), err)) return false;
    return *out = value_from_object(d), true;
}

bool client_capabilities(const McpClient *c, Heap *h, Value *out, Error *err) {
    const McpClientAnswers *a = &c->config.answers;
    Dict *d = dict_new(h, 4, err), *inside;
    bool ok = d != NULL;
    if (ok && a->roots) ok = put_empty(h, d, "roots", err);
    if (ok && a->sample) ok = put_empty(h, d, "sampling", err);
    if (ok && a->elicit && c->version < MCP_2025_11_25) ok = put_empty(h, d, "elicitation", err);
    else if (ok && a->elicit)
        ok = (inside = dict_new(h, 1, err)) && put_empty(h, inside, "form", err) && put(h, d, "elicitation", value_from_object(inside), err);
    const char *grant = c->config.oauth ? oauth_extension(c->config.oauth) : NULL;
    if (ok && mcp_stateless(c->version))
        ok = (inside = dict_new(h, 2, err)) && put_empty(h, inside, META "tasks", err) && (!grant || put_empty(h, inside, grant, err))
             && put(h, d, "extensions", value_from_object(inside), err);
    if (ok) *out = value_from_object(d);
    return ok;
}

/* ---- sending a message ---- */

/* Copies the params and adds _meta: information about the client, and the progress token. */
static bool add_meta(McpClient *c, Heap *h, Str method, Value params, uint64_t id, Value *out, Error *err) {
    bool progress = c->config.answers.progress && str_eq(method, STR("tools/call"));
    if (!mcp_stateless(c->version) && !progress) return *out = params, true;
    Value given = value_member(params, "_meta"), who, can;
    Dict *all, *meta;
    bool ok = value_is_dict(params) ? dict_copy(h, value_dict(params), &all, err) : (all = dict_new(h, 1, err)) != NULL;
    ok = ok && (value_is_dict(given) ? dict_copy(h, value_dict(given), &meta, err) : (meta = dict_new(h, 4, err)) != NULL);
    if (ok && mcp_stateless(c->version))
        ok = client_info(c, h, &who, err) && client_capabilities(c, h, &can, err)
             && dict_put_text(h, meta, META "protocolVersion", mcp_version_date(c->version), err) && put(h, meta, META "clientInfo", who, err)
             && put(h, meta, META "clientCapabilities", can, err);
    if (ok && progress) ok = put(h, meta, "progressToken", value_from_small((int64_t)id), err);
    ok = ok && put(h, all, "_meta", value_from_object(meta), err);
    if (ok) *out = value_from_object(all);
    return ok;
}

static Str header_name(Str method, Value params) {
    if (str_eq(method, STR("tools/call")) || str_eq(method, STR("prompts/get"))) return value_member_text(params, "name");
    if (str_eq(method, STR("resources/read"))) return value_member_text(params, "uri");
    return str_starts(method, STR("tasks/")) ? value_member_text(params, "taskId") : (Str){ 0 };
}

bool client_notify(McpClient *c, Str method, Value params, Cancel *cancel, Error *err) {
    Buf text = { 0 };
    bool sent = false;
    rpc_write_notification(&text, method, params);
    ClientMessage m = { .text = buf_str(&text), .method = method, .arguments = VALUE_GONE };
    bool ok = c->transport->send(c, &m, cancel, &sent, err);
    buf_clear(&text);
    return ok;
}

/* Tells the server to stop working on a request. Over HTTP without sessions, closing the connection has the same
 * effect. */
static void notify_cancelled(McpClient *c, uint64_t id) {
    if (c->config.server->url.n && mcp_stateless(c->version)) return;
    Heap *h = heap_new(0);
    Error err;
    Dict *d = dict_new(h, 2, &err);
    Cancel *soon = cancel_new(NULL, (int64_t)2 * 1000000000);
    if (d && put(h, d, "requestId", value_from_small((int64_t)id), &err) && dict_put_text(h, d, "reason", STR("the caller gave up"), &err))
        (void)client_notify(c, STR("notifications/cancelled"), value_from_object(d), soon, &err);
    cancel_free(soon);
    heap_free(h);
}

/* ---- waiting ---- */

static bool enlist(McpClient *c, Pending *p, Error *err) {
    pthread_mutex_lock(&c->lock);
    bool dead = c->dead;
    if (dead && err) *err = c->why;
    p->id = c->next_id++;
    if (!dead) p->next = c->pending, c->pending = p;
    pthread_mutex_unlock(&c->lock);
    return !dead;
}

/* Removes p from the list, so that no other thread refers to it when its sender returns. */
static void delist(McpClient *c, Pending *p) {
    cancel_fire(p->cancel);
    pthread_mutex_lock(&c->lock);
    for (Pending **at = &c->pending; *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            break;
        }
    while (p->questions > 0) pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

static bool wait_answer(McpClient *c, Pending *p, Cancel *cancel, Error *err) {
    for (;;) {
        pthread_mutex_lock(&c->lock);
        bool answered = p->answered, dead = c->dead;
        if (!answered && dead && err) *err = c->why;
        pthread_mutex_unlock(&c->lock);
        if (answered || dead) return answered;
        if (!cancel_check(cancel, err)) return false;
        struct pollfd fds[] = { { .fd = p->wake, .events = POLLIN }, { .fd = cancel_fd(cancel), .events = POLLIN } };
        (void)poll(fds, 2, cancel_poll_ms(cancel));
        uint64_t n;
        (void)!read(p->wake, &n, sizeof n);
    }
}

static bool send_and_wait(McpClient *c, Pending *p, Str method, Value params, Cancel *cancel, Heap *heap, bool *sent, Error *err) {
    Value full;
    if (!add_meta(c, heap, method, params, p->id, &full, err)) return false;
    Buf text = { 0 };
    rpc_write_request(&text, value_from_small((int64_t)p->id), method, full);
    ClientMessage m = { .text = buf_str(&text), .method = method, .name = header_name(method, full), .pending = p,
                        .arguments = str_eq(method, STR("tools/call")) ? value_member(full, "arguments") : VALUE_GONE };
    bool ok = c->transport->send(c, &m, cancel, sent, err) && wait_answer(c, p, cancel, err);
    buf_clear(&text);
    return ok;
}

static bool once(McpClient *c, Str method, Value params, void *caller, Cancel *cancel, Heap *heap, RpcMessage *out, bool *sent, Pending *p, Error *err) {
    *p = (Pending){ .method = method, .caller = caller, .cancel = cancel_new(cancel, 0), .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
    bool ok = p->wake >= 0 || error_set(err, ERR_IO, "eventfd: %m"), listed = ok && enlist(c, p, err);
    Error why = { 0 };
    int code;
    ok = listed && send_and_wait(c, p, method, params, cancel, heap, sent, &why);
    if (listed) delist(c, p);
    if (listed && !ok && *sent && (why.kind == ERR_CANCELLED || why.kind == ERR_TIMEOUT)) notify_cancelled(c, p->id);
    if (listed && !ok && err) *err = why;
    if (ok && !rpc_read(heap, buf_str(&p->answer), out, &code, err)) ok = error_wrap(err, "the answer");
    buf_clear(&p->answer);
    if (p->wake >= 0) close(p->wake);
    cancel_free(p->cancel);
    return ok;
}

/* Sends a request. If the server dropped our session before it handled the request, opens a new one and resends. */
bool client_exchange(McpClient *c, Str method, Value params, void *caller, Cancel *cancel, Heap *heap, RpcMessage *out, bool *sent, int *http_status,
                     Error *err) {
    Pending p;
    bool ok = once(c, method, params, caller, cancel, heap, out, sent, &p, err);
    if (!ok && p.session_lost && c->version != MCP_NONE) {
        LOG_WRITE(c->config.log, LOG_INFO, "server " STR_FMT ": its session has expired; starting a new one", STR_ARG(c->config.server->name));
        *sent = false;
        ok = client_negotiate(c, cancel, err) && once(c, method, params, caller, cancel, heap, out, sent, &p, err);
    }
    if (http_status) *http_status = p.http_status;
    return ok;
}

/* ---- a request ---- */

bool client_gathered(const McpClient *c, const Heap *heap, size_t before, Error *err) {
    return heap_stats(heap).used - before <= MCP_GATHERED_MAX
           || error_set(err, ERR_LIMIT, "server " STR_FMT " sends too much data in paged results", STR_ARG(c->config.server->name));
}

bool client_error(const McpClient *c, Str message, int64_t code, Error *err) {
    return error_set(err, ERR_PROTOCOL, "server " STR_FMT ": " STR_FMT " (%lld)", STR_ARG(c->config.server->name),
        STR_ARG(str_sub(message, 0, 600)), (long long)code);
}

bool client_answer_all(McpClient *c, void *caller, Value asked, Heap *heap, Cancel *cancel, Value *out, Error *err) {
    Dict *all = dict_new(heap, 4, err);
    Pending of = { .caller = caller };
    Entry *e;
    int code;
    if (!all) return false;
    for (uint32_t i = 0; value_is_dict(asked) && dict_next(value_dict(asked), &i, &e);) {
        Value v;
        if (i > 64) return error_set(err, ERR_LIMIT, "server " STR_FMT " sends too many requests at once", STR_ARG(c->config.server->name));
        if (!client_answer(c, &of, value_member_text(e->value, "method"), value_member(e->value, "params"), heap, &v, cancel, &code, err)
            || !dict_put(heap, all, e->key, v, err)) return false;
    }
    return *out = value_from_object(all), true;
}

static bool add_inputs(McpClient *c, void *caller, Value params, Value result, Heap *heap, Cancel *cancel, Value *out, Error *err) {
    Value asked = value_member(result, "inputRequests"), state = value_member(result, "requestState"), answers;
    Dict *all;
    bool ok = value_is_dict(params) ? dict_copy(heap, value_dict(params), &all, err) : (all = dict_new(heap, 2, err)) != NULL;
    if (ok && value_is_gone(asked) && value_is_gone(state))
        return error_set(err, ERR_PROTOCOL, "server " STR_FMT " asks for input but names none", STR_ARG(c->config.server->name));
    if (ok && value_is_dict(asked))
        ok = client_answer_all(c, caller, asked, heap, cancel, &answers, err) && put(heap, all, "inputResponses", answers, err);
    if (ok && value_is_string(state)) ok = put(heap, all, "requestState", state, err);
    if (ok) *out = value_from_object(all);
    return ok;
}

bool mcp_client_request(McpClient *c, Str method, Value params, void *caller, Cancel *cancel, Heap *heap, Value *out, bool *sent, Error *err) {
    bool listed = false;
    size_t before = heap_stats(heap).used;
    *sent = false;
    for (int round = 0; round < MCP_ROUNDS_MAX; round++) {
        RpcMessage m;
        if (!client_exchange(c, method, params, caller, cancel, heap, &m, sent, NULL, err)) return false;
        if (m.kind == RPC_ERROR && m.code == MCP_HEADER_MISMATCH && str_eq(method, STR("tools/call")) && !listed) {
            List *tools;                                  /* the schema may have changed, and with it the headers */
            client_list_forget(c, STR("tools/list"));
            if (!mcp_client_list(c, STR("tools/list"), STR("tools"), cancel, heap, &tools, err)) return false;
            listed = true;
            continue;
        }
        if (m.kind == RPC_ERROR) return client_error(c, m.message, m.code, err);
        Str type = value_member_text(m.result, "resultType");
        if (str_eq(type, STR("task"))) return client_task_follow(c, m.result, caller, cancel, heap, out, err);
        if (c->version == MCP_2025_11_25 && value_is_dict(value_member(m.result, "task")))
            return client_task_follow(c, value_member(m.result, "task"), caller, cancel, heap, out, err);
        if (!str_eq(type, STR("input_required"))) return *out = m.result, true;
        if (!client_gathered(c, heap, before, err)) return false;
        if (!add_inputs(c, caller, params, m.result, heap, cancel, &params, err)) return false;
    }
    return error_set(err, ERR_LIMIT, "server " STR_FMT " asked for more than %d rounds of input", STR_ARG(c->config.server->name), MCP_ROUNDS_MAX);
}
