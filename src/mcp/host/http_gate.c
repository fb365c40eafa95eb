#include "mcp/host/http_private.h"
#include <stdio.h>

/* ---- rate limits ---- */

enum { RATE_REMOTE = 6000 };             /* a minute, from another machine */

static void reply_wait(Http *h, HttpServerRequest *q, int64_t seconds) {
    char text[24];
    Buf body = { 0 };
    snprintf(text, sizeof text, "%lld", (long long)seconds);
    rpc_write_error(&body, VALUE_GONE, RPC_INVALID_REQUEST, STR("too many requests: wait as long as Retry-After says"), VALUE_GONE);
    http_reply(h, q, 429, &(HttpServerHeader){ STR("Retry-After"), str_from(text) }, 1, "application/json", &body);
}

/* ---- Host and Origin ---- */

static HttpGateNames names_of(const Http *h) {
    const McpHttpConfig *c = h->config;
    return (HttpGateNames){ c->address, c->hosts.at, c->origins.at, c->hosts.n, c->origins.n };
}

bool http_origin_allowed(const Http *h, Str origin) {
    HttpGateNames names = names_of(h);
    return http_gate_origin_known(&names, origin);
}

/* ---- tokens ---- */

void http_refuse(Http *h, HttpServerRequest *q, ServeAuthAnswer why, const char *text) {
    Buf value = { 0 }, body = { 0 };
    buf_add(&value, STR("Bearer realm=\"harness\""));
    if (serve_auth_has_server(h->auth)) {
        buf_add_fmt(&value, ", resource_metadata=\"%s\"", h->metadata_url.at);
        if (h->config->scope.n) buf_add_fmt(&value, ", scope=\"" STR_FMT "\"", STR_ARG(h->config->scope));
    }
    if (why == AUTH_BAD) buf_add(&value, STR(", error=\"invalid_token\""));
    if (why == AUTH_SCOPE) buf_add(&value, STR(", error=\"insufficient_scope\""));
    rpc_write_error(&body, VALUE_GONE, RPC_INVALID_REQUEST, str_from(text), VALUE_GONE);
    http_reply(h, q, why == AUTH_SCOPE ? 403 : 401, &(HttpServerHeader){ STR("WWW-Authenticate"), buf_str(&value) }, 1, "application/json", &body);
    buf_clear(&value);
}

static void check_token(Http *h, HttpServerRequest *q) {
    ServeWho who;
    ServeAuthAnswer answer = serve_auth_quick(h->auth, http_server_header(q, STR("Authorization")), &who);
    if (answer == AUTH_OK || answer == AUTH_LATER) return;
    int64_t wait = http_gate_take(h->rates, http_server_peer(q), HTTP_GATE_FAILED, HTTP_GATE_FAILED_MAX);
    if (wait) reply_wait(h, q, wait);
    else if (answer == AUTH_NONE) http_refuse(h, q, answer, "a token is needed: send the header Authorization: Bearer TOKEN");
    else http_refuse(h, q, answer, "the token is not valid for this server");
}

/* ---- the gate ---- */

static bool is_metadata(Str path) {
    return str_eq(path, STR("/.well-known/oauth-protected-resource")) || str_eq(path, STR("/.well-known/oauth-protected-resource/mcp"));
}

static void reply_metadata(Http *h, HttpServerRequest *q) {
    Buf body = { 0 };
    buf_add(&body, STR("{\"resource\":"));
    json_write_string(&body, buf_str(&h->resource), false);
    buf_add(&body, STR(",\"authorization_servers\":["));
    json_write_string(&body, h->config->authorization_server, false);
    buf_add(&body, STR("],\"bearer_methods_supported\":[\"header\"]"));
    if (h->config->scope.n) {
        buf_add(&body, STR(",\"scopes_supported\":["));
        json_write_string(&body, h->config->scope, false);
        buf_add_char(&body, ']');
    }
    buf_add_char(&body, '}');
    http_reply(h, q, 200, NULL, 0, "application/json", &body);
}

static void reply_preflight(Http *h, HttpServerRequest *q) {
    HttpServerHeader headers[] = {
        { STR("Access-Control-Allow-Methods"), STR("POST, GET, DELETE") },
        { STR("Access-Control-Allow-Headers"), http_server_header(q, STR("Access-Control-Request-Headers")) },
        { STR("Access-Control-Max-Age"), STR("600") },
    };
    http_reply(h, q, 204, headers, 3, NULL, NULL);
}

static bool is_served(Str method) { return str_eq(method, STR("POST")) || str_eq(method, STR("GET")) || str_eq(method, STR("DELETE")); }

static void reply_method(Http *h, HttpServerRequest *q) {
    Buf body = { 0 };
    rpc_write_error(&body, VALUE_GONE, RPC_INVALID_REQUEST, STR("only POST, GET and DELETE are supported"), VALUE_GONE);
    http_reply(h, q, 405, &(HttpServerHeader){ STR("Allow"), STR("POST, GET, DELETE") }, 1, "application/json", &body);
}

static int64_t limit_for(const Http *h, const Address *peer) {
    return h->config->requests_per_minute ? h->config->requests_per_minute : address_is_loopback(peer) ? 0 : RATE_REMOTE;
}

void http_admit(void *http, HttpServerRequest *q) {
    Http *h = http;
    Str origin = http_server_header(q, STR("Origin")), path = http_server_path(q), method = http_server_method(q);
    HttpGateNames names = names_of(h);
    int64_t limit = limit_for(h, http_server_peer(q)), wait = limit ? http_gate_take(h->rates, http_server_peer(q), HTTP_GATE_REQUEST, limit) : 0;
    if (wait) reply_wait(h, q, wait);
    else if (!http_gate_host(&names, q))
        http_reply_error(h, q, 403, VALUE_GONE, RPC_INVALID_REQUEST, "the Host header does not match this server: start it with --host NAME to add a name");
    else if (http_server_count_header(q, STR("Origin")) > 1 || (origin.n && !http_gate_origin_known(&names, origin)))
        http_reply_error(h, q, 403, VALUE_GONE, RPC_INVALID_REQUEST, "this origin is not allowed: start the server with --origin ORIGIN to allow it");
    else if (http_server_count_header(q, STR("Authorization")) > 1)
        http_reply_error(h, q, 400, VALUE_GONE, RPC_INVALID_REQUEST, "the header Authorization occurs more than once");
    else if (is_metadata(path) && serve_auth_has_server(h->auth)) reply_metadata(h, q);
    else if (!str_eq(path, STR("/mcp")))
        http_reply_error(h, q, 404, VALUE_GONE, RPC_INVALID_REQUEST, "not found: the server is at /mcp");
    else if (str_eq(method, STR("OPTIONS")) && origin.n) reply_preflight(h, q);
    else if (!is_served(method)) reply_method(h, q);
    else check_token(h, q);
}
