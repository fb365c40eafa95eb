/* WWW-Authenticate (RFC 9110, 11.6.1): one or more schemes with parameters in one line. */
#include "mcp/oauth/oauth_private.h"
#include <strings.h>

static bool is_token(char c) { return c > 0x20 && c < 0x7f && !strchr("()<>@,;:\\\"/[]?={}", c); }

static void skip(Str *s, const char *set) {
    while (s->n && s->at[0] && strchr(set, s->at[0])) *s = str_sub(*s, 1, s->n);
}

static Str take_token(Str *s) {
    size_t n = 0;
    while (n < s->n && is_token(s->at[n])) n++;
    Str token = str_sub(*s, 0, n);
    *s = str_sub(*s, n, s->n);
    return token;
}

/* The value after '=': a quoted string or a token (with the characters of token68 and bare URLs, which some servers
 * send). */
static Str take_value(Str *s, Arena *arena) {
    if (s->n == 0 || s->at[0] != '"') {
        size_t n = 0;
        while (n < s->n && s->at[n] != ',' && s->at[n] != ' ' && s->at[n] != '\t') n++;
        Str bare = str_sub(*s, 0, n);
        *s = str_sub(*s, n, s->n);
        return arena_str(arena, bare);
    }
    char *at = arena_alloc(arena, s->n + 1);
    size_t n = 0, i = 1;
    for (; i < s->n && s->at[i] != '"'; i++) {
        if (s->at[i] == '\\' && i + 1 < s->n) i++;
        at[n++] = s->at[i];
    }
    at[n] = 0;
    *s = str_sub(*s, i + 1, s->n);
    return (Str){ at, n };
}

static bool same(Str a, const char *b) { return a.n == strlen(b) && strncasecmp(a.at, b, a.n) == 0; }

static void keep(OAuthChallenge *c, Str name, Str value) {
    Str *to = same(name, "error") ? &c->error : same(name, "scope") ? &c->scope : same(name, "resource_metadata") ? &c->resource_metadata : NULL;
    if (to && to->n == 0) *to = value;
}

void oauth_challenge_read(Str s, Arena *arena, OAuthChallenge *out) {
    *out = (OAuthChallenge){ 0 };
    bool ours = false, bearer = false;
    for (skip(&s, " \t,"); s.n; skip(&s, " \t,")) {
        Str before = s, word = take_token(&s);
        skip(&s, " \t");
        if (word.n && s.n && s.at[0] == '=') {
            s = str_sub(s, 1, s.n);
            skip(&s, " \t");
            Str value = take_value(&s, arena);
            if (ours) keep(out, word, value);
        } else if (word.n) {
            bearer = bearer || same(word, "Bearer");
            out->dpop = out->dpop || same(word, "DPoP");
            ours = same(word, "Bearer") || same(word, "DPoP");
        }
        if (s.n == before.n) s = str_sub(s, 1, s.n);       /* not a token: skip the character */
    }
    out->dpop = out->dpop && !bearer;                      /* if both are offered, use Bearer */
}
