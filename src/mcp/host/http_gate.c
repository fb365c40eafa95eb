#include "mcp/host/http_private.h"
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "net/target.h"

/* ---- rate limits ---- */

enum {
    RATE_SLOTS = 1024,                   /* addresses tracked; two may share a slot */
    RATE_REMOTE = 6000,                  /* a minute, from another machine */
    RATE_FAILED = 60,                    /* wrong tokens a minute */
    MINUTE_MS = 60000,
};

typedef struct Bucket { int64_t at_ms; double level; } Bucket;           /* level: taken and not yet drained */
typedef struct Slot { Bucket all, failed; } Slot;
typedef struct HttpRates { int64_t limit; Slot slots[RATE_SLOTS]; } HttpRates;

HttpRates *http_rates_new(int64_t requests_per_minute) {
    HttpRates *r = mem_zero(1, sizeof *r);
    r->limit = requests_per_minute;
    return r;
}

void http_rates_free(HttpRates *r) { free(r); }

/* Seconds to wait; 0: proceed. */
static int64_t take(Bucket *b, int64_t limit) {
    int64_t now = clock_mono_ns() / 1000000;
    b->level -= (double)(now - b->at_ms) * (double)limit / MINUTE_MS;
    if (b->level < 0) b->level = 0;
    b->at_ms = now;
    if (b->level + 1 > (double)limit) return (int64_t)((b->level + 1 - (double)limit) * 60 / (double)limit) + 1;
    b->level += 1;
    return 0;
}

static Slot *slot_of(HttpRates *r, const Address *a) { return &r->slots[hash_bytes((Str){ (const char *)a->at, a->v6 ? 16 : 4 }) % RATE_SLOTS]; }

static void reply_wait(Http *h, HttpServerRequest *q, int64_t seconds) {
    char text[24];
    Buf body = { 0 };
    snprintf(text, sizeof text, "%lld", (long long)seconds);
    rpc_write_error(&body, VALUE_GONE, RPC_INVALID_REQUEST, STR("too many requests: wait as long as Retry-After says"), VALUE_GONE);
    http_reply(h, q, 429, &(HttpServerHeader){ STR("Retry-After"), str_from(text) }, 1, "application/json", &body);
}

/* ---- Host and Origin ---- */

static bool is_local_name(Str host) {
    static const char *const local[] = { "localhost", "127.0.0.1", "[::1]", "::1" };
    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        if (host.n == strlen(local[i]) && strncasecmp(host.at, local[i], host.n) == 0) return true;
    return false;
}

/* HOST or HOST:PORT; a bracketed IPv6 address keeps its brackets. False: neither. */
static bool host_part(Str text, Str *host) {
    ptrdiff_t end = text.n && text.at[0] == '[' ? str_find_char(text, ']') + 1 : str_find_char(text, ':');
    if (end < 0) end = (ptrdiff_t)text.n;
    *host = str_sub(text, 0, (size_t)end);
    Str port = str_sub(text, (size_t)end, text.n);
    uint16_t number;
    return host->n && (port.n == 0 || (port.at[0] == ':' && target_parse_port(str_sub(port, 1, port.n), &number)));
}

static bool is_listed(StrList list, Str name) {
    for (size_t i = 0; i < list.n; i++)
        if (list.at[i].n == name.n && strncasecmp(list.at[i].at, name.at, name.n) == 0) return true;
    return false;
}

static Str without_brackets(Str host) { return host.n > 1 && host.at[0] == '[' ? str_sub(host, 1, host.n - 1) : host; }

/* Protects against DNS rebinding: the Host header then has the attacker's name. Any IP address is accepted when
 * listening on all addresses, since DNS cannot redirect an address. */
static bool host_allowed(const Http *h, Str text) {
    Str host, bound = str_from(h->config->address);
    Address address, own;
    if (!host_part(text, &host)) return false;
    if (is_listed(h->config->hosts, host) || is_listed(h->config->hosts, text) || str_eq(without_brackets(host), bound)) return true;
    if (!address_parse(bound, &own)) return false;
    bool any = str_eq(bound, STR("0.0.0.0")) || str_eq(bound, STR("::"));
    if (any && address_parse(without_brackets(host), &address)) return true;
    return (any || address_is_loopback(&own)) && is_local_name(host);
}

bool http_origin_allowed(const Http *h, Str origin) {
    Str rest = origin, host;
    if (is_listed(h->config->origins, origin)) return true;
    if (str_starts(rest, STR("http://"))) rest = str_sub(rest, 7, rest.n);
    else if (str_starts(rest, STR("https://"))) rest = str_sub(rest, 8, rest.n);
    else return false;
    return host_part(rest, &host) && is_local_name(host);
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

static void check_token(Http *h, HttpServerRequest *q, Slot *slot) {
    ServeWho who;
    ServeAuthAnswer answer = serve_auth_quick(h->auth, http_server_header(q, STR("Authorization")), &who);
    if (answer == AUTH_OK || answer == AUTH_LATER) return;
    int64_t wait = take(&slot->failed, RATE_FAILED);
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
    return h->rates->limit ? h->rates->limit : address_is_loopback(peer) ? 0 : RATE_REMOTE;
}

void http_admit(void *http, HttpServerRequest *q) {
    Http *h = http;
    Str origin = http_server_header(q, STR("Origin")), path = http_server_path(q), method = http_server_method(q);
    Slot *slot = slot_of(h->rates, http_server_peer(q));
    int64_t limit = limit_for(h, http_server_peer(q)), wait = limit ? take(&slot->all, limit) : 0;
    if (wait) reply_wait(h, q, wait);
    else if (http_server_count_header(q, STR("Host")) != 1 || !host_allowed(h, http_server_header(q, STR("Host"))))
        http_reply_error(h, q, 403, VALUE_GONE, RPC_INVALID_REQUEST, "the Host header does not match this server: start it with --host NAME to add a name");
    else if (http_server_count_header(q, STR("Origin")) > 1 || (origin.n && !http_origin_allowed(h, origin)))
        http_reply_error(h, q, 403, VALUE_GONE, RPC_INVALID_REQUEST, "this origin is not allowed: start the server with --origin ORIGIN to allow it");
    else if (http_server_count_header(q, STR("Authorization")) > 1)
        http_reply_error(h, q, 400, VALUE_GONE, RPC_INVALID_REQUEST, "the header Authorization occurs more than once");
    else if (is_metadata(path) && serve_auth_has_server(h->auth)) reply_metadata(h, q);
    else if (!str_eq(path, STR("/mcp")))
        http_reply_error(h, q, 404, VALUE_GONE, RPC_INVALID_REQUEST, "not found: the server is at /mcp");
    else if (str_eq(method, STR("OPTIONS")) && origin.n) reply_preflight(h, q);
    else if (!is_served(method)) reply_method(h, q);
    else check_token(h, q, slot);
}
