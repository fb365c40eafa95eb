/* Parses, compares and builds URLs for OAuth. */
#include "mcp/oauth/oauth_private.h"
#include <strings.h>

static bool bad(Str url, const char *why, Error *err) {
    char shown[TARGET_QUOTE_SIZE];
    return error_set(err, ERR_VALIDATION, "\"%s\" %s", target_quote(url, shown), why);
}

bool oauth_url_parse(Str url, OAuthUrl *out, Error *err) {
    if (url.n > OAUTH_URL_MAX) return bad(url, "is too long for a URL", err);
    for (size_t i = 0; i < url.n; i++)
        if ((unsigned char)url.at[i] <= 0x20 || (unsigned char)url.at[i] >= 0x7f || memchr("\"<>\\^`{|}", url.at[i], 9))
            return bad(url, "has a character that is not valid in a URL", err);
    OAuthUrl u = { .https = url.n > 8 && strncasecmp(url.at, "https://", 8) == 0 };
    if (!u.https && !(url.n > 7 && strncasecmp(url.at, "http://", 7) == 0)) return bad(url, "is not an http or https URL", err);
    if (str_find_char(url, '#') >= 0) return bad(url, "has a fragment", err);
    Str rest = str_sub(url, u.https ? 8 : 7, url.n);
    size_t host = 0;
    while (host < rest.n && rest.at[host] != '/' && rest.at[host] != '?') host++;
    if (str_find_char(str_sub(rest, 0, host), '@') >= 0) return bad(url, "has a user name", err);
    if (!target_parse(str_sub(rest, 0, host), u.https ? 443 : 80, &u.target, err)) return false;
    rest = str_sub(rest, host, rest.n);
    ptrdiff_t mark = str_find_char(rest, '?');
    u.path = mark < 0 ? rest : str_sub(rest, 0, (size_t)mark);
    u.query = mark < 0 ? STR("") : str_sub(rest, (size_t)mark + 1, rest.n);
    return *out = u, true;
}

bool oauth_url_local(const OAuthUrl *u) {
    const Target *t = &u->target;
    if (!t->is_address) return strcmp(t->host, "localhost") == 0;
    return t->address.v6 ? strcmp(t->host, "::1") == 0 : strncmp(t->host, "127.", 4) == 0;
}

bool oauth_url_trusted(Str url, const char *what, OAuthUrl *out, Error *err) {
    if (!oauth_url_parse(url, out, err)) return error_wrap(err, "%s", what);
    char shown[TARGET_QUOTE_SIZE];
    return out->https || oauth_url_local(out)
           || error_set(err, ERR_POLICY, "%s \"%s\" is not https; tokens and secrets are sent over https only (http to this machine)", what,
                        target_quote(url, shown));
}

bool oauth_url_same_origin(const OAuthUrl *a, const OAuthUrl *b) {
    return a->https == b->https && a->target.port == b->target.port && strcmp(a->target.host, b->target.host) == 0;
}

void oauth_url_origin(const OAuthUrl *u, Buf *out) {
    buf_add(out, u->https ? STR("https://") : STR("http://"));
    target_authority(&u->target, u->https ? 443 : 80, out);
}

static bool is_plain(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c && strchr("-._~", c)); }

void oauth_form_escape(Buf *out, Str value) {
    for (size_t i = 0; i < value.n; i++) {
        if (is_plain(value.at[i])) buf_add_char(out, value.at[i]);
        else buf_add_fmt(out, "%%%02X", (unsigned char)value.at[i]);
    }
}

void oauth_form_add(Buf *form, const char *name, Str value) {
    if (value.n == 0) return;
    if (form->n && form->at[form->n - 1] != '?' && form->at[form->n - 1] != '&') buf_add_char(form, '&');
    buf_add_fmt(form, "%s=", name);
    oauth_form_escape(form, value);
}

static int hex(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

static bool decode(Str text, char *out, size_t *n) {
    *n = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] != '%') { out[(*n)++] = text.at[i] == '+' ? ' ' : text.at[i]; continue; }
        if (i + 2 >= text.n || hex(text.at[i + 1]) < 0 || hex(text.at[i + 2]) < 0) return false;
        out[(*n)++] = (char)(hex(text.at[i + 1]) * 16 + hex(text.at[i + 2]));
        i += 2;
    }
    out[*n] = 0;
    return true;
}

int oauth_form_get(Str query, const char *name, Arena *arena, Str *out) {
    int found = 0;
    while (query.n) {
        ptrdiff_t end = str_find_char(query, '&');
        Str pair = end < 0 ? query : str_sub(query, 0, (size_t)end);
        query = end < 0 ? STR("") : str_sub(query, (size_t)end + 1, query.n);
        ptrdiff_t is = str_find_char(pair, '=');
        if (!str_eq(is < 0 ? pair : str_sub(pair, 0, (size_t)is), str_from(name))) continue;
        Str raw = is < 0 ? STR("") : str_sub(pair, (size_t)is + 1, pair.n);
        char *at = arena_alloc(arena, raw.n + 1);
        size_t n;
        if (found || !decode(raw, at, &n)) return -1;
        *out = (Str){ at, n };
        found = 1;
    }
    return found;
}
