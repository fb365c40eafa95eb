#include "mcp/oauth/oauth_private.h"
#include <stdlib.h>
#include <strings.h>
#include <time.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

enum { REFUSALS_MAX = 6, GRANTS_MAX = 3, EARLY_SECONDS = 30, HEAP_MAX = 64 << 20, NONCE_MAX = 1024 };

void oauth_secret(const OAuth *a, Str value) {
    if (a->config.secret && value.n) a->config.secret(a->config.ctx, value);
}

static bool read_key(OAuth *a, Error *err) {
    const OAuthSettings *s = &a->settings;
    if (!s->private_key.n) return true;
    a->key = jwt_key_read(s->private_key, err);
    if (!a->key) return error_wrap(err, "oauth.private_key");
    return !s->key_algorithm.n || str_eq(s->key_algorithm, str_from(jwt_key_algorithm(a->key)))
           || error_set(err, ERR_CONFIG, "oauth.key_algorithm is " STR_FMT ", but the private key is for %s", STR_ARG(s->key_algorithm),
               jwt_key_algorithm(a->key));
}

OAuth *oauth_new(const OAuthConfig *config, Error *err) {
    OAuth *a = mem_zero(1, sizeof *a);
    a->config = *config;
    pthread_mutex_init(&a->lock, NULL);
    thread_cond_init(&a->idle);
    if (oauth_url_parse(config->server, &a->server, err) && oauth_settings_read(config->settings, &a->arena, config->secret, config->ctx, &a->settings, err)
        && read_key(a, err)) return a;
    oauth_free(a);
    return NULL;
}

void oauth_free(OAuth *a) {
    if (!a) return;
    oauth_token_clear(&a->token);
    jwt_key_free(a->key);
    jwt_key_free(a->dpop);
    buf_clear(&a->server_nonce);
    buf_clear(&a->issuer_nonce);
    pthread_cond_destroy(&a->idle);
    pthread_mutex_destroy(&a->lock);
    arena_clear(&a->arena);
    free(a);
}

bool oauth_is_given(const ClientHeader *headers, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (headers[i].name.n == 13 && strncasecmp(headers[i].name.at, "authorization", 13) == 0) return true;
    return false;
}

const char *oauth_extension(const OAuth *a) {
    static const char *const names[] = { [OAUTH_CLIENT_CREDENTIALS] = "io.modelcontextprotocol/oauth-client-credentials",
                                         [OAUTH_ENTERPRISE] = "io.modelcontextprotocol/enterprise-managed-authorization" };
    return names[a->settings.how];
}

/* Waits until no thread is busy; true if so. The caller holds the lock. */
static bool wait_idle(OAuth *a, Cancel *cancel, Error *err) {
    bool ok = true;
    while (ok && a->busy) ok = cancel_wait(&a->idle, &a->lock, cancel, INT64_MAX, err);      /* the busy thread may wait for a user */
    return ok;
}

static void start_work(OAuth *a) {
    a->busy = true;
    pthread_mutex_unlock(&a->lock);
}

static void end_work(OAuth *a) {
    pthread_mutex_lock(&a->lock);
    a->busy = false;
    pthread_cond_broadcast(&a->idle);
}

static bool has_run_out(const OAuthToken *t) { return t->expires_ns && clock_wall_ns() > t->expires_ns - EARLY_SECONDS * 1000000000LL; }

static void replace_token(OAuth *a, OAuthToken *fresh) {
    pthread_mutex_lock(&a->lock);
    OAuthToken old = a->token;
    a->token = *fresh;
    a->generation++;
    pthread_mutex_unlock(&a->lock);
    oauth_token_clear(&old);
}

static bool commit(OAuth *a, OAuthToken *fresh, Error *err) {
    OAuthToken seen = { 0 };
    replace_token(a, fresh);
    bool ok = oauth_shelf_save(a, &a->token, err) && oauth_shelf_look(a, &a->shelved, &seen, err);       /* the store may not persist anything */
    oauth_token_clear(&seen);
    return ok;
}

/* True if another process has signed out, so that the token in memory must not be used. */
static bool was_forgotten(OAuth *a, bool *out, Error *err) {
    OAuthToken seen = { 0 };
    bool there = true, ok = !a->shelved || oauth_shelf_look(a, &there, &seen, err);
    oauth_token_clear(&seen);
    return *out = !there, ok;
}

static void drop_access(OAuth *a) {                        /* issuer, client and scope are kept */
    pthread_mutex_lock(&a->lock);
    free(a->token.access);
    free(a->token.refresh);
    a->token.access = a->token.refresh = NULL;
    pthread_mutex_unlock(&a->lock);
}

/* *done: a new token was issued. False without an error: the authorization server rejected the refresh token. */
static bool refresh(OAuth *a, const OAuthFetch *f, bool *done, Error *err) {
    OAuthToken fresh = { 0 };
    bool gone = false;
    *done = false;
    if (!was_forgotten(a, &gone, err)) return false;
    if (gone) return drop_access(a), true;
    *done = oauth_token_refresh(a, f, &a->token, &fresh, &gone, err);
    if (*done) return commit(a, &fresh, err);
    oauth_token_clear(&fresh);
    if (gone) drop_access(a);
    return gone;
}

static bool load(OAuth *a, Error *err) {
    if (a->loaded) return true;
    OAuthToken kept = { 0 };
    JwtKey *dpop = NULL;
    if (!oauth_shelf_load(a, &kept, &dpop, err)) return false;
    pthread_mutex_lock(&a->lock);
    a->loaded = true;
    a->dpop = dpop;
    pthread_mutex_unlock(&a->lock);
    if (kept.issuer) a->shelved = true, replace_token(a, &kept);
    else oauth_token_clear(&kept);
    return true;
}

/* A server on this machine may refer to other local servers. */
static OAuthFetch new_fetch(const OAuth *a, Cancel *cancel) {
    bool local = oauth_url_local(&a->server);
    return (OAuthFetch){ a->config.client, local ? NULL : a->config.rules, cancel, heap_new(HEAP_MAX), local };
}

static bool load_or_refresh(OAuth *a, Cancel *cancel, Error *err) {
    if (!load(a, err)) return false;
    if (!a->token.access || !a->token.refresh || !has_run_out(&a->token)) return true;
    OAuthFetch f = new_fetch(a, cancel);
    bool done, ok = refresh(a, &f, &done, err) || error_wrap(err, "refresh the token of " STR_FMT, STR_ARG(a->config.server));
    heap_free(f.heap);
    return ok;
}

static bool write_headers(OAuth *a, Str method, Str url, Arena *arena, ClientHeader out[2], size_t *n, Error *err) {
    const OAuthToken *t = &a->token;
    if (!t->access || has_run_out(t)) return true;         /* the server will send a challenge */
    out[0] = (ClientHeader){ STR("Authorization"), str_from(arena_fmt(arena, "%s %s", t->dpop ? "DPoP" : "Bearer", t->access)) };
    if (t->dpop) {
        Buf proof = { 0 };
        bool ok = oauth_dpop_proof(a->dpop, method, url, str_from(t->access), buf_str(&a->server_nonce), &proof, err);
        out[1] = (ClientHeader){ STR("DPoP"), arena_str(arena, buf_str(&proof)) };
        buf_clear(&proof);
        if (!ok) return false;
    }
    *n = t->dpop ? 2 : 1;
    return true;
}

bool oauth_headers(OAuth *a, OAuthTry *attempt, Str method, Str url, Cancel *cancel, Arena *arena, ClientHeader out[2], size_t *n, Error *err) {
    OAuthUrl u;
    *n = 0;
    if (!oauth_url_parse(url, &u, err)) return false;
    if (!oauth_url_same_origin(&u, &a->server)) return true;
    pthread_mutex_lock(&a->lock);
    bool ok = true;
    if (!a->loaded || !a->token.access || has_run_out(&a->token)) {
        ok = wait_idle(a, cancel, err);
        if (ok) {
            start_work(a);
            ok = load_or_refresh(a, cancel, err);
            end_work(a);
        }
    }
    attempt->token = a->generation;
    ok = ok && write_headers(a, method, url, arena, out, n, err);
    pthread_mutex_unlock(&a->lock);
    return ok;
}

static void set_nonce(OAuth *a, Str nonce) {
    if (nonce.n == 0 || nonce.n > NONCE_MAX) return;
    buf_reset(&a->server_nonce);
    buf_add(&a->server_nonce, nonce);
}

void oauth_nonce(OAuth *a, Str dpop_nonce) {
    pthread_mutex_lock(&a->lock);
    set_nonce(a, dpop_nonce);
    pthread_mutex_unlock(&a->lock);
}

static bool prepare_dpop(OAuth *a, const OAuthSite *site, Error *err) {
    if (!a->settings.dpop && !site->wants_dpop) return true;
    if (oauth_json_has(site->metadata, "dpop_signing_alg_values_supported")
        && !oauth_json_lists(site->metadata, "dpop_signing_alg_values_supported", STR("ES256")))
        return error_set(err, ERR_POLICY, "tokens must be bound to a key (DPoP), but the authorization server does not accept ES256 proofs");
    JwtKey *key = a->dpop ? NULL : jwt_key_new(err);
    if (!a->dpop && !key) return false;
    pthread_mutex_lock(&a->lock);
    if (key) a->dpop = key;
    pthread_mutex_unlock(&a->lock);
    return true;
}

static bool by_person(OAuth *a, const OAuthFetch *f, const OAuthSite *site, OAuthClient *client, Str scope, Arena *arena, OAuthToken *fresh, Error *err) {
    Error why = { 0 };
    if (oauth_authorize(a, f, site, client, scope, arena, fresh, &why)) return true;
    /* If the server has forgotten our client, the user sees an error page in the browser and we see nothing. So
     * register a new client next time. */
    if (!client->given && why.kind != ERR_CANCELLED) oauth_shelf_save_client(a, site->issuer, NULL, NULL);
    if (err) *err = why;
    return false;
}

static bool obtain(OAuth *a, const OAuthFetch *f, const OAuthChallenge *challenge, bool may_refresh, Arena *arena, Error *err) {
    OAuthSite site;
    if (!load(a, err)) return false;                       /* refused before oauth_headers was called */
    if (!oauth_discover(f, a->config.server, &a->settings, challenge, arena, &site, err)) return false;
    bool same = a->token.issuer && str_eq(str_from(a->token.issuer), site.issuer) && a->token.resource && str_eq(str_from(a->token.resource), site.resource);
    if (same && may_refresh && a->token.refresh && oauth_scope_holds(str_from(a->token.scope), challenge->scope)) {
        bool done;
        if (!refresh(a, f, &done, err)) return false;
        if (done) return true;
    }
    Str scope;
    OAuthClient client;
    OAuthToken fresh = { 0 };
    if (!oauth_scope_pick(&a->settings, &site, challenge->scope, same ? str_from(a->token.scope) : STR(""), arena, &scope, err)
        || !prepare_dpop(a, &site, err) || !oauth_client_known(a, &site, arena, &client, err)) return false;
    bool ok = false;
    switch (a->settings.how) {
    case OAUTH_AUTHORIZATION_CODE: ok = by_person(a, f, &site, &client, scope, arena, &fresh, err); break;
    case OAUTH_CLIENT_CREDENTIALS: ok = oauth_token_by_credentials(a, f, &site, &client, scope, &fresh, err); break;
    case OAUTH_JWT_BEARER: ok = oauth_token_by_assertion(a, f, &site, &client, scope, &fresh, err); break;
    case OAUTH_ENTERPRISE: ok = oauth_token_by_enterprise(a, f, &site, &client, scope, &fresh, err); break;
    }
    if (ok) return commit(a, &fresh, err);
    oauth_token_clear(&fresh);
    return false;
}

/* Reads the stored token, whatever is in memory: it may not be loaded, or not match the settings. */
static bool forget(OAuth *a, Cancel *cancel, OAuthForgotten *out, Error *err) {
    OAuthToken kept = { 0 };
    bool ok = oauth_shelf_look(a, &out->kept, &kept, err);
    if (ok && out->kept) {
        OAuthFetch f = new_fetch(a, cancel);
        out->revoked = oauth_revoke(a, &f, &kept, &out->why);
        heap_free(f.heap);
        ok = oauth_shelf_forget(a, &kept, err);
    }
    oauth_token_clear(&kept);
    drop_access(a);
    return ok;
}

bool oauth_forget(OAuth *a, Cancel *cancel, OAuthForgotten *out, Error *err) {
    *out = (OAuthForgotten){ 0 };
    pthread_mutex_lock(&a->lock);
    bool ok = wait_idle(a, cancel, err);
    if (ok) {
        start_work(a);
        ok = forget(a, cancel, out, err);
        end_work(a);
    }
    pthread_mutex_unlock(&a->lock);
    return ok;
}

/* True if another token might help. The caller holds the lock. */
static bool worth_trying(OAuth *a, OAuthTry *attempt, int status, const OAuthChallenge *challenge, Error *err) {
    char shown[TARGET_QUOTE_SIZE];
    if (status != 401 && status != 403) return error_set(err, ERR_INTERNAL, "status %d does not refuse a token", status);
    if (attempt->grants >= GRANTS_MAX || (status == 401 && attempt->grants >= GRANTS_MAX - 1))
        return error_set(err, ERR_POLICY, "the server refuses every token (%d)", status);
    if (status == 401) return true;
    if (!str_eq(challenge->error, STR("insufficient_scope")) && !challenge->scope.n) return error_set(err, ERR_POLICY, "the server forbids this (403)");
    if (!a->token.access || !oauth_scope_holds(str_from(a->token.scope), challenge->scope)) return true;
    if (a->asked_again)
        return error_set(err, ERR_POLICY, "the server asks for the scope \"%s\", which was requested but not granted", target_quote(challenge->scope, shown));
    return a->asked_again = true;
}

static bool answer_refusal(OAuth *a, OAuthTry *attempt, int status, const OAuthChallenge *challenge, Str nonce, Cancel *cancel, Arena *arena, Error *err) {
    if (++attempt->refusals > REFUSALS_MAX) return error_set(err, ERR_POLICY, "the server refuses every request (%d)", status);
    if (str_eq(challenge->error, STR("use_dpop_nonce")) && nonce.n && a->token.dpop) return set_nonce(a, nonce), true;
    set_nonce(a, nonce);
    if (!wait_idle(a, cancel, err)) return false;
    if (a->generation != attempt->token) return true;      /* another thread has got a new token meanwhile */
    if (!worth_trying(a, attempt, status, challenge, err)) return false;
    start_work(a);
    OAuthFetch f = new_fetch(a, cancel);
    bool ok = obtain(a, &f, challenge, status == 401 && attempt->grants == 0, arena, err);
    heap_free(f.heap);
    attempt->grants++;
    end_work(a);
    return ok;
}

bool oauth_refused(OAuth *a, OAuthTry *attempt, int status, Str www_authenticate, Str dpop_nonce, Cancel *cancel, Error *err) {
    Arena arena = { 0 };
    OAuthChallenge challenge;
    oauth_challenge_read(www_authenticate, &arena, &challenge);
    pthread_mutex_lock(&a->lock);
    bool ok = answer_refusal(a, attempt, status, &challenge, dpop_nonce, cancel, &arena, err);
    pthread_mutex_unlock(&a->lock);
    arena_clear(&arena);
    return ok || error_wrap(err, "authorize for " STR_FMT, STR_ARG(a->config.server));
}
