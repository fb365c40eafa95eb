/* A server at a URL: streamable HTTP. Each message is a POST. The response is one JSON document, or an event stream
 * that carries notifications and server requests before the result. Before 2026-07-28 the client resumes a broken
 * stream by a GET with Last-Event-ID, and the server may use sessions. */
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/mem.h"
#include "base/thread.h"
#include "mcp/remote/client_private.h"
#include "net/sse.h"

enum { HEADERS_MAX = 128, OWN_MAX = 32, RESUMES_MAX = 8, RETRY_MS = 500, RETRY_MAX_MS = 60000, CLOSE_MS = 2000, NOTE_MS = 30000 };
#define STREAM_BYTES_MAX ((size_t)1 << 40)

typedef struct Http {
    pthread_mutex_t lock;                /* guards `session` */
    char *session;
    pthread_t listener;
    bool listening;
} Http;

/* ---- responses ---- */

/* The body of one response, parsed as it arrives: JSON if it starts with a bracket, else events. */
typedef struct Answer {
    McpClient *client;
    Pending *pending;
    SseReader *events;
    Buf json;
    Buf last_id;                         /* of the broken stream: where to resume */
    int64_t retry_ms;                    /* last requested by the server; -1: none */
    bool begun, keep_open, stopped;
    bool listens;                        /* for messages that belong to no request */
} Answer;

/* Discards a partial event at end of stream; the next stream starts fresh. */
static void end_stream(Answer *a) {
    if (a->events && sse_last_id(a->events).n) {
        buf_reset(&a->last_id);
        buf_add(&a->last_id, sse_last_id(a->events));
    }
    if (a->events && sse_retry_ms(a->events) >= 0) a->retry_ms = sse_retry_ms(a->events);
    sse_free(a->events);
    a->events = NULL;
    a->begun = false;
}

static void answer_clear(Answer *a) {
    sse_free(a->events);
    buf_clear(&a->json);
    buf_clear(&a->last_id);
}

static bool wait_retry(const Answer *a, Cancel *cancel, Error *err) {
    int64_t ms = a->retry_ms < 0 ? RETRY_MS : a->retry_ms > RETRY_MAX_MS ? RETRY_MAX_MS : a->retry_ms;
    return cancel_sleep(cancel, ms * 1000000, err);
}

static bool has_answer(McpClient *c, const Pending *p) {
    pthread_mutex_lock(&c->lock);
    bool answered = p->answered;
    pthread_mutex_unlock(&c->lock);
    return answered;
}

static bool take_events(Answer *a, Str piece, Error *err) {
    SseEvent e;
    Feed fed = sse_feed(a->events, piece, &e, err);
    for (; fed == FEED_READY; fed = sse_feed(a->events, STR(""), &e, err))
        if (e.data.n && (str_eq(e.type, STR("message")) || e.type.n == 0)) client_take(a->client, e.data, a->pending);
    if (fed == FEED_BAD) return false;
    if (!a->pending || a->keep_open || !has_answer(a->client, a->pending)) return true;
    a->stopped = true;                                    /* stop reading: the stream may stay open for ever */
    return error_set(err, ERR_IO, "answered");
}

static bool on_data(void *ctx, Str piece, Error *err) {
    Answer *a = ctx;
    if (!a->begun) {
        while (piece.n && strchr(" \t\r\n", piece.at[0])) piece = str_sub(piece, 1, piece.n);
        if (!piece.n) return true;
        a->begun = true;
        if (piece.at[0] != '{' && piece.at[0] != '[') a->events = sse_new(RPC_MESSAGE_MAX);
    }
    if (a->events) return take_events(a, piece, err);
    if (a->json.n + piece.n > RPC_MESSAGE_MAX)
        return error_set(err, ERR_LIMIT, "server " STR_FMT ": its response is over %d bytes", STR_ARG(a->client->config.server->name), RPC_MESSAGE_MAX);
    buf_add(&a->json, piece);
    return true;
}

static void on_head(void *ctx, int status) {
    Answer *a = ctx;
    (void)status;
    if (a->listens) client_listen_heard(a->client);
}

/* ---- requests ---- */

typedef struct Sending { McpClient *client; const ClientMessage *m; Arena arena; ClientHeader headers[HEADERS_MAX]; size_t n; OAuthTry attempt; } Sending;

static void add(Sending *s, const char *name, Str value) {
    if (s->n < HEADERS_MAX) s->headers[s->n++] = (ClientHeader){ str_from(name), value };
}

static void add_session(Sending *s, Http *h) {
    pthread_mutex_lock(&h->lock);
    if (h->session) add(s, "Mcp-Session-Id", arena_str(&s->arena, str_from(h->session)));
    pthread_mutex_unlock(&h->lock);
}

static bool fill(Sending *s, Str verb, Str resume, Cancel *cancel, Error *err) {
    McpClient *c = s->client;
    const ClientMessage *m = s->m;
    s->n = 0;
    if (c->config.n_headers > OWN_MAX)
        return error_set(err, ERR_CONFIG, "server " STR_FMT " has more than %d headers", STR_ARG(c->config.server->name), OWN_MAX);
    for (size_t i = 0; i < c->config.n_headers; i++) s->headers[s->n++] = c->config.headers[i];
    if (str_eq(verb, STR("POST"))) add(s, "Content-Type", STR("application/json"));
    add(s, "Accept", str_eq(verb, STR("POST")) ? STR("application/json, text/event-stream") : STR("text/event-stream"));
    if (c->version != MCP_NONE && !(m && str_eq(m->method, STR("initialize")))) add(s, "MCP-Protocol-Version", mcp_version_date(c->version));
    if (resume.n) add(s, "Last-Event-ID", resume);
    if (!mcp_stateless(c->version)) add_session(s, c->wire);
    if (m && m->method.n && mcp_stateless(c->version)) {
        add(s, "Mcp-Method", m->method);
        if (m->name.n) add(s, "Mcp-Name", client_header_value(&s->arena, m->name));
        if (value_is_dict(m->arguments)) s->n += client_headers_of(c, m->name, m->arguments, &s->arena, s->headers + s->n, HEADERS_MAX - s->n - 2);
    }
    ClientHeader tokens[2];
    size_t n = 0;
    if (!c->config.oauth) return true;
    if (!oauth_headers(c->config.oauth, &s->attempt, verb, c->config.server->url, cancel, &s->arena, tokens, &n, err)) return false;
    for (size_t i = 0; i < n; i++) add(s, tokens[i].name.at, tokens[i].value);
    return true;
}

static void keep_session(McpClient *c, const ClientResponse *r) {
    Http *h = c->wire;
    Str id = client_header(r, STR("mcp-session-id"));
    if (!id.n || mcp_stateless(c->version)) return;
    pthread_mutex_lock(&h->lock);
    free(h->session);
    h->session = str_dup(id);
    pthread_mutex_unlock(&h->lock);
}

static bool forget_session(McpClient *c) {
    Http *h = c->wire;
    pthread_mutex_lock(&h->lock);
    bool had = h->session != NULL;
    free(h->session);
    h->session = NULL;
    pthread_mutex_unlock(&h->lock);
    return had;
}

static bool failed_status(McpClient *c, const ClientResponse *r, const ClientMessage *m, Error *err) {
    Str body = str_trim(buf_str(&r->body));
    if (m && m->pending) m->pending->http_status = r->status;
    if (r->status == 404 && forget_session(c) && m && m->pending) m->pending->session_lost = true;
    else if (m && m->pending && body.n && body.at[0] == '{') {
        client_take(c, body, m->pending);
        if (has_answer(c, m->pending)) return true;
    }
    return error_set(err, r->status == 429 || r->status >= 500 ? ERR_IO : ERR_PROTOCOL, "server " STR_FMT " answered with status %d%s" STR_FMT,
                     STR_ARG(c->config.server->name), r->status, body.n ? ": " : "", STR_ARG(str_sub(body, 0, 300)));
}

/* One HTTP request and its response. False with a->stopped: success, the rest was not read. */
static bool go(Sending *s, Str verb, Str resume, Answer *a, Cancel *cancel, ClientResponse *r, Error *err) {
    McpClient *c = s->client;
    for (;;) {
        if (!fill(s, verb, resume, cancel, err)) return false;
        ClientRequest q = { .method = verb, .url = c->config.server->url, .headers = s->headers, .n_headers = s->n, .rules = c->config.net,
                            .max_body = STREAM_BYTES_MAX, .on_data = on_data, .on_head = on_head, .ctx = a };
        if (s->m) q.body = s->m->text, q.has_body = str_eq(verb, STR("POST")), q.once = str_eq(s->m->method, STR("tools/call"));
        if (!client_send(c->config.http, &q, cancel, r, err)) return false;
        Str nonce = client_header(r, STR("dpop-nonce"));
        if (!c->config.oauth) return true;
        if (r->status != 401 && r->status != 403) return oauth_nonce(c->config.oauth, nonce), true;
        if (!oauth_refused(c->config.oauth, &s->attempt, r->status, client_header(r, STR("www-authenticate")), nonce, cancel, err))
            return error_wrap(err, "server " STR_FMT, STR_ARG(c->config.server->name));
        client_response_clear(r);
    }
}

/* ---- resuming a stream ---- */

static bool resume(Sending *s, Answer *a, Cancel *cancel, Error *err) {
    McpClient *c = s->client;
    Error why = *err;
    for (int i = 0; i < RESUMES_MAX; i++) {
        ClientResponse r = { 0 };
        end_stream(a);
        if (!a->last_id.n || mcp_stateless(c->version) || c->version == MCP_NONE) return *err = why, false;
        if (!wait_retry(a, cancel, err)) return false;
        bool ok = go(s, STR("GET"), buf_str(&a->last_id), a, cancel, &r, &why);
        bool refused = ok && r.status >= 400;
        if (refused) error_set(&why, ERR_IO, "server " STR_FMT " does not resume its broken stream (status %d)", STR_ARG(c->config.server->name), r.status);
        client_response_clear(&r);
        if (a->stopped || has_answer(c, a->pending)) return true;
        if (refused || !cancel_check(cancel, err)) return refused ? (*err = why, false) : false;
    }
    return *err = why, false;
}

/* ---- the transport ---- */

static bool after(Sending *s, Answer *a, bool ok, const ClientResponse *r, Cancel *cancel, Error *err) {
    McpClient *c = s->client;
    Pending *p = s->m->pending;
    if (ok) keep_session(c, r);
    if (ok && r->status >= 300) return failed_status(c, r, s->m, err);
    if (!p) return ok;
    if (ok) p->http_status = r->status;
    if (ok && a->json.n) client_take(c, buf_str(&a->json), p);
    if (a->stopped || has_answer(c, p)) return true;
    if (!ok && (err->kind == ERR_CANCELLED || err->kind == ERR_TIMEOUT || err->kind == ERR_LIMIT || err->kind == ERR_POLICY)) return false;
    if (ok) error_set(err, ERR_IO, "server " STR_FMT " ended its response (status %d) without a result", STR_ARG(c->config.server->name), r->status);
    return resume(s, a, cancel, err);
}

static bool http_send(McpClient *c, const ClientMessage *m, Cancel *cancel, bool *sent, Error *err) {
    Sending s = { .client = c, .m = m };
    Answer a = { .client = c, .pending = m->pending, .retry_ms = -1, .keep_open = str_eq(m->method, STR("initialize")) };
    ClientResponse r = { 0 };
    Error why = { 0 };
    Cancel *soon = m->pending ? NULL : cancel_new(cancel, (int64_t)NOTE_MS * 1000000);
    bool ok = go(&s, STR("POST"), (Str){ 0 }, &a, soon ? soon : cancel, &r, &why);
    *sent = r.sent;
    ok = after(&s, &a, ok, &r, cancel, &why);
    if (!ok && err) *err = why;
    client_response_clear(&r);
    answer_clear(&a);
    arena_clear(&s.arena);
    cancel_free(soon);
    return ok;
}

/* ---- messages that belong to no request ---- */

/* Before 2026-07-28 a server may send requests and notifications on a separate stream. A server without one refuses the
 * GET. */
static void *listen_on(void *arg) {
    McpClient *c = arg;
    Sending s = { .client = c };
    Answer a = { .client = c, .retry_ms = -1, .listens = true };
    Error err = { 0 };
    for (int i = 0; i < RESUMES_MAX && cancel_check(c->stop, NULL);) {
        ClientResponse r = { 0 };
        bool ok = go(&s, STR("GET"), buf_str(&a.last_id), &a, c->stop, &r, &err), none = ok && r.status >= 400 && r.status != 404;
        if (ok && r.status < 300 && a.events) i = 0;
        else i++;
        client_listen_heard(c);
        client_response_clear(&r);
        end_stream(&a);
        arena_reset(&s.arena);
        if (none || !wait_retry(&a, c->stop, &err)) break;
    }
    answer_clear(&a);
    arena_clear(&s.arena);
    return NULL;
}

static void http_ready(McpClient *c, Cancel *cancel) {
    Http *h = c->wire;
    const McpClientAnswers *a = &c->config.answers;
    bool useful = a->elicit || a->sample || a->roots || a->notified;
    if (h->listening || mcp_stateless(c->version) || !useful) return;
    h->listening = thread_start(&h->listener, listen_on, c) == 0;
    if (h->listening) client_listen_wait(c, cancel);
}

/* Ends the session at the server. Errors are ignored. */
static void http_close(McpClient *c) {
    Http *h = c->wire;
    Sending s = { .client = c };
    Answer a = { .client = c };
    ClientResponse r = { 0 };
    Error err;
    Cancel *soon = cancel_new(NULL, (int64_t)CLOSE_MS * 1000000);
    if (h->listening) pthread_join(h->listener, NULL);
    if (h->session && !mcp_stateless(c->version)) (void)go(&s, STR("DELETE"), (Str){ 0 }, &a, soon, &r, &err);
    client_response_clear(&r);
    answer_clear(&a);
    arena_clear(&s.arena);
    cancel_free(soon);
    free(h->session);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

static const ClientTransport http = { http_send, http_ready, http_close, NULL, NULL };

bool client_http_open(McpClient *c, Error *err) {
    (void)err;
    Http *h = mem_zero(1, sizeof *h);
    pthread_mutex_init(&h->lock, NULL);
    c->wire = h;
    c->transport = &http;
    return true;
}
