/* Token endpoint requests, used by every grant. */
#include "mcp/oauth/oauth_private.h"
#include <stdlib.h>
#include <strings.h>
#include "base/base64.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/random.h"

enum { ASSERTION_SECONDS = 120, LIFE_SECONDS_MAX = 10 * 365 * 24 * 3600, SHOWN_MAX = 8 };
#define GAVE_NONE "gave no token"

static char *keep(Str s) { return s.n ? str_dup(s) : NULL; }

void oauth_token_clear(OAuthToken *t) {
    char *texts[] = { t->access, t->refresh, t->issuer, t->resource, t->scope, t->client_id, t->client_secret, t->auth, t->endpoint };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free(texts[i]);
    *t = (OAuthToken){ 0 };
}

/* RFC 7523, 2.2: the client signs an assertion of its identity for this issuer, valid for two minutes. */
static bool add_assertion(OAuth *a, Str id, Str issuer, Buf *form, Error *err) {
    char unique[16];
    random_fill(unique, sizeof unique);
    long long now = clock_wall_ns() / 1000000000;
    Buf header = { 0 }, claims = { 0 }, jwt = { 0 };
    buf_add_fmt(&header, "{\"alg\":\"%s\",\"typ\":\"JWT\"", jwt_key_algorithm(a->key));
    if (a->settings.key_id.n) {
        buf_add(&header, STR(",\"kid\":"));
        json_write_string(&header, a->settings.key_id, false);
    }
    buf_add_char(&header, '}');
    buf_add(&claims, STR("{\"iss\":"));
    json_write_string(&claims, id, false);
    buf_add(&claims, STR(",\"sub\":"));
    json_write_string(&claims, id, false);
    buf_add(&claims, STR(",\"aud\":"));
    json_write_string(&claims, issuer, false);
    buf_add_fmt(&claims, ",\"iat\":%lld,\"exp\":%lld,\"jti\":\"", now, now + ASSERTION_SECONDS);
    base64_encode_url((Str){ unique, sizeof unique }, &claims);
    buf_add(&claims, STR("\"}"));
    bool ok = jwt_key_sign(a->key, buf_str(&header), buf_str(&claims), &jwt, err);
    oauth_form_add(form, "client_assertion_type", STR("urn:ietf:params:oauth:client-assertion-type:jwt-bearer"));
    oauth_form_add(form, "client_assertion", buf_str(&jwt));
    buf_clear(&header);
    buf_clear(&claims);
    buf_clear(&jwt);
    return ok;
}

/* Adds the client authentication to the form, or sets *basic to the value of an Authorization header. */
static bool add_client(OAuth *a, const OAuthClient *client, Str issuer, Buf *form, Buf *basic, Error *err) {
    if (str_eq(client->auth, STR("client_secret_basic"))) {
        Buf pair = { 0 };
        oauth_form_escape(&pair, client->id);
        buf_add_char(&pair, ':');
        oauth_form_escape(&pair, client->secret);
        buf_add(basic, STR("Basic "));
        base64_encode(buf_str(&pair), basic);
        buf_clear(&pair);
        oauth_secret(a, str_sub(buf_str(basic), 6, basic->n));
        return true;
    }
    oauth_form_add(form, "client_id", client->id);
    if (str_eq(client->auth, STR("client_secret_post"))) oauth_form_add(form, "client_secret", client->secret);
    if (!str_eq(client->auth, STR("private_key_jwt"))) return true;
    return a->key ? add_assertion(a, client->id, issuer, form, err) : error_set(err, ERR_CONFIG, "oauth.private_key is needed for private_key_jwt");
}

/* True if the server's text repeats a secret of the form or its beginning; such a text is not shown. */
static bool repeats(Str text, Str form, Str client_secret) {
    static const char *const secrets[] = { "token", "code", "code_verifier", "refresh_token", "client_secret", "client_assertion",
        "assertion", "subject_token" };
    Arena arena = { 0 };
    Str value = client_secret;
    bool found = value.n && str_find(text, str_sub(value, 0, SHOWN_MAX)) >= 0;
    for (size_t i = 0; !found && i < sizeof secrets / sizeof *secrets; i++)
        found = oauth_form_get(form, secrets[i], &arena, &value) == 1 && str_find(text, str_sub(value, 0, SHOWN_MAX)) >= 0;
    arena_clear(&arena);
    return found;
}

bool oauth_token_refused(Str endpoint, const char *did, const OAuthAnswer *answer, Str form, Str client_secret, Error *err) {
    char where[TARGET_QUOTE_SIZE], what[TARGET_QUOTE_SIZE], why[TARGET_QUOTE_SIZE];
    Str problem = value_member_text(answer->json, "error"), text = value_member_text(answer->json, "error_description");
    if (repeats(problem, form, client_secret)) problem = STR("");
    if (repeats(text, form, client_secret)) text = STR("");
    return error_set(err, problem.n ? ERR_POLICY : ERR_PROTOCOL, "%s %s (%d%s%s%s%s)", target_quote(endpoint, where), did, answer->status,
                     problem.n ? ", " : "", target_quote(problem, what), text.n ? ": " : "", target_quote(text, why));
}

/* Sends the form, with a DPoP proof if there is a key; retries once with the server's nonce. */
static bool send_form(OAuth *a, const OAuthFetch *f, Str endpoint, Str form, Str basic, bool dpop, OAuthAnswer *out, Error *err) {
    for (int round = 0;; round++) {
        ClientHeader headers[2];
        size_t n = 0;
        Buf proof = { 0 };
        bool ok = !dpop || oauth_dpop_proof(a->dpop, STR("POST"), endpoint, STR(""), buf_str(&a->issuer_nonce), &proof, err);
        if (basic.n) headers[n++] = (ClientHeader){ STR("Authorization"), basic };
        if (dpop) headers[n++] = (ClientHeader){ STR("DPoP"), buf_str(&proof) };
        ok = ok && oauth_fetch_post(f, endpoint, STR("application/x-www-form-urlencoded"), form, headers, n, out, err);
        buf_clear(&proof);
        if (!ok) return false;
        if (out->dpop_nonce.n && out->dpop_nonce.n <= 1024) {
            buf_reset(&a->issuer_nonce);
            buf_add(&a->issuer_nonce, out->dpop_nonce);
        }
        if (round || !dpop || !out->dpop_nonce.n || !str_eq(value_member_text(out->json, "error"), STR("use_dpop_nonce"))) return true;
    }
}

bool oauth_token_post(OAuth *a, const OAuthFetch *f, Str endpoint, Str issuer, const OAuthClient *client, Buf *form, bool dpop, OAuthAnswer *out, Error *err) {
    Buf basic = { 0 };
    bool ok = add_client(a, client, issuer, form, &basic, err) && send_form(a, f, endpoint, buf_str(form), buf_str(&basic), dpop, out, err);
    buf_clear(&basic);
    return ok;
}

static int64_t life_seconds(Value json) {                  /* 0: unknown */
    const Value *v = dict_find_str(value_dict(json), STR("expires_in"));
    double n = !v ? 0 : value_is_small(*v) ? (double)value_small(*v) : value_is_float(*v) ? value_float(*v) : 0;
    if (v && value_is_string(*v))                          /* some servers send "3600" */
        for (size_t i = 0; i < value_str(*v).n && n < LIFE_SECONDS_MAX; i++) {
            if (value_str(*v).at[i] < '0' || value_str(*v).at[i] > '9') return 0;
            n = n * 10 + (value_str(*v).at[i] - '0');
        }
    return n > LIFE_SECONDS_MAX ? LIFE_SECONDS_MAX : n >= 1 ? (int64_t)n : 0;
}

static bool is_sendable(Str token) {                       /* valid in a header */
    for (size_t i = 0; i < token.n; i++)
        if (token.at[i] <= 0x20 || token.at[i] >= 0x7f) return false;
    return token.n > 0 && token.n <= OAUTH_TOKEN_MAX;
}

static bool is_type(Str type, const char *name) { return type.n == strlen(name) && strncasecmp(type.at, name, type.n) == 0; }

static bool read_token(OAuth *a, Str endpoint, Value json, bool dpop, OAuthToken *out, Error *err) {
    char where[TARGET_QUOTE_SIZE], said[TARGET_QUOTE_SIZE];
    Str access = value_member_text(json, "access_token"), refresh = value_member_text(json, "refresh_token"), type = value_member_text(json, "token_type");
    target_quote(endpoint, where);
    if (!is_sendable(access)) return error_set(err, ERR_PROTOCOL, "%s gave a token that cannot be sent in a header", where);
    if (dpop && is_type(type, "Bearer"))
        return error_set(err, ERR_POLICY, "%s gave a bearer token where one bound to a key (DPoP) is needed: rejected", where);
    if (!is_type(type, dpop ? "DPoP" : "Bearer"))
        return error_set(err, ERR_PROTOCOL, "%s gave a token of the type \"%s\", which is not supported", where, target_quote(type, said));
    int64_t life = life_seconds(json);
    out->access = str_dup(access);
    out->refresh = refresh.n <= OAUTH_TOKEN_MAX ? keep(refresh) : NULL;
    out->dpop = dpop;
    out->expires_ns = life ? clock_wall_ns() + life * 1000000000 : 0;
    oauth_secret(a, access);
    if (out->refresh) oauth_secret(a, refresh);
    return true;
}

static void remember(const OAuthSite *site, const OAuthClient *client, Str scope, OAuthToken *t) {
    t->issuer = keep(site->issuer);
    t->resource = keep(site->resource);
    t->endpoint = keep(site->token_endpoint);
    t->scope = keep(scope);
    t->client_id = keep(client->id);
    t->client_secret = keep(client->secret);
    t->auth = keep(client->auth);
}

static bool ask(OAuth *a, const OAuthFetch *f, const OAuthSite *site, const OAuthClient *client, Buf *form, bool dpop, OAuthToken *out,
    bool *gone, Error *err) {
    char shown[TARGET_QUOTE_SIZE];
    if (!site->token_endpoint.n) return error_set(err, ERR_PROTOCOL, "the authorization server %s has no token_endpoint", target_quote(site->issuer, shown));
    OAuthAnswer answer;
    oauth_form_add(form, "resource", site->resource);
    bool ok = oauth_token_post(a, f, site->token_endpoint, site->issuer, client, form, dpop, &answer, err);
    if (ok && (answer.status != 200 || value_is_gone(answer.json))) {
        *gone = answer.status == 400 || answer.status == 401;
        ok = oauth_token_refused(site->token_endpoint, GAVE_NONE, &answer, buf_str(form), client->secret, err);
    }
    return ok && read_token(a, site->token_endpoint, answer.json, dpop, out, err);
}

bool oauth_token_request(OAuth *a, const OAuthFetch *f, const OAuthSite *site, const OAuthClient *client, Buf *form, Str scope, OAuthToken *out,
                         Error *err) {
    bool gone;
    if (!ask(a, f, site, client, form, a->dpop && (a->settings.dpop || site->wants_dpop), out, &gone, err)) return false;
    remember(site, client, scope, out);
    return true;
}

bool oauth_token_refresh(OAuth *a, const OAuthFetch *f, const OAuthToken *old, OAuthToken *out, bool *gone, Error *err) {
    OAuthSite site = { .resource = str_from(old->resource), .issuer = str_from(old->issuer), .token_endpoint = str_from(old->endpoint),
        .metadata = VALUE_GONE };
    OAuthClient client = { .id = str_from(old->client_id), .secret = str_from(old->client_secret), .auth = str_from(old->auth) };
    Buf form = { 0 };
    *gone = false;
    oauth_form_add(&form, "grant_type", STR("refresh_token"));
    oauth_form_add(&form, "refresh_token", str_from(old->refresh));
    bool ok = ask(a, f, &site, &client, &form, old->dpop && a->dpop, out, gone, err);
    if (ok) {
        remember(&site, &client, str_from(old->scope), out);
        if (!out->refresh) out->refresh = str_dup(str_from(old->refresh));       /* not replaced: the old one stays
                                                                                  * valid */
    }
    buf_clear(&form);
    return ok;
}

bool oauth_token_by_credentials(OAuth *a, const OAuthFetch *f, const OAuthSite *site, const OAuthClient *client, Str scope, OAuthToken *out, Error *err) {
    Buf form = { 0 };
    oauth_form_add(&form, "grant_type", STR("client_credentials"));
    oauth_form_add(&form, "scope", scope);
    bool ok = oauth_token_request(a, f, site, client, &form, scope, out, err);
    buf_clear(&form);
    return ok;
}

static bool bearer_grant(OAuth *a, const OAuthFetch *f, const OAuthSite *site, const OAuthClient *client, Str assertion, Str scope,
    OAuthToken *out, Error *err) {
    Buf form = { 0 };
    oauth_form_add(&form, "grant_type", STR("urn:ietf:params:oauth:grant-type:jwt-bearer"));
    oauth_form_add(&form, "assertion", assertion);
    oauth_form_add(&form, "scope", scope);
    bool ok = oauth_token_request(a, f, site, client, &form, scope, out, err);
    buf_clear(&form);
    return ok;
}

/* The value from the settings, or the current content of its file: such tokens are short-lived and replaced in
 * place. */
static bool current(OAuth *a, Str text, Str file, const char *name, Arena *arena, Str *out, Error *err) {
    *out = text;
    if (file.n == 0) return true;
    if (!oauth_settings_file(file, name, arena, out, err)) return false;
    oauth_secret(a, *out);
    return true;
}

bool oauth_token_by_assertion(OAuth *a, const OAuthFetch *f, const OAuthSite *site, const OAuthClient *client, Str scope, OAuthToken *out, Error *err) {
    Arena arena = { 0 };
    Str assertion;
    bool ok = current(a, a->settings.assertion, a->settings.assertion_file, "assertion_file", &arena, &assertion, err)
              && bearer_grant(a, f, site, client, assertion, scope, out, err);
    arena_clear(&arena);
    return ok;
}

static bool idp_endpoint(OAuth *a, const OAuthFetch *f, Arena *arena, Str *out, Error *err) {
    const OAuthSettings *s = &a->settings;
    OAuthUrl u;
    Value metadata;
    *out = s->idp_token_endpoint;
    if (out->n) return oauth_url_trusted(*out, "oauth.idp_token_endpoint", &u, err);
    if (!oauth_discover_issuer(f, s->idp_issuer, arena, &metadata, err)) return error_wrap(err, "identity provider");
    if (!str_eq(value_member_text(metadata, "issuer"), s->idp_issuer))
        return error_set(err, ERR_POLICY, "the identity provider has no metadata, or metadata of another issuer than oauth.idp_issuer: rejected");
    *out = arena_str(arena, value_member_text(metadata, "token_endpoint"));
    return oauth_url_trusted(*out, "token_endpoint of the identity provider", &u, err);
}

/* Exchanges the user's ID token at the identity provider for a grant (ID-JAG) for the authorization server, if policy
 * allows. */
static bool exchange(OAuth *a, const OAuthFetch *f, const OAuthSite *site, Str scope, Arena *arena, Str *grant, Error *err) {
    const OAuthSettings *s = &a->settings;
    Str endpoint, id_token;
    if (!idp_endpoint(a, f, arena, &endpoint, err)
        || !current(a, s->idp_id_token, s->idp_id_token_file, "idp_id_token_file", arena, &id_token, err)) return false;
    Buf form = { 0 };
    OAuthAnswer answer;
    oauth_form_add(&form, "grant_type", STR("urn:ietf:params:oauth:grant-type:token-exchange"));
    oauth_form_add(&form, "requested_token_type", STR("urn:ietf:params:oauth:token-type:id-jag"));
    oauth_form_add(&form, "audience", site->issuer);
    oauth_form_add(&form, "resource", site->resource);
    oauth_form_add(&form, "scope", scope);
    oauth_form_add(&form, "subject_token", id_token);
    oauth_form_add(&form, "subject_token_type", STR("urn:ietf:params:oauth:token-type:id_token"));
    oauth_form_add(&form, "client_id", s->idp_client_id);
    oauth_form_add(&form, "client_secret", s->idp_client_secret);
    bool ok = oauth_fetch_post(f, endpoint, STR("application/x-www-form-urlencoded"), buf_str(&form), NULL, 0, &answer, err);
    if (ok && (answer.status != 200 || value_is_gone(answer.json))) ok = oauth_token_refused(endpoint, GAVE_NONE, &answer, buf_str(&form), STR(""), err);
    if (ok) *grant = arena_str(arena, value_member_text(answer.json, "access_token"));
    if (ok && (!is_sendable(*grant) || !str_eq(value_member_text(answer.json, "issued_token_type"), STR("urn:ietf:params:oauth:token-type:id-jag"))))
        ok = error_set(err, ERR_PROTOCOL, "the identity provider sent no id-jag token");
    if (ok) oauth_secret(a, *grant);
    buf_clear(&form);
    return ok;
}

bool oauth_token_by_enterprise(OAuth *a, const OAuthFetch *f, const OAuthSite *site, const OAuthClient *client, Str scope, OAuthToken *out, Error *err) {
    Arena arena = { 0 };
    Str grant;
    bool ok = exchange(a, f, site, scope, &arena, &grant, err) && bearer_grant(a, f, site, client, grant, scope, out, err);
    arena_clear(&arena);
    return ok;
}
