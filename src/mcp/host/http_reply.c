#include "mcp/host/http_private.h"
#include <stdarg.h>
#include <stdlib.h>

enum { HEADERS_MAX = 16 };

typedef struct Headers { HttpServerHeader at[HEADERS_MAX]; size_t n; } Headers;

static void add(Headers *all, Str name, Str value) {
    if (all->n < HEADERS_MAX) all->at[all->n++] = (HttpServerHeader){ name, value };
}

/* CORS: lets a page of an allowed origin read the response. */
static void add_origin(Headers *all, const Http *h, const HttpServerRequest *q) {
    Str origin = http_server_header(q, STR("Origin"));
    if (!origin.n || !http_origin_allowed(h, origin)) return;
    add(all, STR("Access-Control-Allow-Origin"), origin);
    add(all, STR("Access-Control-Expose-Headers"), STR("Mcp-Session-Id, WWW-Authenticate, Retry-After"));
    add(all, STR("Vary"), STR("Origin"));
}

void http_reply(Http *h, HttpServerRequest *q, int status, const HttpServerHeader *more, size_t n, const char *type, Buf *body_take) {
    Headers all = { 0 };
    if (type) add(&all, STR("Content-Type"), str_from(type));
    add(&all, STR("Cache-Control"), STR("no-store"));
    for (size_t i = 0; i < n; i++) add(&all, more[i].name, more[i].value);
    add_origin(&all, h, q);
    http_server_answer(q, status, all.at, all.n, body_take);
}

void http_reply_empty(Http *h, HttpServerRequest *q, int status) { http_reply(h, q, status, NULL, 0, NULL, NULL); }

void http_reply_error(Http *h, HttpServerRequest *q, int status, Value id, int code, const char *fmt, ...) {
    Buf text = { 0 }, body = { 0 };
    va_list ap;
    va_start(ap, fmt);
    buf_add_vfmt(&text, fmt, ap);
    va_end(ap);
    rpc_write_error(&body, id, code, buf_str(&text), VALUE_GONE);
    http_reply(h, q, status, NULL, 0, "application/json", &body);
    buf_clear(&text);
}

bool http_start_stream(Http *h, HttpServerRequest *q, Str session) {
    Headers all = { 0 };
    add(&all, STR("Content-Type"), STR("text/event-stream"));
    add(&all, STR("Cache-Control"), STR("no-cache, no-transform"));
    add(&all, STR("X-Accel-Buffering"), STR("no"));
    if (session.n) add(&all, STR("Mcp-Session-Id"), session);
    add_origin(&all, h, q);
    return http_server_stream(q, 200, all.at, all.n);
}

/* Skips a JSON string. The text was written by us. */
static Str skip_string(Str s) {
    size_t i = 1;
    while (i < s.n && s.at[i] != '"') i += s.at[i] == '\\' ? 2 : 1;
    return str_sub(s, i + 1, s.n);
}

/* The code of an error written by rpc_write_error; 0: not an error. */
static long error_code(Str message) {
    Str start = STR("{\"jsonrpc\":\"2.0\","), id = STR("\"id\":"), error = STR("\"error\":{\"code\":");
    char digits[16] = "";
    if (!str_starts(message, start)) return 0;
    Str rest = str_sub(message, start.n, message.n);
    if (str_starts(rest, id)) {
        rest = str_sub(rest, id.n, rest.n);
        if (rest.n && rest.at[0] == '"') rest = skip_string(rest);
        while (rest.n && rest.at[0] != ',') rest = str_sub(rest, 1, rest.n);
        rest = str_sub(rest, 1, rest.n);
    }
    if (!str_starts(rest, error)) return 0;
    rest = str_sub(rest, error.n, rest.n);
    memcpy(digits, rest.at, rest.n < sizeof digits - 1 ? rest.n : sizeof digits - 1);
    return strtol(digits, NULL, 10);
}

int http_status_of(McpVersion version, Str message) {
    switch (error_code(message)) {
    case RPC_PARSE: case RPC_INVALID_REQUEST: case MCP_UNSUPPORTED_VERSION: return 400;
    case MCP_HEADER_MISMATCH: case MCP_MISSING_CAPABILITY: return mcp_stateless(version) ? 400 : 200;
    case RPC_METHOD_NOT_FOUND: return mcp_stateless(version) ? 404 : 200;
    default: return 200;
    }
}
