/* Authorization code grant: the user consents in a browser, which delivers a code to a loopback address. */
#include "mcp/oauth/oauth_private.h"
#include "base/base64.h"
#include "base/digest.h"
#include "base/random.h"

enum { SECRET_BYTES = 32, PATIENCE_MS = 5 * 60 * 1000 };

static Str random_text(Arena *arena) {
    char bytes[SECRET_BYTES];
    random_fill(bytes, sizeof bytes);
    Buf text = { 0 };
    base64_encode_url((Str){ bytes, sizeof bytes }, &text);
    Str out = arena_str(arena, buf_str(&text));
    buf_clear(&text);
    return out;
}

/* RFC 9207 and the MCP rules: `iss`, if present, must equal the recorded issuer exactly; if announced, it must be
 * present. Checked before anything else in the response. */
static bool check_issuer(const OAuthSite *site, Str query, Arena *arena, Error *err) {
    char shown[TARGET_QUOTE_SIZE], ours[TARGET_QUOTE_SIZE];
    Str iss = STR("");
    int there = oauth_form_get(query, "iss", arena, &iss);
    if (there == 0 && !oauth_json_flag(site->metadata, "authorization_response_iss_parameter_supported")) return true;
    if (there == 0) return error_set(err, ERR_POLICY, "the response of %s lacks the issuer (iss) that it announced: rejected",
        target_quote(site->issuer, ours));
    return (there == 1 && str_eq(iss, site->issuer))
           || error_set(err, ERR_POLICY, "the response comes from \"%s\" and not from %s: rejected", target_quote(iss, shown),
               target_quote(site->issuer, ours));
}

static bool take_code(const OAuthSite *site, Str query, Arena *arena, Str *code, Error *err) {
    char what[TARGET_QUOTE_SIZE], why[TARGET_QUOTE_SIZE];
    Str problem = STR(""), text = STR("");
    if (!check_issuer(site, query, arena, err)) return false;
    if (oauth_form_get(query, "error", arena, &problem)) {
        oauth_form_get(query, "error_description", arena, &text);
        return error_set(err, ERR_POLICY, "the authorization server refused: %s%s%s", target_quote(problem, what), text.n ? ": " : "", target_quote(text, why));
    }
    return (oauth_form_get(query, "code", arena, code) == 1 && code->n) || error_set(err, ERR_PROTOCOL, "the authorization server sent no code");
}

typedef struct Visit { Str redirect, state, verifier, code; } Visit;

static bool write_address(OAuth *a, const OAuthSite *site, const OAuthClient *client, Str scope, const Visit *v, Buf *out, Error *err) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    Buf challenge = { 0 }, thumbprint = { 0 };
    bool ok = digest_sha256(v->verifier, digest, err) && (!a->dpop || oauth_dpop_thumbprint(a->dpop, &thumbprint, err));
    if (ok) {
        base64_encode_url((Str){ (const char *)digest, sizeof digest }, &challenge);
        buf_add(out, site->authorization_endpoint);
        buf_add_char(out, str_find_char(site->authorization_endpoint, '?') < 0 ? '?' : '&');
        oauth_form_add(out, "response_type", STR("code"));
        oauth_form_add(out, "client_id", client->id);
        oauth_form_add(out, "redirect_uri", v->redirect);
        oauth_form_add(out, "state", v->state);
        oauth_form_add(out, "code_challenge", buf_str(&challenge));
        oauth_form_add(out, "code_challenge_method", STR("S256"));
        oauth_form_add(out, "resource", site->resource);
        oauth_form_add(out, "scope", scope);
        oauth_form_add(out, "dpop_jkt", buf_str(&thumbprint));
        if (oauth_scope_holds(scope, STR("offline_access"))) oauth_form_add(out, "prompt", STR("consent"));   /* OpenID Connect, 11 */
    }
    buf_clear(&challenge);
    buf_clear(&thumbprint);
    return ok;
}

/* A registered client has a fixed redirect address: use that port, or register a new client. */
static OAuthListener *open_listener(OAuthClient *client, Error *err) {
    OAuthListener *l = oauth_listen(client->port, client->given ? err : NULL);
    if (!l && !client->given && client->port) {
        *client = (OAuthClient){ 0 };
        l = oauth_listen(0, err);
    } else if (!l && !client->given) {
        error_set(err, ERR_IO, "listen on 127.0.0.1 for the browser: %m");
    }
    if (l) client->port = oauth_listen_port(l);
    return l;
}

static bool visit(OAuth *a, const OAuthFetch *f, const OAuthSite *site, const OAuthClient *client, Str scope, OAuthListener *l,
    Arena *arena, Visit *v, Error *err) {
    Buf url = { 0 };
    Str query;
    int64_t patience = a->config.patience_ms ? a->config.patience_ms : PATIENCE_MS;
    v->state = random_text(arena);
    v->verifier = random_text(arena);
    oauth_secret(a, v->verifier);
    Cancel *cancel = cancel_new(f->cancel, patience * 1000000);
    cancel_pause(f->cancel);                              /* the time of the user is not the server's */
    bool ok = write_address(a, site, client, scope, v, &url, err) && a->config.open(a->config.ctx, buf_str(&url), err)
              && (oauth_listen_wait(l, v->state, cancel, arena, &query, err) || error_wrap(err, "wait for the user to authorize"))
              && take_code(site, query, arena, &v->code, err);
    if (ok) oauth_secret(a, v->code);
    cancel_resume(f->cancel);
    cancel_free(cancel);
    buf_clear(&url);
    return ok;
}

static bool redeem(OAuth *a, const OAuthFetch *f, const OAuthSite *site, const OAuthClient *client, Str scope, const Visit *v, OAuthToken *out, Error *err) {
    Buf form = { 0 };
    oauth_form_add(&form, "grant_type", STR("authorization_code"));
    oauth_form_add(&form, "code", v->code);
    oauth_form_add(&form, "redirect_uri", v->redirect);
    oauth_form_add(&form, "code_verifier", v->verifier);
    bool ok = oauth_token_request(a, f, site, client, &form, scope, out, err);
    buf_clear(&form);
    return ok;
}

bool oauth_authorize(OAuth *a, const OAuthFetch *f, const OAuthSite *site, OAuthClient *client, Str scope, Arena *arena, OAuthToken *out, Error *err) {
    char shown[TARGET_QUOTE_SIZE];
    if (!a->config.open)
        return error_set(err, ERR_POLICY, "the user must authorize this at %s, and no user is present: run `harness mcp tools` in a terminal first, or set a "
                         "grant that needs no user (oauth.grant)", target_quote(site->issuer, shown));
    if (!site->authorization_endpoint.n) return error_set(err, ERR_PROTOCOL, "the authorization server %s has no authorization_endpoint",
        target_quote(site->issuer, shown));
    if (!value_is_gone(site->metadata) && !oauth_json_lists(site->metadata, "code_challenge_methods_supported", STR("S256")))
        return error_set(err, ERR_POLICY, "the authorization server %s does not support PKCE with S256, without which a code can be stolen: rejected",
                         target_quote(site->issuer, shown));
    OAuthListener *l = open_listener(client, err);
    if (!l) return false;
    Visit v = { .redirect = str_from(arena_fmt(arena, "http://127.0.0.1:%u/callback", client->port)) };
    bool ok = (client->id.n || oauth_client_register(a, f, site, v.redirect, arena, client, err))
              && visit(a, f, site, client, scope, l, arena, &v, err);
    oauth_listen_free(l);
    return ok && redeem(a, f, site, client, scope, &v, out, err);
}
