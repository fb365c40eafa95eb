#include "net/rule.h"
#include <stdlib.h>
#include "base/mem.h"
#include "base/vec.h"

enum { ENTRIES_MAX = 10000, PORT_WEB = 0, PORT_HTTP = 80, PORT_HTTPS = 443 };

typedef enum { ENTRY_ANY, ENTRY_NAME, ENTRY_BELOW, ENTRY_RANGE } EntryKind;

/* `name`: for ENTRY_NAME and ENTRY_BELOW, canonical. `net`, `bits`: for ENTRY_RANGE; a single address is a range of
 * one. */
typedef struct { EntryKind kind; uint16_t port; uint8_t bits; char *name; Address net; } RuleEntry;

struct Rules { bool any_public; VEC(RuleEntry) entries; };

/* ---- parsing entries ---- */

static bool bad_entry(Str entry, const char *why, Error *err) {
    char shown[TARGET_QUOTE_SIZE];
    return error_set(err, ERR_CONFIG, "\"%s\" %s", target_quote(entry, shown), why);
}

/* Removes a trailing ":port"; IPv6 needs brackets for that. */
static bool cut_port(Str *text, uint16_t *port) {
    size_t colon = text->n;
    *port = PORT_WEB;
    while (colon && text->at[colon - 1] != ':' && text->at[colon - 1] != ']') colon--;
    if (colon == 0 || text->at[colon - 1] != ':') return true;
    Str host = str_sub(*text, 0, colon - 1);
    if (host.n && host.at[0] != '[' && str_find_char(host, ':') >= 0) return true;    /* a bare IPv6 address */
    if (!target_parse_port(str_sub(*text, colon, text->n), port)) return false;
    *text = host;
    return true;
}

static bool read_bits(Str text, unsigned max, uint8_t *out) {
    unsigned n = 0;
    if (text.n == 0 || text.n > 3) return false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] < '0' || text.at[i] > '9') return false;
        n = n * 10 + (unsigned)(text.at[i] - '0');
    }
    if (n > max) return false;
    *out = (uint8_t)n;
    return true;
}

static bool bits_below_are_zero(const Address *a, unsigned bits) {
    for (unsigned i = bits; i < (a->v6 ? 128u : 32u); i++)
        if (a->at[i / 8] & 0x80 >> i % 8) return false;
    return true;
}

static bool read_range(Str entry, Str text, RuleEntry *out, Error *err) {
    ptrdiff_t slash = str_find_char(text, '/');
    Str head = str_sub(text, 0, (size_t)slash), bits = str_sub(text, (size_t)slash + 1, text.n);
    if (head.n >= 2 && head.at[0] == '[' && head.at[head.n - 1] == ']') head = str_sub(head, 1, head.n - 1);
    if (!address_parse(head, &out->net)) return bad_entry(entry, "has no address before \"/\"", err);
    if (!read_bits(bits, out->net.v6 ? 128 : 32, &out->bits)) return bad_entry(entry, "has a bad prefix length", err);
    if (!bits_below_are_zero(&out->net, out->bits)) return bad_entry(entry, "has bits set beyond its prefix length", err);
    out->kind = ENTRY_RANGE;
    return true;
}

static bool read_host(Str entry, Str text, RuleEntry *out, Error *err) {
    Target t;
    Error why;
    out->kind = ENTRY_NAME;
    if (str_starts(text, STR("*."))) {
        out->kind = ENTRY_BELOW;
        text = str_sub(text, 2, text.n);
    }
    if (!target_set(text, PORT_HTTP, &t, &why)) return bad_entry(entry, "is not a host, host:port, *.host, * or address", err);
    if (!t.is_address) {
        out->name = mem_dup(t.host, strlen(t.host));
        return true;
    }
    if (out->kind == ENTRY_BELOW) return bad_entry(entry, "asks for subdomains of an address", err);
    Address strict;
    if (!t.address.v6 && !address_parse(text, &strict)) return bad_entry(entry, "must be written as four decimal numbers", err);
    out->kind = ENTRY_RANGE;
    out->net = t.address;
    out->bits = t.address.v6 ? 128 : 32;
    return true;
}

static bool read_entry(Str entry, RuleEntry *out, Error *err) {
    Str text = entry;
    *out = (RuleEntry){ 0 };
    if (str_find(text, STR("://")) >= 0) return bad_entry(entry, "is a URL; write its host alone", err);
    if (!cut_port(&text, &out->port)) return bad_entry(entry, "has a bad port", err);
    if (str_eq(text, STR("*"))) return out->kind = ENTRY_ANY, true;
    if (text.n >= 2 && text.at[0] == '[' && text.at[text.n - 1] == ']' && str_find_char(text, '/') >= 0)
        text = str_sub(text, 1, text.n - 1);
    if (str_find_char(text, '/') >= 0) return read_range(entry, text, out, err);
    return read_host(entry, text, out, err);
}

bool rule_list_new(const Str *entries, size_t n, Rules **out, Error *err) {
    if (!vec_limit(n, ENTRIES_MAX, "allowed hosts", err)) return false;
    Rules *r = mem_zero(1, sizeof *r);
    r->any_public = entries == NULL;
    for (size_t i = 0; entries && i < n; i++) {
        RuleEntry e;
        if (!read_entry(entries[i], &e, err)) {
            rule_list_free(r);
            return false;
        }
        VEC_PUSH(&r->entries, e);
    }
    *out = r;
    return true;
}

void rule_list_free(Rules *r) {
    if (!r) return;
    for (size_t i = 0; i < r->entries.n; i++) free(r->entries.at[i].name);
    VEC_CLEAR(&r->entries);
    free(r);
}

/* ---- decisions ---- */

static bool port_matches(const RuleEntry *e, uint16_t port) {
    return e->port == PORT_WEB ? port == PORT_HTTP || port == PORT_HTTPS : e->port == port;
}

static bool is_below(const char *host, const char *name) {
    size_t n = strlen(host), m = strlen(name);
    return n > m + 1 && host[n - m - 1] == '.' && strcmp(host + n - m, name) == 0;
}

static bool host_matches(const RuleEntry *e, const Target *t) {
    switch (e->kind) {
    case ENTRY_ANY: return !t->is_address || address_kind(&t->address) == NULL;
    case ENTRY_NAME: return !t->is_address && strcmp(t->host, e->name) == 0;
    case ENTRY_BELOW: return !t->is_address && is_below(t->host, e->name);
    case ENTRY_RANGE: return t->is_address && address_within(&t->address, &e->net, e->bits);
    }
    return false;
}

static bool refuse_host(const Rules *r, const Target *t, Error *err) {
    const char *kind = t->is_address ? address_kind(&t->address) : NULL;
    for (size_t i = 0; i < r->entries.n; i++)
        if (host_matches(&r->entries.at[i], t))                        /* the host matches, so the port is wrong */
            return error_set(err, ERR_POLICY, "port %u of host \"%s\" is not in network.allowed_domains", t->port, t->host);
    if (kind) return error_set(err, ERR_POLICY, "%s is not public (%s) and not in network.allowed_domains", t->host, kind);
    return error_set(err, ERR_POLICY, "host \"%s\" is not in network.allowed_domains", t->host);
}

bool rule_allows_target(const Rules *r, const Target *t, Error *err) {
    if (r->any_public && !(t->is_address && address_kind(&t->address))) return true;
    for (size_t i = 0; i < r->entries.n; i++)
        if (host_matches(&r->entries.at[i], t) && port_matches(&r->entries.at[i], t->port)) return true;
    return refuse_host(r, t, err);
}

static bool is_listed_localhost(const RuleEntry *e, const Target *t) {
    return e->kind == ENTRY_NAME && strcmp(e->name, "localhost") == 0 && host_matches(e, t);
}

bool rule_allows_address(const Rules *r, const Target *t, const Address *a, Error *err) {
    const char *kind = address_kind(a);
    if (!kind) return true;
    for (size_t i = 0; i < r->entries.n; i++) {
        const RuleEntry *e = &r->entries.at[i];
        if (!port_matches(e, t->port)) continue;
        if (e->kind == ENTRY_RANGE && address_within(a, &e->net, e->bits)) return true;
        if (is_listed_localhost(e, t) && address_is_loopback(a)) return true;
    }
    char text[ADDRESS_TEXT_SIZE];
    address_format(a, text);
    if (t->is_address) return error_set(err, ERR_POLICY, "%s is not public (%s) and not in network.allowed_domains", text, kind);
    return error_set(err, ERR_POLICY, "host \"%s\" is at %s, which is not public (%s) and not in network.allowed_domains", t->host,
                     text, kind);
}
