#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "base/mem.h"
#include "net/http_server_private.h"

enum {
    STREAM_BLOCK = 4096,
    SEND_BASE_MS = 30000, SEND_BYTES_PER_MS = 16,      /* slowest permitted reader: 16 kB a second */
};

/* ---- lifetime ---- */

typedef struct Heads { HttpServerRequest *q; Buf text; size_t n, cap; size_t *at; } Heads;

static void add_head(Heads *h, const char *value, size_t n) {
    if (h->n == h->cap) h->at = mem_resize(h->at, h->cap = h->cap ? h->cap * 2 : 64, sizeof *h->at);
    h->at[h->n++] = h->text.n;
    buf_add(&h->text, (Str){ value, n });
}

static enum MHD_Result one_header(void *ctx, enum MHD_ValueKind kind, const char *name, const char *value) {
    (void)kind;
    add_head(ctx, name, strlen(name));
    add_head(ctx, value ? value : "", value ? strlen(value) : 0);
    return MHD_YES;
}

static Str piece(const Heads *h, size_t i) {
    size_t end = i + 1 < h->n ? h->at[i + 1] : h->text.n;
    return (Str){ h->text.at + h->at[i], end - h->at[i] };
}

/* The library's strings are freed with the request, which may be kept longer. */
static void copy_head(HttpServerRequest *q, struct MHD_Connection *connection, const char *method, const char *path) {
    Heads h = { .q = q };
    add_head(&h, method, strlen(method));
    add_head(&h, path, strlen(path));
    q->server->mhd->MHD_get_connection_values(connection, MHD_HEADER_KIND, one_header, &h);
    q->n_headers = h.n / 2 - 1;
    q->server->mhd->MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, one_header, &h);
    q->n_query = h.n / 2 - 1 - q->n_headers;
    q->method = piece(&h, 0);
    q->path = piece(&h, 1);
    q->headers = mem_zero(q->n_headers + q->n_query + 1, sizeof *q->headers);
    for (size_t i = 0; i < q->n_headers + q->n_query; i++) {
        Str value = piece(&h, 2 * i + 3);
        q->headers[i] = (HttpServerHeader){ piece(&h, 2 * i + 2), i < q->n_headers ? str_trim(value) : value };
    }
    q->text = buf_take(&h.text);
    free(h.at);
}

HttpServerRequest *http_server_request_new(HttpServer *s, HttpServerConn *c, struct MHD_Connection *connection, const char *method, const char *path) {
    HttpServerRequest *q = mem_zero(1, sizeof *q);
    q->server = s;
    q->conn = c;
    q->fd = c->fd;
    q->holders = 1;
    q->connection = connection;
    pthread_mutex_init(&q->lock, NULL);
    copy_head(q, connection, method, path);
    const union MHD_ConnectionInfo *info = s->mhd->MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (info && info->client_addr) address_from_socket(info->client_addr, &q->peer);
    pthread_mutex_lock(&s->lock);
    s->requests++;
    atomic_fetch_add(&s->holders, 1);
    pthread_mutex_unlock(&s->lock);
    return q;
}

void http_server_drop_body(HttpServerRequest *q) {
    atomic_fetch_sub(&q->server->body_bytes, q->body.n);
    buf_clear(&q->body);
}

static void request_free(HttpServerRequest *q) {
    if (q->response) q->server->mhd->MHD_destroy_response(q->response);
    http_server_drop_body(q);
    buf_clear(&q->out);
    pthread_mutex_destroy(&q->lock);
    free(q->headers);
    free(q->text);
    http_server_drop(q->server);
    free(q);
}

void http_server_keep(HttpServerRequest *q) { atomic_fetch_add(&q->holders, 1); }

/* Called when the epoll thread holds the last reference: no response can come any more. */
static void give_up(HttpServerRequest *q) {
    pthread_mutex_lock(&q->lock);
    bool lost = q->handed && !q->completed && !q->answered, open = q->streaming && !q->ended && !q->completed;
    pthread_mutex_unlock(&q->lock);
    if (lost) http_server_request_fail(q, 500, "the request was dropped");
    if (open) http_server_cut(q);
}

void http_server_release(HttpServerRequest *q) {
    if (!q) return;
    int holders = atomic_load(&q->holders);
    while (holders > 2)
        if (atomic_compare_exchange_weak(&q->holders, &holders, holders - 1)) return;
    if (holders == 2) give_up(q);
    if (atomic_fetch_sub(&q->holders, 1) == 1) request_free(q);
}

/* ---- reading the request ---- */

Str http_server_method(const HttpServerRequest *q) { return q->method; }
Str http_server_path(const HttpServerRequest *q) { return q->path; }
Str http_server_body(const HttpServerRequest *q) { return buf_str(&q->body); }
const Address *http_server_peer(const HttpServerRequest *q) { return &q->peer; }

static const HttpServerHeader *find_header(const HttpServerRequest *q, Str name, size_t *count) {
    const HttpServerHeader *first = NULL;
    *count = 0;
    for (size_t i = 0; i < q->n_headers; i++) {
        const HttpServerHeader *h = &q->headers[i];
        if (h->name.n != name.n || strncasecmp(h->name.at, name.at, name.n) != 0) continue;
        if ((*count)++ == 0) first = h;
    }
    return first;
}

Str http_server_header(const HttpServerRequest *q, Str name) {
    size_t n;
    const HttpServerHeader *h = find_header(q, name, &n);
    return h ? h->value : STR("");
}

size_t http_server_count_header(const HttpServerRequest *q, Str name) {
    size_t n;
    find_header(q, name, &n);
    return n;
}

static const HttpServerHeader *find_query(const HttpServerRequest *q, Str name) {
    for (size_t i = 0; i < q->n_query; i++)
        if (str_eq(q->headers[q->n_headers + i].name, name)) return &q->headers[q->n_headers + i];
    return NULL;
}

Str http_server_query(const HttpServerRequest *q, Str name) {
    const HttpServerHeader *h = find_query(q, name);
    return h ? h->value : STR("");
}

bool http_server_has_query(const HttpServerRequest *q, Str name) { return find_query(q, name) != NULL; }

bool http_server_has_header(const HttpServerRequest *q, Str name) { return http_server_count_header(q, name) > 0; }

static bool is_name(Str s) {
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.at[i] <= ' ' || strchr("\"(),/:;<=>?@[\\]{}\177", s.at[i])) return false;
    return s.n > 0;
}

/* The body length must be given once and unambiguously, and headers must be well-formed. Otherwise a proxy in front and
 * this server may disagree on where the next request starts (request smuggling). */
const char *http_server_request_doubt(const HttpServerRequest *q) {
    size_t lengths = http_server_count_header(q, STR("Content-Length")), codings = http_server_count_header(q, STR("Transfer-Encoding"));
    Str coding = http_server_header(q, STR("Transfer-Encoding"));
    if (lengths + codings > 1) return "the length of the body is given more than once";
    if (codings && !(coding.n == 7 && strncasecmp(coding.at, "chunked", 7) == 0)) return "Transfer-Encoding must be chunked";
    for (size_t i = 0; i < q->n_headers; i++)
        if (!is_name(q->headers[i].name)) return "the name of a header is malformed";
    return NULL;
}

void http_server_request_body(HttpServerRequest *q, Str bytes) {
    HttpServer *s = q->server;
    q->body_seen += bytes.n;
    if (q->answered || q->refused_big) return;         /* already refused: read only so that the client gets the
                                                        * response */
    size_t all = atomic_fetch_add(&s->body_bytes, bytes.n) + bytes.n;
    if (all <= SERVER_BODIES_MAX && q->body_seen <= s->config.body_max) {
        buf_add(&q->body, bytes);
        return;
    }
    atomic_fetch_sub(&s->body_bytes, bytes.n);
    http_server_drop_body(q);
    q->refused_big = true;
    if (q->body_seen > s->config.body_max) http_server_request_fail(q, 413, "the body is too large");
    else http_server_request_fail(q, 503, "the server is busy: send the request again later");
}

/* ---- responses ---- */

/* Hands the response to the epoll thread. The caller holds the lock. */
static void wake_up(HttpServerRequest *q) {
    if (!q->suspended) return;
    q->suspended = false;
    q->server->mhd->MHD_resume_connection(q->connection);
}

static void add_one(HttpServerRequest *q, struct MHD_Response *r, const HttpServerHeader *h) {
    char *name = str_dup(h->name), *value = str_dup(h->value);
    q->server->mhd->MHD_add_response_header(r, name, value);             /* rejects line breaks itself */
    free(name);
    free(value);
}

static bool has_name(const HttpServerHeader *headers, size_t n, Str name) {
    for (size_t i = 0; i < n; i++)
        if (headers[i].name.n == name.n && strncasecmp(headers[i].name.at, name.at, name.n) == 0) return true;
    return false;
}

static void add_headers(HttpServerRequest *q, struct MHD_Response *r, const HttpServerHeader *headers, size_t n) {
    const HttpServerConfig *c = &q->server->config;
    for (size_t i = 0; i < n; i++) add_one(q, r, &headers[i]);
    for (size_t i = 0; i < c->n_headers; i++)
        if (!has_name(headers, n, c->headers[i].name)) add_one(q, r, &c->headers[i]);
}

static bool give_response(HttpServerRequest *q, int status, struct MHD_Response *r, size_t bytes, bool streaming) {
    pthread_mutex_lock(&q->lock);
    bool ok = r && !q->answered && !q->completed && !q->cut;
    if (ok) {
        q->answered = true;
        q->streaming = streaming;
        q->status = status;
        q->response = r;
        q->answer_bytes = bytes;
        wake_up(q);
    }
    pthread_mutex_unlock(&q->lock);
    if (!ok && r) q->server->mhd->MHD_destroy_response(r);
    return ok;
}

bool http_server_answer(HttpServerRequest *q, int status, const HttpServerHeader *headers, size_t n, Buf *body_take) {
    size_t bytes = body_take ? body_take->n : 0;
    char *body = bytes ? buf_take(body_take) : NULL;
    struct MHD_Response *r = q->server->mhd->MHD_create_response_from_buffer(bytes, body, body ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (body_take) buf_clear(body_take);
    if (!r) free(body);
    else add_headers(q, r, headers, n);
    return give_response(q, status, r, bytes, false);
}

void http_server_request_fail(HttpServerRequest *q, int status, const char *text) {
    Buf body = { 0 };
    buf_add_fmt(&body, "%s\n", text);
    HttpServerHeader more = status == 400 ? (HttpServerHeader){ STR("Connection"), STR("close") } : (HttpServerHeader){ STR("Retry-After"), STR("1") };
    HttpServerHeader headers[] = { { STR("Content-Type"), STR("text/plain; charset=utf-8") }, more };
    http_server_answer(q, status, headers, status == 503 || status == 400 ? 2 : 1, &body);
}

/* ---- streams ---- */

/* On the epoll thread, when the socket is writable. Suspends the connection until http_server_write when there is nothing to
 * send. */
static ssize_t read_stream(void *ctx, uint64_t pos, char *to, size_t max) {
    (void)pos;
    HttpServerRequest *q = ctx;
    ssize_t n = 0;
    pthread_mutex_lock(&q->lock);
    size_t left = q->out.n - q->out_used;
    if (q->cut) n = MHD_CONTENT_READER_END_WITH_ERROR;
    else if (left) {
        n = (ssize_t)(left < max ? left : max);
        memcpy(to, q->out.at + q->out_used, (size_t)n);
        q->out_used += (size_t)n;
        if (q->out_used == q->out.n) buf_clear(&q->out), q->out_used = 0;      /* free it: there are many streams,
                                                                                * mostly idle */
    } else if (q->ended) n = MHD_CONTENT_READER_END_OF_STREAM;
    else {
        q->suspended = true;
        q->server->mhd->MHD_suspend_connection(q->connection);
    }
    pthread_mutex_unlock(&q->lock);
    return n;
}

bool http_server_stream(HttpServerRequest *q, int status, const HttpServerHeader *headers, size_t n) {
    struct MHD_Response *r = q->server->mhd->MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, q, NULL);
    if (r) add_headers(q, r, headers, n);
    return give_response(q, status, r, 0, true);
}

/* The caller holds the lock. */
static void cut_off(HttpServerRequest *q) {
    if (q->completed || q->cut) return;
    q->cut = true;
    buf_clear(&q->out);
    q->out_used = 0;
    shutdown(q->fd, SHUT_RDWR);
    wake_up(q);
}

bool http_server_write(HttpServerRequest *q, Str bytes) {
    pthread_mutex_lock(&q->lock);
    bool ok = q->streaming && !q->ended && !q->completed && !q->cut;
    if (ok && q->out.n - q->out_used > q->server->config.backlog_max) {
        cut_off(q);
        ok = false;
    }
    if (ok) {
        if (q->out_used > q->out.n / 2) {              /* move the rest to the front, but not on every read */
            memmove(q->out.at, q->out.at + q->out_used, q->out.n - q->out_used);
            q->out.n -= q->out_used;
            q->out_used = 0;
        }
        buf_add(&q->out, bytes);
        if (q->queued) wake_up(q);
    }
    pthread_mutex_unlock(&q->lock);
    return ok;
}

void http_server_end(HttpServerRequest *q) {
    pthread_mutex_lock(&q->lock);
    q->ended = true;
    if (q->queued && !q->completed) wake_up(q);
    pthread_mutex_unlock(&q->lock);
}

void http_server_cut(HttpServerRequest *q) {
    pthread_mutex_lock(&q->lock);
    cut_off(q);
    pthread_mutex_unlock(&q->lock);
}

/* ---- the epoll thread ---- */

bool http_server_request_queue(HttpServerRequest *q) {
    pthread_mutex_lock(&q->lock);
    struct MHD_Response *r = q->cut ? NULL : q->response;
    if (r) {
        q->response = NULL;
        q->queued = true;
    }
    int64_t ms = q->streaming ? 0 : SEND_BASE_MS + (int64_t)(q->answer_bytes / SEND_BYTES_PER_MS);
    pthread_mutex_unlock(&q->lock);
    if (!r) return false;
    http_server_watch_phase(q->conn, q->streaming ? CONN_STREAMING : CONN_SENDING, ms, q);
    bool ok = q->server->mhd->MHD_queue_response(q->connection, (unsigned)q->status, r) == MHD_YES;
    q->server->mhd->MHD_destroy_response(r);           /* the library keeps its own reference */
    return ok;
}

/* True if an on_gone callback is due. The caller holds the lock. */
static bool left(HttpServerRequest *q) {
    q->gone = true;
    if (!q->on_gone || q->told) return false;
    return q->told = true;
}

void http_server_request_left(HttpServerRequest *q) {
    pthread_mutex_lock(&q->lock);
    bool tell = !q->completed && left(q);
    pthread_mutex_unlock(&q->lock);
    if (tell) http_server_watch_gone(q);
}

void http_server_request_completed(HttpServerRequest *q, bool ok) {
    pthread_mutex_lock(&q->lock);
    q->completed = true;
    q->connection = NULL;
    buf_clear(&q->out);
    q->out_used = 0;
    bool tell = !ok && left(q);
    pthread_mutex_unlock(&q->lock);
    if (tell) http_server_watch_gone(q);
    http_server_release(q);
}

/* ---- on_gone ---- */

void http_server_on_gone(HttpServerRequest *q, void (*gone)(void *ctx, HttpServerRequest *q), void *ctx) {
    HttpServer *s = q->server;
    pthread_mutex_lock(&q->lock);
    q->on_gone = gone;
    q->on_gone_ctx = ctx;
    bool tell = gone && q->gone && left(q);
    pthread_mutex_unlock(&q->lock);
    if (tell) http_server_watch_gone(q);
    if (gone) return;
    pthread_mutex_lock(&s->lock);
    while (s->telling == q) pthread_cond_wait(&s->told, &s->lock);
    pthread_mutex_unlock(&s->lock);
}
