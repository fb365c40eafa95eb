#include "net/http_gate.h"
#include <stdlib.h>
#include <strings.h>
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "net/target.h"

/* ---- rates ---- */

enum { RATE_SLOTS = 1024, MINUTE_MS = 60000 };           /* addresses tracked; two may share a slot */

typedef struct Bucket { int64_t at_ms; double level; } Bucket;           /* level: taken and not yet drained */
struct HttpGateRates { Bucket slots[RATE_SLOTS][HTTP_GATE_KINDS]; };

HttpGateRates *http_gate_rates_new(void) { return mem_zero(1, sizeof(HttpGateRates)); }
void http_gate_rates_free(HttpGateRates *r) { free(r); }

int64_t http_gate_take(HttpGateRates *r, const Address *peer, HttpGateKind kind, int64_t limit) {
    Bucket *b = &r->slots[hash_bytes((Str){ (const char *)peer->at, peer->v6 ? 16 : 4 }) % RATE_SLOTS][kind];
    int64_t now = clock_mono_ns() / 1000000;
    b->level -= (double)(now - b->at_ms) * (double)limit / MINUTE_MS;
    if (b->level < 0) b->level = 0;
    b->at_ms = now;
    if (b->level + 1 > (double)limit) return (int64_t)((b->level + 1 - (double)limit) * 60 / (double)limit) + 1;
    b->level += 1;
    return 0;
}

/* ---- Host and Origin ---- */

static bool same_text(Str a, Str b) { return a.n == b.n && (a.n == 0 || strncasecmp(a.at, b.at, a.n) == 0); }

static bool is_local_name(Str host) {
    static const char *const local[] = { "localhost", "127.0.0.1", "[::1]", "::1" };
    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        if (same_text(host, str_from(local[i]))) return true;
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

static bool is_listed(const Str *list, size_t n, Str name) {
    for (size_t i = 0; i < n; i++)
        if (same_text(list[i], name)) return true;
    return false;
}

static Str without_brackets(Str host) { return host.n > 1 && host.at[0] == '[' ? str_sub(host, 1, host.n - 1) : host; }

bool http_gate_host(const HttpGateNames *names, const HttpServerRequest *q) {
    Str text = http_server_header(q, STR("Host")), host, bound = str_from(names->address);
    Address address, own;
    if (http_server_count_header(q, STR("Host")) != 1 || !host_part(text, &host)) return false;
    if (is_listed(names->hosts, names->n_hosts, host) || is_listed(names->hosts, names->n_hosts, text) || str_eq(without_brackets(host), bound)) return true;
    if (!address_parse(bound, &own)) return false;
    bool any = str_eq(bound, STR("0.0.0.0")) || str_eq(bound, STR("::"));
    if (any && address_parse(without_brackets(host), &address)) return true;
    return (any || address_is_loopback(&own)) && is_local_name(host);
}

/* The host and port of an http or https origin. */
static bool origin_host(Str origin, Str *out) {
    if (str_starts(origin, STR("http://"))) return *out = str_sub(origin, 7, origin.n), true;
    if (str_starts(origin, STR("https://"))) return *out = str_sub(origin, 8, origin.n), true;
    return false;
}

bool http_gate_origin_known(const HttpGateNames *names, Str origin) {
    Str rest, host;
    if (is_listed(names->origins, names->n_origins, origin)) return true;
    return origin_host(origin, &rest) && host_part(rest, &host) && is_local_name(host);
}

bool http_gate_same_origin(const HttpGateNames *names, const HttpServerRequest *q) {
    Str origin = http_server_header(q, STR("Origin")), rest;
    size_t n = http_server_count_header(q, STR("Origin"));
    if (n == 0) return true;
    if (n > 1) return false;
    if (is_listed(names->origins, names->n_origins, origin)) return true;
    return origin_host(origin, &rest) && same_text(rest, http_server_header(q, STR("Host")));
}
