#include "mcp/host/http_private.h"
#include <poll.h>
#include <stdlib.h>
#include "base/mem.h"

enum { TIDY_MS = 250, GRACE_MS = 3000, LEAVE_MS = 1000 };

static void handle(void *ctx, HttpServerRequest *q) {
    Http *h = ctx;
    Error err = { 0 };
    ServeWho who = { 0 };
    Str method = http_server_method(q);
    ServeAuthAnswer answer = serve_auth_token(h->auth, http_server_header(q, STR("Authorization")), &who, &err);
    if (answer != AUTH_OK) http_refuse(h, q, answer, err.msg);
    else if (str_eq(method, STR("POST"))) http_post(h, q, &who);
    else if (str_eq(method, STR("GET"))) http_get(h, q, &who);
    else http_delete(h, q, &who);
}

static void tick(void *ctx) { http_sessions_tick(ctx); }

/* The URL that clients use: the configured one, or the address. Its metadata is at its origin (RFC 9728). */
static void name_resource(Http *h, uint16_t port) {
    const McpHttpConfig *c = h->config;
    bool v6 = str_find_char(str_from(c->address), ':') >= 0;
    if (c->resource.n) buf_add(&h->resource, c->resource);
    else buf_add_fmt(&h->resource, v6 ? "http://[%s]:%u/mcp" : "http://%s:%u/mcp", c->address, port);
    Str url = buf_str(&h->resource);
    ptrdiff_t scheme = str_find(url, STR("://"));
    Str rest = str_sub(url, scheme < 0 ? 0 : (size_t)scheme + 3, url.n);
    ptrdiff_t slash = str_find_char(rest, '/');
    size_t origin = slash < 0 ? url.n : url.n - rest.n + (size_t)slash;
    buf_add(&h->metadata_url, str_sub(url, 0, origin));
    buf_add(&h->metadata_url, STR("/.well-known/oauth-protected-resource/mcp"));
}

/* Waits until stopped. Also closes expired sessions here, because that may take a while. */
static void serve(Http *h, Cancel *stop) {
    while (!cancel_expired(stop)) {
        struct pollfd p = { .fd = cancel_fd(stop), .events = POLLIN };
        poll(&p, 1, TIDY_MS);
        http_sessions_tidy(h, 0);
    }
}

static void bound(void *ctx, uint16_t port) {
    Http *h = ctx;
    name_resource(h, port);
}

static bool open_auth(Http *h, Cancel *stop, Error *err) {
    const McpHttpConfig *c = h->config;
    h->auth = serve_auth_new(&(ServeAuthConfig){ .token = c->token, .issuer = c->authorization_server, .resource = &h->resource,
        .scope = c->scope, .stop = stop }, err);
    return h->auth != NULL;
}

bool mcp_serve_http(McpHost *s, const McpHttpConfig *config, Cancel *stop, Error *err) {
    Http *h = mem_zero(1, sizeof *h);
    h->server = s;
    h->config = config;
    h->rates = http_gate_rates_new();
    pthread_mutex_init(&h->lock, NULL);
    HttpServerConfig net = { .address = config->address, .port = config->port, .scheduler = s->scheduler, .bound = bound, .admit = http_admit, .handle = handle,
                         .tick = tick, .ctx = h, .log = s->config.log };
    bool ok = open_auth(h, stop, err) && http_server_start(&net, &h->net, err);
    if (ok) {
        if (config->bound) config->bound(config->ctx, http_server_port(h->net));
        serve(h, stop);
        http_sessions_end_all(h);
        http_sessions_tidy(h, GRACE_MS);
    }
    http_server_stop(h->net, LEAVE_MS);
    http_sessions_tidy(h, 0);
    serve_auth_free(h->auth);
    http_gate_rates_free(h->rates);
    buf_clear(&h->resource);
    buf_clear(&h->metadata_url);
    pthread_mutex_destroy(&h->lock);
    free(h);
    return ok;
}
