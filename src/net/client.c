#include "net/client.h"
#include <pthread.h>
#include <stdlib.h>
#include <strings.h>
#include "base/arena.h"
#include "base/mem.h"
#include "net/exchange.h"

enum { IDLE_LANES_MAX = 8, METHOD_MAX = 32, URL_MAX = 64 << 10 };

/* Idle lanes, the most recently used first. */
struct Client { pthread_mutex_t lock; Lane *idle; Resolver *resolver; };

Client *client_new(void) {
    Client *c = mem_zero(1, sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    c->resolver = resolver_new();
    return c;
}

void client_free(Client *c) {
    if (!c) return;
    for (Lane *l = c->idle, *next; l; l = next) {
        next = l->next;
        lane_free(l);
    }
    resolver_free(c->resolver);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

Resolver *client_resolver(Client *c) { return c->resolver; }

/* The idle lane that last talked to this host, else any. */
static Lane *take_lane(Client *c, const CurlLibrary *lib, const Target *t, Error *err) {
    pthread_mutex_lock(&c->lock);
    Lane **best = &c->idle;
    for (Lane **l = &c->idle; *l; l = &(*l)->next)
        if ((*l)->last.port == t->port && strcmp((*l)->last.host, t->host) == 0) {
            best = l;
            break;
        }
    Lane *lane = *best;
    if (lane) *best = lane->next;
    pthread_mutex_unlock(&c->lock);
    return lane ? lane : lane_new(lib, err);
}

static void give_lane(Client *c, Lane *lane) {
    Lane *extra = NULL;
    pthread_mutex_lock(&c->lock);
    lane->next = c->idle;
    c->idle = lane;
    size_t n = 1;
    for (Lane **l = &lane->next; *l; l = &(*l)->next)
        if (++n > IDLE_LANES_MAX) {                    /* the least recently used one */
            extra = *l;
            *l = NULL;
            break;
        }
    pthread_mutex_unlock(&c->lock);
    lane_free(extra);
}

/* ---- the URL ---- */

static bool bad_url(Str url, const char *why, Error *err) {
    char shown[TARGET_QUOTE_SIZE];
    return error_set(err, ERR_VALIDATION, "url \"%s\": %s", target_quote(url, shown), why);
}

/* libcurl parses the URL and sends the request from the same handle, so that no second parser can read it
 * differently. */
static bool set_url(const CurlLibrary *lib, CURLU *u, Str url, Error *err) {
    if (url.n > URL_MAX) return bad_url(url, "too long", err);
    if (memchr(url.at, 0, url.n)) return bad_url(url, "has a NUL in it", err);
    char *text = str_dup(url);
    CURLUcode code = lib->curl_url_set(u, CURLUPART_URL, text, CURLU_URLENCODE);
    free(text);
    if (code == CURLUE_UNSUPPORTED_SCHEME) return error_set(err, ERR_POLICY, "only http and https URLs can be requested");
    return code == CURLUE_OK || bad_url(url, lib->curl_url_strerror(code), err);
}

static bool has_part(const CurlLibrary *lib, CURLU *u, CURLUPart part) {
    char *text = NULL;
    bool has = lib->curl_url_get(u, part, &text, 0) == CURLUE_OK;
    lib->curl_free(text);
    return has;
}

static bool read_scheme(const CurlLibrary *lib, Exchange *x, Error *err) {
    char *scheme = NULL;
    bool known = lib->curl_url_get(x->url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK;
    x->https = known && strcmp(scheme, "https") == 0;
    known = x->https || (known && strcmp(scheme, "http") == 0);
    lib->curl_free(scheme);
    return known || error_set(err, ERR_POLICY, "only http and https URLs can be requested");
}

static bool read_target(const CurlLibrary *lib, Exchange *x, char *host, char *port, Error *err) {
    uint16_t number;
    if (!target_parse_port(str_from(port), &number)) return error_set(err, ERR_VALIDATION, "url: invalid port %s", port);
    if (!target_set(str_from(host), number, &x->target, err)) return error_wrap(err, "url");
    bool v6 = x->target.is_address && x->target.address.v6;
    char canonical[TARGET_HOST_MAX + 3];
    snprintf(canonical, sizeof canonical, v6 ? "[%s]" : "%s", x->target.host);
    return lib->curl_url_set(x->url, CURLUPART_HOST, canonical, 0) == CURLUE_OK
           || error_set(err, ERR_VALIDATION, "url: \"%s\" is not a host name", x->target.host);
}

static bool read_url(const CurlLibrary *lib, Exchange *x, Error *err) {
    char *host = NULL, *port = NULL;
    bool ok = false;
    if (!read_scheme(lib, x, err)) return false;
    if (has_part(lib, x->url, CURLUPART_USER) || has_part(lib, x->url, CURLUPART_PASSWORD))
        return error_set(err, ERR_VALIDATION, "url: user and password are not accepted in a URL; send a header");
    if (has_part(lib, x->url, CURLUPART_ZONEID))
        return error_set(err, ERR_VALIDATION, "url: an IPv6 address with a zone is not accepted");
    if (lib->curl_url_get(x->url, CURLUPART_HOST, &host, 0) == CURLUE_OK
        && lib->curl_url_get(x->url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK)
        ok = read_target(lib, x, host, port, err);
    else
        error_set(err, ERR_VALIDATION, "url: no host");
    lib->curl_free(host);
    lib->curl_free(port);
    return ok;
}

/* ---- redirects ---- */

static bool is_redirect(const Exchange *x) {
    return (x->status >= 301 && x->status <= 303) || x->status == 307 || x->status == 308;
}

static void change_method(Exchange *x) {
    bool post = str_eq(x->method, STR("POST")), head = str_eq(x->method, STR("HEAD"));
    if ((x->status == 303 && !head) || (x->status <= 302 && post)) {
        x->method = STR("GET");
        x->has_body = false;
    }
}

static bool same_origin(const Exchange *x, const Target *t, bool https) {
    return x->https == https && x->target.port == t->port && strcmp(x->target.host, t->host) == 0;
}

/* Turns x into the request for the next hop of the redirect. */
static bool follow(const CurlLibrary *lib, Exchange *x, Error *err) {
    Target from = x->target;
    bool https = x->https;
    Str location = exchange_header(x, "location");
    if (!set_url(lib, x->url, location, err) || !read_url(lib, x, err)) return error_wrap(err, "redirect");
    x->bare |= !same_origin(x, &from, https);
    change_method(x);
    buf_reset(&x->head);
    buf_reset(&x->body);
    x->head_bytes = x->body_bytes = 0;
    return true;
}

/* ---- one hop ---- */

static bool check_addresses(const ClientRequest *r, const Target *t, Addresses *found, Error *err) {
    size_t n = 0;
    for (size_t i = 0; r->rules && i < found->n; i++)
        if (rule_allows_address(r->rules, t, &found->at[i], err)) found->at[n++] = found->at[i];
    if (r->rules) found->n = n;
    return found->n > 0;
}

static bool hop(Client *c, const CurlLibrary *lib, Exchange *x, Cancel *cancel, Error *err) {
    Addresses found;
    Error why = { 0 };                                 /* why an address failed: reported only if no other one works */
    if (x->request->rules && !rule_allows_target(x->request->rules, &x->target, err)) return false;
    if (!resolver_find(c->resolver, &x->target, cancel, &found, err)) return false;
    if (!check_addresses(x->request, &x->target, &found, &why)) {
        if (err) *err = why;
        return false;
    }
    if (!cancel_check(cancel, err)) return false;      /* send nothing after the deadline */
    Lane *lane = take_lane(c, lib, &x->target, err);
    if (!lane) return false;
    bool ok = exchange_run(x, lane, &found, cancel, err);
    give_lane(c, lane);
    return ok;
}

static bool hops(Client *c, const CurlLibrary *lib, Exchange *x, Cancel *cancel, Error *err) {
    for (int left = x->request->max_redirects;; left--) {
        if (!hop(c, lib, x, cancel, err)) return false;
        if (x->request->max_redirects <= 0 || !is_redirect(x) || exchange_header(x, "location").n == 0) return true;
        if (left == 0) return error_set(err, ERR_LIMIT, "more than %d redirects", x->request->max_redirects);
        if (!follow(lib, x, err)) return false;
    }
}

/* ---- the response ---- */

static Str lower_copy(Arena *arena, Str s) {
    char *copy = arena_alloc(arena, s.n + 1);
    for (size_t i = 0; i < s.n; i++) copy[i] = (char)(s.at[i] >= 'A' && s.at[i] <= 'Z' ? s.at[i] | 32 : s.at[i]);
    copy[s.n] = 0;
    return (Str){ copy, s.n };
}

static size_t read_headers(const Exchange *x, Arena *arena, ClientHeader *all) {
    Str rest = buf_str(&x->head), name, value;
    size_t n = 0;
    while (n < EXCHANGE_HEADERS_MAX && exchange_next_header(&rest, &name, &value))
        all[n++] = (ClientHeader){ lower_copy(arena, name), value };
    return n;
}

/* Joins all values with the name of all[i] and removes the duplicates from the list. */
static Str join_values(ClientHeader *all, size_t n, size_t i, Arena *arena) {
    Buf joined = { 0 };
    Str name = all[i].name, comma = str_eq(name, STR("set-cookie")) ? STR("\n") : STR(", ");
    for (size_t j = i; j < n; j++) {
        if (!str_eq(all[j].name, name)) continue;
        if (j > i) buf_add(&joined, comma);
        buf_add(&joined, all[j].value);
        all[j].name = STR("");
    }
    Str value = arena_str(arena, buf_str(&joined));
    buf_clear(&joined);
    return value;
}

static void fill_response(const CurlLibrary *lib, Exchange *x, ClientResponse *out) {
    Arena *arena = mem_zero(1, sizeof *arena);
    ClientHeader *all = mem_zero(EXCHANGE_HEADERS_MAX, sizeof *all);
    char *url = NULL;
    size_t n = read_headers(x, arena, all);
    out->memory = arena;
    out->status = x->status;
    out->headers = ARENA_ARRAY(arena, ClientHeader, n);
    for (size_t i = 0; i < n; i++) {
        Str name = all[i].name;
        if (name.n) out->headers[out->n_headers++] = (ClientHeader){ name, join_values(all, n, i, arena) };
    }
    free(all);
    out->body = x->body;
    x->body = (Buf){ 0 };
    if (lib->curl_url_get(x->url, CURLUPART_URL, &url, 0) == CURLUE_OK) buf_add(&out->url, str_from(url));
    lib->curl_free(url);
}

Str client_header(const ClientResponse *r, Str name) {
    for (size_t i = 0; i < r->n_headers; i++)
        if (r->headers[i].name.n == name.n && strncasecmp(r->headers[i].name.at, name.at, name.n) == 0) return r->headers[i].value;
    return STR("");
}

void client_response_clear(ClientResponse *r) {
    if (r->memory) {
        arena_clear(r->memory);
        free(r->memory);
    }
    buf_clear(&r->body);
    buf_clear(&r->url);
    *r = (ClientResponse){ 0 };
}

/* ---- the request ---- */

static bool method_ok(const ClientRequest *r, char out[METHOD_MAX], Error *err) {
    char shown[TARGET_QUOTE_SIZE];
    bool ok = r->method.n > 0 && r->method.n < METHOD_MAX;
    for (size_t i = 0; ok && i < r->method.n; i++) {
        char c = r->method.at[i];
        ok = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
    }
    if (!ok) return error_set(err, ERR_VALIDATION, "\"%s\" is not a request method", target_quote(r->method, shown));
    memcpy(out, r->method.at, r->method.n);
    out[r->method.n] = 0;
    static const char *const known[] = { "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS" };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasecmp(out, known[i]) == 0) memcpy(out, known[i], r->method.n);
    if (strcasecmp(out, "CONNECT") == 0 || strcasecmp(out, "TRACE") == 0)
        return error_set(err, ERR_VALIDATION, "method %s cannot be used", out);
    if (r->has_body && strcmp(out, "HEAD") == 0) return error_set(err, ERR_VALIDATION, "a HEAD request has no body");
    return true;
}

bool client_send(Client *c, const ClientRequest *request, Cancel *cancel, ClientResponse *out, Error *err) {
    char method[METHOD_MAX];
    if (!method_ok(request, method, err) || !exchange_headers_ok(request, err)) return false;
    const CurlLibrary *lib = curl_library(err);
    if (!lib) return false;
    Exchange x = { .request = request, .method = str_from(method), .has_body = request->has_body, .url = lib->curl_url() };
    int64_t timeout_ns;
    if (__builtin_mul_overflow(request->timeout_ms, 1000000, &timeout_ns)) timeout_ns = INT64_MAX;
    Cancel *token = cancel_new(cancel, timeout_ns);
    bool ok = x.url ? set_url(lib, x.url, request->url, err) && read_url(lib, &x, err) && hops(c, lib, &x, token, err)
                    : error_set(err, ERR_IO, "cannot start libcurl");
    out->sent = x.sent;
    if (ok) fill_response(lib, &x, out);
    exchange_clear(&x);
    cancel_free(token);
    lib->curl_url_cleanup(x.url);
    return ok;
}
