#include <stdlib.h>
#include "artifact/oauth_settings.h"
#include "artifact/environment.h"
#include "artifact/field.h"
#include "base/file.h"

enum { OAUTH_FILE_MAX = 64 << 10 };

static const struct { const char *name; size_t offset; bool secret; } texts[] = {
#define X(key, secret) { #key, offsetof(OAuthSettings, key), secret },
    OAUTH_TEXTS(X)
#undef X
};
#define COUNT(table) (sizeof(table) / sizeof *(table))

static const char *const grants[] = { "authorization_code", "client_credentials", "jwt_bearer", "enterprise", NULL };
static const char *const auths[] = { "none", "client_secret_basic", "client_secret_post", "private_key_jwt", NULL };
static const char *const algorithms[] = { "ES256", "RS256", NULL };

static Str text_of(const Dict *d, const char *key) {
    const Value *v = dict_find_str(d, str_from(key));
    return v && value_is_string(*v) ? value_str(*v) : STR("");
}

__attribute__((format(printf, 4, 5)))
static bool wrong(Str *key, const char *about, Error *err, const char *fmt, ...) {
    *key = str_from(about);
    va_list ap;
    va_start(ap, fmt);
    error_set_v(err, ERR_CONFIG, fmt, ap);
    va_end(ap);
    return false;
}

static bool check_entry(const Entry *e, Str *key, Error *err) {
    Str name = value_str(e->key);
    *key = name;
    if (str_eq(name, STR("dpop")))
        return value_is_bool(e->value) || error_set(err, ERR_CONFIG, "dpop: expected bool, got %s", field_type_name(e->value));
    if (str_eq(name, STR("redirect_port")))
        return (value_is_small(e->value) && value_small(e->value) > 0 && value_small(e->value) < 65536)
               || error_set(err, ERR_CONFIG, "redirect_port: must be a port, 1 to 65535");
    Str known[COUNT(texts) + 2] = { STR("dpop"), STR("redirect_port") };
    for (size_t i = 0; i < COUNT(texts); i++) {
        known[i + 2] = str_from(texts[i].name);
        if (!str_eq(name, known[i + 2])) continue;
        if (!value_is_string(e->value))
            return error_set(err, ERR_CONFIG, "%s: expected string, got %s", texts[i].name, field_type_name(e->value));
        Str text = value_str(e->value);
        return (text.n && !memchr(text.at, 0, text.n)) || error_set(err, ERR_CONFIG, "%s: must not be empty or contain NUL", texts[i].name);
    }
    error_set(err, ERR_CONFIG, "unknown key \"" STR_FMT "\"", STR_ARG(name));
    Str nearest = str_nearest(name, known, COUNT(known));
    if (nearest.n) error_hint(err, "did you mean \"" STR_FMT "\"?", STR_ARG(nearest));
    return false;
}

static bool check_choice(const Dict *d, const char *name, const char *const *choices, Str *key, Error *err) {
    Str given = text_of(d, name);
    if (given.n == 0) return true;
    Arena arena = { 0 };
    const char *all = "";
    for (const char *const *c = choices; *c; c++) {
        if (str_eq(given, str_from(*c))) { arena_clear(&arena); return true; }
        all = arena_fmt(&arena, "%s%s%s", all, c == choices ? "" : c[1] ? ", " : " or ", *c);
    }
    wrong(key, name, err, "%s: expected %s, got \"" STR_FMT "\"", name, all, STR_ARG(given));
    arena_clear(&arena);
    return false;
}

/* X and X_file exclude each other. */
static bool check_files(const Dict *d, Str *key, Error *err) {
    static const char *const pairs[][2] = { { "private_key", "private_key_file" }, { "assertion", "assertion_file" },
                                            { "idp_id_token", "idp_id_token_file" } };
    for (size_t i = 0; i < COUNT(pairs); i++)
        if (text_of(d, pairs[i][0]).n && text_of(d, pairs[i][1]).n)
            return wrong(key, pairs[i][1], err, "%s and %s exclude each other", pairs[i][0], pairs[i][1]);
    return true;
}

static bool has_key(const Dict *d) { return text_of(d, "private_key").n || text_of(d, "private_key_file").n; }

static bool check_grant(const Dict *d, Str *key, Error *err) {
    Str grant = text_of(d, "grant"), auth = text_of(d, "token_auth");
    bool client = text_of(d, "client_id").n > 0;
    if (!client && (text_of(d, "client_secret").n || has_key(d)))
        return wrong(key, "client_id", err, "client_id is required with a client_secret or a private key");
    if (str_eq(auth, STR("private_key_jwt")) && !has_key(d))
        return wrong(key, "token_auth", err, "token_auth: private_key_jwt needs private_key or private_key_file");
    if (str_starts(auth, STR("client_secret")) && !text_of(d, "client_secret").n)
        return wrong(key, "token_auth", err, "token_auth: " STR_FMT " needs client_secret", STR_ARG(auth));
    if (str_eq(grant, STR("client_credentials")) && (!client || (!text_of(d, "client_secret").n && !has_key(d))))
        return wrong(key, "grant", err, "grant: client_credentials needs client_id and client_secret or private_key");
    if (str_eq(grant, STR("jwt_bearer")) && !text_of(d, "assertion").n && !text_of(d, "assertion_file").n)
        return wrong(key, "grant", err, "grant: jwt_bearer needs assertion or assertion_file");
    if (!str_eq(grant, STR("enterprise"))) return true;
    if (!client || !text_of(d, "idp_client_id").n || (!text_of(d, "idp_id_token").n && !text_of(d, "idp_id_token_file").n))
        return wrong(key, "grant", err, "grant: enterprise needs client_id, idp_client_id and idp_id_token (or idp_id_token_file)");
    return text_of(d, "idp_token_endpoint").n || text_of(d, "idp_issuer").n
           || wrong(key, "grant", err, "grant: enterprise needs idp_token_endpoint or idp_issuer");
}

bool oauth_settings_check(Value map, Str *key, Error *err) {
    *key = STR("");
    if (!value_is_dict(map)) return error_set(err, ERR_CONFIG, "expected map, got %s", field_type_name(map));
    const Dict *d = value_dict(map);
    Entry *e;
    for (uint32_t i = 0; dict_next(d, &i, &e);)
        if (!check_entry(e, key, err)) return false;
    Str url = text_of(d, "client_metadata_url");
    if (url.n && !str_starts(url, STR("https://")) && str_find(url, STR("${")) < 0)
        return wrong(key, "client_metadata_url", err, "client_metadata_url: must start with https://");
    return check_choice(d, "grant", grants, key, err) && check_choice(d, "token_auth", auths, key, err)
           && check_choice(d, "key_algorithm", algorithms, key, err) && check_files(d, key, err) && check_grant(d, key, err);
}

bool oauth_settings_file(Str path, const char *name, Arena *arena, Str *out, Error *err) {
    Buf bytes = { 0 };
    char *at = str_dup(path);
    bool ok = file_read(at, OAUTH_FILE_MAX, &bytes, err) || error_wrap(err, "oauth.%s", name);
    if (ok) *out = arena_str(arena, str_trim(buf_str(&bytes)));
    if (ok && out->n == 0) ok = error_set(err, ERR_CONFIG, "oauth.%s: %s is empty", name, at);
    buf_clear(&bytes);
    free(at);
    return ok;
}

static bool read_texts(const Dict *d, Arena *arena, void (*secret)(void *ctx, Str value), void *ctx, OAuthSettings *out, Error *err) {
    Buf text = { 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < COUNT(texts); i++) {
        Str given = text_of(d, texts[i].name);
        if (given.n == 0) continue;
        buf_reset(&text);
        ok = environment_expand(given, &text, secret, ctx, err) || error_wrap(err, "oauth.%s", texts[i].name);
        if (ok) *(Str *)(void *)((char *)out + texts[i].offset) = arena_str(arena, buf_str(&text));
    }
    buf_clear(&text);
    return ok;
}

bool oauth_settings_read(Value map, Arena *arena, void (*secret)(void *ctx, Str value), void *ctx, OAuthSettings *out, Error *err) {
    OAuthSettings s = { 0 };
    Str key;
    if (!value_is_gone(map)) {
        if (!oauth_settings_check(map, &key, err)) return error_wrap(err, "oauth");
        const Dict *d = value_dict(map);
        const Value *port = dict_find_str(d, STR("redirect_port")), *dpop = dict_find_str(d, STR("dpop"));
        s.redirect_port = port ? (uint16_t)value_small(*port) : 0;
        s.dpop = dpop && value_bool(*dpop);
        if (!read_texts(d, arena, secret, ctx, &s, err)) return false;
        if (s.private_key_file.n && !oauth_settings_file(s.private_key_file, "private_key_file", arena, &s.private_key, err)) return false;
        if (s.assertion_file.n && !oauth_settings_file(s.assertion_file, "assertion_file", arena, &s.assertion, err)) return false;
        if (s.idp_id_token_file.n && !oauth_settings_file(s.idp_id_token_file, "idp_id_token_file", arena, &s.idp_id_token, err)) return false;
        for (int i = 0; grants[i]; i++)
            if (str_eq(s.grant, str_from(grants[i]))) s.how = (OAuthGrant)i;
        for (size_t i = 0; secret && i < COUNT(texts); i++) {
            Str value = *(const Str *)(const void *)((const char *)&s + texts[i].offset);
            if (texts[i].secret && value.n) secret(ctx, value);
        }
    }
    *out = s;
    return true;
}
