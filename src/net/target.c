#include "net/target.h"
#include "schema/idna.h"

const char *target_quote(Str text, char out[TARGET_QUOTE_SIZE]) {
    size_t n = 0;
    for (; n < text.n && n < TARGET_QUOTE_SIZE - 4; n++) out[n] = text.at[n] >= 0x20 && text.at[n] < 0x7f ? text.at[n] : '?';
    memcpy(out + n, n < text.n ? "..." : "\0\0\0", 4);
    return out;
}

static bool bad_host(Str host, Error *err) {
    char shown[TARGET_QUOTE_SIZE];
    if (host.n == 0) return error_set(err, ERR_VALIDATION, "the host is empty");
    return error_set(err, ERR_VALIDATION, "\"%s\" is not a host name", target_quote(host, shown));
}

static void set_address(Target *t, const Address *a) {
    t->is_address = true;
    t->address = *a;
    address_format(a, t->host);
}

static bool set_v6(Str host, Target *t, Error *err) {
    Address a;
    if (str_find_char(host, '%') >= 0) return error_set(err, ERR_VALIDATION, "an IPv6 address with a zone is not accepted");
    if (!address_parse(host, &a) || !a.v6) return bad_host(host, err);
    set_address(t, &a);
    return true;
}

static bool set_name(Str host, Target *t, Error *err) {
    Buf name = { .limit = TARGET_HOST_MAX + 1 };
    bool ok = true;
    for (Str rest = host; ok;) {
        ptrdiff_t dot = str_find_char(rest, '.');
        ok = idna_label_encode(dot < 0 ? rest : str_sub(rest, 0, (size_t)dot), &name);
        if (dot < 0) break;
        buf_add_char(&name, '.');
        rest = str_sub(rest, (size_t)dot + 1, rest.n);
    }
    ok = ok && !name.full && name.n <= TARGET_HOST_MAX;
    if (ok) memcpy(t->host, name.at, name.n + 1);
    buf_clear(&name);
    return ok || bad_host(host, err);
}

bool target_set(Str host, uint16_t port, Target *out, Error *err) {
    Target t = { .port = port };
    Str given = host;
    if (port == 0) return error_set(err, ERR_VALIDATION, "port 0 is invalid");
    if (host.n >= 2 && host.at[0] == '[' && host.at[host.n - 1] == ']') {
        if (!set_v6(str_sub(host, 1, host.n - 1), &t, err)) return false;
    } else if (str_find_char(host, ':') >= 0) {
        if (!set_v6(host, &t, err)) return false;
    } else {
        if (host.n > 1 && host.at[host.n - 1] == '.') host.n--;        /* one trailing dot: the root */
        if (address_looks_numeric(host)) {
            Address a;
            if (!address_parse_loose(host, &a)) return bad_host(given, err);
            set_address(&t, &a);
        } else if (!set_name(host, &t, err)) {
            return false;
        }
    }
    *out = t;
    return true;
}

bool target_parse_port(Str text, uint16_t *out) {
    uint32_t n = 0;
    if (text.n == 0 || text.n > 5) return false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] < '0' || text.at[i] > '9') return false;
        n = n * 10 + (uint32_t)(text.at[i] - '0');
    }
    if (n == 0 || n > 65535) return false;
    *out = (uint16_t)n;
    return true;
}

bool target_parse(Str authority, uint16_t default_port, Target *out, Error *err) {
    char shown[TARGET_QUOTE_SIZE];
    Str host = authority;
    uint16_t port = default_port;
    size_t at = authority.n;
    while (at && authority.at[at - 1] != ':' && authority.at[at - 1] != ']') at--;
    if (at && authority.at[at - 1] == ':') {
        host = str_sub(authority, 0, at - 1);
        if (!target_parse_port(str_sub(authority, at, authority.n), &port))
            return error_set(err, ERR_VALIDATION, "\"%s\": bad port", target_quote(authority, shown));
        if (str_find_char(host, ':') >= 0 && host.at[0] != '[')         /* an IPv6 address without brackets? */
            return bad_host(authority, err);
    }
    if (port == 0) return error_set(err, ERR_VALIDATION, "\"%s\": the port is missing", target_quote(authority, shown));
    return target_set(host, port, out, err);
}

void target_authority(const Target *t, uint16_t default_port, Buf *out) {
    bool v6 = t->is_address && t->address.v6;
    buf_add_fmt(out, v6 ? "[%s]" : "%s", t->host);
    if (t->port != default_port) buf_add_fmt(out, ":%u", t->port);
}
