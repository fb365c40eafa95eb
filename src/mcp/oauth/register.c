/* Our client at an authorization server: from the settings, a client-ID metadata document, an earlier registration, or
 * a new one. A client belongs to its issuer and is never sent to another. */
#include "mcp/oauth/oauth_private.h"

static const char basic[] = "client_secret_basic", post[] = "client_secret_post";

static bool takes(const OAuthSite *site, const char *method) {
    return oauth_json_lists(site->metadata, "token_endpoint_auth_methods_supported", str_from(method));
}

static bool says_methods(const OAuthSite *site) { return oauth_json_has(site->metadata, "token_endpoint_auth_methods_supported"); }

/* Authentication method for a secret; basic is the default without metadata (RFC 8414, 2). */
static Str secret_auth(const OAuthSite *site) { return str_from(says_methods(site) && !takes(site, basic) && takes(site, post) ? post : basic); }

/* Credentials for one authorization server must not be sent to another that the MCP server names later. Without
 * oauth.issuer they are bound to the first one used. */
static bool still_ours(const OAuth *a, const OAuthSite *site, Error *err) {
    char now[TARGET_QUOTE_SIZE], then[TARGET_QUOTE_SIZE];
    const OAuthToken *t = &a->token;
    if (a->settings.issuer.n || !t->issuer || !t->client_id || !str_eq(str_from(t->client_id), a->settings.client_id)) return true;
    if (str_eq(str_from(t->issuer), site->issuer)) return true;
    return error_set(err, ERR_POLICY, "the authorization server has changed from %s to %s; the client of the settings was registered with the first: "
                     "set oauth.issuer to the right one", target_quote(str_from(t->issuer), then), target_quote(site->issuer, now));
}

bool oauth_client_known(OAuth *a, const OAuthSite *site, Arena *arena, OAuthClient *out, Error *err) {
    const OAuthSettings *s = &a->settings;
    OAuthClient c = { .port = s->redirect_port, .given = true };
    if (s->client_id.n) {
        c.id = s->client_id;
        c.secret = s->client_secret;
        c.auth = s->token_auth.n ? s->token_auth : a->key ? STR("private_key_jwt") : s->client_secret.n ? secret_auth(site) : STR("none");
        if (!still_ours(a, site, err)) return false;
    } else if (s->client_metadata_url.n && oauth_json_flag(site->metadata, "client_id_metadata_document_supported")) {
        c.id = s->client_metadata_url;
        c.auth = STR("none");
    } else if (s->how == OAUTH_JWT_BEARER) {
        c.auth = STR("none");                              /* the assertion identifies the client */
    } else {
        if (!oauth_shelf_client(a, site->issuer, arena, &c, err)) return false;
        c.given = false;
    }
    return *out = c, true;
}

static bool write_request(const OAuthSite *site, Str redirect_uri, Str auth, Buf *body) {
    buf_add(body, STR("{\"client_name\":\"harness\",\"application_type\":\"native\",\"redirect_uris\":["));
    json_write_string(body, redirect_uri, false);
    buf_add(body, STR("],\"grant_types\":[\"authorization_code\",\"refresh_token\"],\"response_types\":[\"code\"],\"token_endpoint_auth_method\":"));
    json_write_string(body, auth, false);
    buf_add_char(body, '}');
    return site->registration_endpoint.n > 0;
}

static bool is_visible(Str s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] < 0x20 || s.at[i] >= 0x7f) return false;
    return s.n <= OAUTH_TOKEN_MAX;
}

bool oauth_client_register(OAuth *a, const OAuthFetch *f, const OAuthSite *site, Str redirect_uri, Arena *arena, OAuthClient *out, Error *err) {
    char said[TARGET_QUOTE_SIZE], shown[TARGET_QUOTE_SIZE];
    Str wanted = says_methods(site) && !takes(site, "none") ? secret_auth(site) : STR("none");
    Buf body = { 0 };
    OAuthAnswer answer;
    bool ok = write_request(site, redirect_uri, wanted, &body)
              || error_set(err, ERR_CONFIG, "the authorization server %s does not register clients; set oauth.client_id to a registered one",
                           target_quote(site->issuer, shown));
    ok = ok && oauth_fetch_post(f, site->registration_endpoint, STR("application/json"), buf_str(&body), NULL, 0, &answer, err);
    buf_clear(&body);
    if (!ok) return false;
    Str id = value_member_text(answer.json, "client_id"), secret = value_member_text(answer.json, "client_secret"),
        auth = value_member_text(answer.json, "token_endpoint_auth_method"), problem = value_member_text(answer.json, "error");
    if (answer.status != 200 && answer.status != 201)
        return error_set(err, ERR_PROTOCOL, "the authorization server refused to register a client (%d%s%s); set oauth.client_id to a registered one",
                         answer.status, problem.n ? ", " : "", target_quote(problem, said));
    if (id.n == 0 || !is_visible(id) || !is_visible(secret))
        return error_set(err, ERR_PROTOCOL, "the authorization server registered a client without a proper client_id");
    OAuthClient c = { .id = arena_str(arena, id), .secret = arena_str(arena, secret), .port = out->port };
    c.auth = auth.n ? arena_str(arena, auth) : secret.n && !takes(site, "none") ? secret_auth(site) : STR("none");
    if (!str_eq(c.auth, STR("none")) && (secret.n == 0 || (!str_eq(c.auth, str_from(basic)) && !str_eq(c.auth, str_from(post)))))
        return error_set(err, ERR_PROTOCOL, "the authorization server registered a client that must use %s, but sent no credentials for that",
                         target_quote(c.auth, said));
    oauth_secret(a, c.secret);
    return oauth_shelf_save_client(a, site->issuer, &c, err) && (*out = c, true);
}
