/* Token revocation (RFC 7009). */
#include "mcp/oauth/oauth_private.h"

/* Uses the current metadata of the token's issuer only, nothing from the MCP server. */
static bool find_endpoint(const OAuthFetch *f, Str issuer, Arena *arena, Str *out, Error *err) {
    char shown[TARGET_QUOTE_SIZE], said[TARGET_QUOTE_SIZE];
    Value metadata;
    if (!oauth_discover_issuer(f, issuer, arena, &metadata, err)) return false;
    if (!value_is_gone(metadata) && !str_eq(value_member_text(metadata, "issuer"), issuer))
        return error_set(err, ERR_POLICY, "the metadata of %s belongs to \"%s\": rejected", target_quote(issuer, shown),
                         target_quote(value_member_text(metadata, "issuer"), said));
    *out = value_member_text(metadata, "revocation_endpoint");
    if (!out->n) return error_set(err, ERR_PROTOCOL, "the authorization server %s has no revocation_endpoint", target_quote(issuer, shown));
    return oauth_fetch_allowed(f, *out, "revocation_endpoint", err);
}

/* The server answers 200 for unknown tokens too. */
static bool revoke_one(OAuth *a, const OAuthFetch *f, Str endpoint, const OAuthToken *t, Str token, const char *hint, const char *failed, Error *err) {
    OAuthClient client = { .id = str_from(t->client_id), .secret = str_from(t->client_secret), .auth = str_from(t->auth) };
    OAuthAnswer answer;
    Buf form = { 0 };
    oauth_form_add(&form, "token", token);
    oauth_form_add(&form, "token_type_hint", str_from(hint));
    bool ok = oauth_token_post(a, f, endpoint, str_from(t->issuer), &client, &form, false, &answer, err)
              && (answer.status == 200 || oauth_token_refused(endpoint, failed, &answer, buf_str(&form), client.secret, err));
    buf_clear(&form);
    return ok;
}

bool oauth_revoke(OAuth *a, const OAuthFetch *f, const OAuthToken *t, Error *err) {
    Arena arena = { 0 };
    Str endpoint;
    if (!t->issuer) return error_set(err, ERR_PROTOCOL, "the stored token names no issuer");
    bool ok = find_endpoint(f, str_from(t->issuer), &arena, &endpoint, err)
              && (!t->refresh || revoke_one(a, f, endpoint, t, str_from(t->refresh), "refresh_token", "did not revoke the refresh token", err))
              && (!t->access || revoke_one(a, f, endpoint, t, str_from(t->access), "access_token", "did not revoke the access token", err));
    arena_clear(&arena);
    return ok;
}
