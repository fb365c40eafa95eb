#include "mcp/jwt_keys.h"
#include "mcp/oauth_unit.h"
#include "base/base64.h"
#include "base/digest.h"

static void form_is(const char *form, const char *name, const char *expected) {
    Arena arena = { 0 };
    Str value = STR("");
    oauth_form_get(str_from(form), name, &arena, &value);
    assert_str(value, expected);
    arena_clear(&arena);
}

static Str query_of(World *w) { return str_from(strchr(w->address.at, '?') + 1); }

static void a_person_gives_a_token(void **state) {
    (void)state;
    World w = { 0 };
    world_init(&w, NULL);
    OAuthTry t = { 0 };
    Error err = { 0 };
    assert_header(&w, &t, w.url, "");
    if (!oauth_refused(w.oauth, &t, 401, STR("Bearer scope=\"read\""), STR(""), NULL, &err)) fail_msg("%s", err.msg);
    assert_header(&w, &t, w.url, "Bearer access-1");
    assert_header(&w, &t, "http://127.0.0.1:1/mcp", "");   /* another server */
    assert_header(&w, &t, "https://example.com/mcp", "");
    char resource[64];
    snprintf(resource, sizeof resource, "%s/mcp", w.base);
    form_is(query_of(&w).at, "resource", resource);
    form_is(query_of(&w).at, "scope", "read");
    form_is(query_of(&w).at, "client_id", "client");
    form_is(query_of(&w).at, "code_challenge_method", "S256");
    form_is(w.form[0], "grant_type", "authorization_code");
    form_is(w.form[0], "code", "the-code");
    form_is(w.form[0], "resource", resource);
    /* the verifier matches the digest sent before */
    Arena arena = { 0 };
    Str verifier, challenge;
    uint8_t digest[DIGEST_SHA256_BYTES];
    Buf expected = { 0 };
    assert_int_equal(oauth_form_get(str_from(w.form[0]), "code_verifier", &arena, &verifier), 1);
    assert_int_equal(oauth_form_get(query_of(&w), "code_challenge", &arena, &challenge), 1);
    assert_true(digest_sha256(verifier, digest, &err));
    base64_encode_url((Str){ (const char *)digest, sizeof digest }, &expected);
    assert_str(challenge, expected.at);
    for (const char *const *s = (const char *const[]){ "access-1", "refresh-1", "the-code", NULL }; *s; s++)
        assert_non_null(strstr(w.secrets.at, *s));
    buf_clear(&expected);
    arena_clear(&arena);
    /* the next process has it, without a request */
    int before = w.requests;
    world_start(&w, NULL);
    t = (OAuthTry){ 0 };
    assert_header(&w, &t, w.url, "Bearer access-1");
    assert_int_equal(w.requests, before);
    /* other settings: the token does not apply */
    world_start(&w, "{\"client_id\":\"other\"}");
    assert_header(&w, &t, w.url, "");
    world_clear(&w);
}

/* Refused before the user is asked (visits 0), before a code is sent (tokens 0), or with the token discarded. */
static void hostile_servers_get_nothing(void **state) {
    (void)state;
#define META(more) "{\"issuer\":\"$\",\"authorization_endpoint\":\"$/authorize\",\"token_endpoint\":\"$/token\",\"registration_endpoint\":\"$/register\"," \
                   "\"code_challenge_methods_supported\":[\"S256\"]" more "}"
    static const struct { const char *name, *resource, *metadata, *registered, *token, *callback, *says; int visits, tokens; bool endless; } rows[] = {
        { .name = "resource of another host", .resource = "{\"resource\":\"https://evil.example/mcp\",\"authorization_servers\":[\"$\"]}",
            .says = "another server" },
        { .name = "resource of another path", .resource = "{\"resource\":\"$/mc\",\"authorization_servers\":[\"$\"]}", .says = "another server" },
        { .name = "no resource", .resource = "{\"authorization_servers\":[\"$\"]}", .says = "another server" },
        { .name = "no authorization server", .resource = "{\"resource\":\"$/mcp\"}", .says = "set oauth.issuer" },
        { .name = "plain http", .resource = "{\"resource\":\"$/mcp\",\"authorization_servers\":[\"http://auth.example\"]}", .says = "not https" },
        { .name = "metadata broken", .resource = "500", .says = "answered 500" },
        { .name = "issuer lies", .metadata = "{\"issuer\":\"https://honest.example\",\"token_endpoint\":\"$/token\"}", .says = "rejected" },
        { .name = "issuer with a slash", .metadata = "{\"issuer\":\"$/\",\"token_endpoint\":\"$/token\"}", .says = "rejected" },
        { .name = "redirect", .metadata = "302", .says = "no metadata" },
        { .name = "no JSON", .metadata = "<html>", .says = "no metadata" },
        { .name = "a list", .metadata = "[1]", .says = "no metadata" },
        { .name = "endless", .endless = true, .says = "over 1048576 bytes" },
        { .name = "endpoint is a script", .metadata = "{\"issuer\":\"$\",\"authorization_endpoint\":\"javascript:alert(1)\"}",
            .says = "not an http or https URL" },
        { .name = "endpoint in the open", .metadata = "{\"issuer\":\"$\",\"token_endpoint\":\"http://auth.example/token\"}", .says = "not https" },
        { .name = "no PKCE", .metadata = "{\"issuer\":\"$\",\"authorization_endpoint\":\"$/authorize\",\"token_endpoint\":\"$/token\"}", .says = "PKCE" },
        { .name = "plain PKCE", .metadata = "{\"issuer\":\"$\",\"authorization_endpoint\":\"$/a\",\"token_endpoint\":\"$/token\",\"code_challenge_methods_supported\":[\"plain\"]}", .says = "PKCE" },
        { .name = "no registration", .metadata = "{\"issuer\":\"$\",\"authorization_endpoint\":\"$/a\",\"token_endpoint\":\"$/token\",\"code_challenge_methods_supported\":[\"S256\"]}", .says = "set oauth.client_id" },
        { .name = "registration refused", .registered = "400{\"error\":\"invalid_redirect_uri\"}", .says = "invalid_redirect_uri" },
        { .name = "client without a name", .registered = "201{}", .says = "client_id" },
        { .name = "client with a line break", .registered = "201{\"client_id\":\"a\\r\\nb\"}", .says = "client_id" },
        { .name = "client that cannot be shown",
            .registered = "201{\"client_id\":\"a\",\"token_endpoint_auth_method\":\"tls_client_auth\"}", .says = "tls_client_auth" },
        { .name = "iss of another", .callback = "code=c&iss=https://evil.example", .says = "https://evil.example", .visits = 1 },
        { .name = "iss with a slash", .callback = "code=c&iss=$/", .says = "rejected", .visits = 1 },
        { .name = "iss twice", .callback = "code=c&iss=$&iss=$", .says = "rejected", .visits = 1 },
        { .name = "iss missing", .metadata = META(",\"authorization_response_iss_parameter_supported\":true"), .says = "announced", .visits = 1 },
        { .name = "error of another", .callback = "error=shown_never&iss=https://evil.example", .says = "https://evil.example", .visits = 1 },
        { .name = "person says no", .callback = "error=access_denied&error_description=not+today", .says = "access_denied: not today", .visits = 1 },
        { .name = "no code", .callback = "x=1", .says = "sent no code", .visits = 1 },
        { .name = "code twice", .callback = "code=a&code=b", .says = "sent no code", .visits = 1 },
        { .name = "token refused", .token = "400{\"error\":\"invalid_grant\",\"error_description\":\"too late\"}",
            .says = "invalid_grant: too late", .visits = 1, .tokens = 1 },
        { .name = "token redirected", .token = "302", .says = "gave no token (302)", .visits = 1, .tokens = 1 },
        { .name = "no token", .token = "{\"token_type\":\"Bearer\"}", .says = "cannot be sent", .visits = 1, .tokens = 1 },
        { .name = "token with a line break", .token = "{\"access_token\":\"a\\r\\nX: y\",\"token_type\":\"Bearer\"}",
            .says = "cannot be sent", .visits = 1, .tokens = 1 },
        { .name = "token that is a number", .token = "{\"access_token\":7,\"token_type\":\"Bearer\"}", .says = "cannot be sent", .visits = 1, .tokens = 1 },
        { .name = "no type", .token = "{\"access_token\":\"a\"}", .says = "type \"\"", .visits = 1, .tokens = 1 },
        { .name = "type of another kind", .token = "{\"access_token\":\"a\",\"token_type\":\"mac\"}", .says = "\"mac\"", .visits = 1, .tokens = 1 },
        { .name = "bound to a key unasked", .token = "{\"access_token\":\"a\",\"token_type\":\"DPoP\"}", .says = "\"DPoP\"", .visits = 1, .tokens = 1 },
        { .name = "words that only look like ours", .token = "400{\"error\":\"invalid_grant\",\"error_description\":\"the authorization_code is old\"}",
          .says = "the authorization_code is old", .visits = 1, .tokens = 1 },
        { .name = "our secrets repeated", .token = "400{\"error\":\"the-code\",\"error_description\":\"you sent the-code\"}",
            .says = "gave no token (400)", .visits = 1, .tokens = 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        World w = { .resource = rows[i].resource, .metadata = rows[i].metadata, .registered = rows[i].registered, .token = rows[i].token,
                    .callback = rows[i].callback, .endless = rows[i].endless };
        world_init(&w, NULL);
        OAuthTry t = { 0 };
        Error err = { 0 };
        assert_header(&w, &t, w.url, "");
        if (oauth_refused(w.oauth, &t, 401, STR(""), STR(""), NULL, &err)) fail_msg("%s: taken", rows[i].name);
        if (!strstr(err.msg, rows[i].says) || strstr(err.msg, "the-code") || strstr(err.msg, "shown_never") || w.visits != rows[i].visits
            || w.tokens != rows[i].tokens)
            fail_msg("%s: %s (%d visits, %d token requests)", rows[i].name, err.msg, w.visits, w.tokens);
        assert_header(&w, &t, w.url, "");
        world_clear(&w);
    }
}

/* A remote server must not make us send requests to our own machine, nor use an authorization server there. */
static void strangers_do_not_send_us_home(void **state) {
    (void)state;
    World w = { 0 };
    world_init(&w, NULL);
    OAuthConfig config = w.oauth->config;
    config.server = STR("https://mcp.example/mcp");
    Error err = { 0 };
    OAuth *a = oauth_new(&config, &err);
    char challenge[120];
    snprintf(challenge, sizeof challenge, "Bearer resource_metadata=\"%s/.well-known/oauth-protected-resource/mcp\"", w.base);
    assert_false(oauth_refused(a, &(OAuthTry){ 0 }, 401, str_from(challenge), STR(""), NULL, &err));
    assert_non_null(strstr(err.msg, "on this machine"));
    assert_int_equal(err.kind, ERR_POLICY);
    assert_int_equal(w.requests, 0);
    oauth_free(a);
    world_clear(&w);
}

static void tokens_are_refreshed(void **state) {
    (void)state;
    World w = { .token = "{\"access_token\":\"short\",\"token_type\":\"bearer\",\"expires_in\":\"1\",\"refresh_token\":\"first\"}",
                .token_again = "{\"access_token\":\"long\",\"token_type\":\"Bearer\",\"expires_in\":3600}" };
    world_init(&w, NULL);
    OAuthTry t = { 0 };
    Error err = { 0 };
    assert_true(oauth_refused(w.oauth, &t, 401, STR(""), STR(""), NULL, &err));
    assert_header(&w, &t, w.url, "Bearer long");           /* the short-lived one expired at once */
    form_is(w.form[1], "grant_type", "refresh_token");
    form_is(w.form[1], "refresh_token", "first");
    assert_int_equal(w.visits, 1);
    /* the refresh token was not replaced and is used again when the server refuses */
    assert_true(oauth_refused(w.oauth, &(OAuthTry){ .token = t.token }, 401, STR(""), STR(""), NULL, &err));
    form_is(w.form[2], "refresh_token", "first");
    assert_int_equal(w.visits, 1);
    /* revoked: the user is asked again */
    w.token_again = "400{\"error\":\"invalid_grant\"}";
    t = (OAuthTry){ 0 };
    assert_header(&w, &t, w.url, "Bearer long");
    assert_false(oauth_refused(w.oauth, &t, 401, STR(""), STR(""), NULL, &err));
    form_is(w.form[3], "grant_type", "refresh_token");
    form_is(w.form[4], "grant_type", "authorization_code");
    assert_int_equal(w.visits, 2);
    world_clear(&w);
}

static void scopes_step_up(void **state) {
    (void)state;
    World w = { 0 };
    world_init(&w, NULL);
    OAuthTry t = { 0 };
    Error err = { 0 };
    assert_true(oauth_refused(w.oauth, &t, 401, STR("Bearer scope=\"read\""), STR(""), NULL, &err));
    t = (OAuthTry){ 0 };
    assert_header(&w, &t, w.url, "Bearer access-1");
    assert_true(oauth_refused(w.oauth, &t, 403, STR("Bearer error=\"insufficient_scope\", scope=\"write\""), STR(""), NULL, &err));
    form_is(query_of(&w).at, "scope", "read write");
    form_is(w.form[1], "grant_type", "authorization_code");
    assert_int_equal(w.registrations, 1);
    /* the same scope is requested once more, then given up */
    for (int i = 0; i < 2; i++) {
        t = (OAuthTry){ 0 };
        free(world_header_for(&w, &t, w.url));
        assert_int_equal(oauth_refused(w.oauth, &t, 403, STR("Bearer error=\"insufficient_scope\", scope=\"write\""), STR(""), NULL, &err), i == 0);
    }
    assert_non_null(strstr(err.msg, "\"write\""));
    assert_false(oauth_refused(w.oauth, &t, 403, STR("Bearer error=\"invalid_request\""), STR(""), NULL, &err));
    assert_non_null(strstr(err.msg, "forbids"));
    assert_int_equal(w.visits, 3);
    world_clear(&w);
}

static void a_server_that_wants_no_token_is_given_up(void **state) {
    (void)state;
    World w = { 0 };
    world_init(&w, NULL);
    OAuthTry t = { 0 };
    Error err = { 0 };
    int rounds = 0;
    for (; rounds < 20; rounds++) {
        free(world_header_for(&w, &t, w.url));
        if (!oauth_refused(w.oauth, &t, 401, STR(""), STR(""), NULL, &err)) break;
    }
    assert_int_equal(rounds, 2);
    assert_non_null(strstr(err.msg, "refuses every token"));
    for (rounds = 0, t = (OAuthTry){ 0 }; rounds < 20; rounds++) {         /* a different scope each time */
        char challenge[80];
        snprintf(challenge, sizeof challenge, "Bearer error=insufficient_scope, scope=\"s%d\"", rounds);
        free(world_header_for(&w, &t, w.url));
        if (!oauth_refused(w.oauth, &t, 403, str_from(challenge), STR(""), NULL, &err)) break;
    }
    assert_int_equal(rounds, 3);
    world_clear(&w);
}

static void grants_without_a_person(void **state) {
    (void)state;
    static const struct { const char *settings, *metadata, *basic, *names[4], *values[4]; } rows[] = {
        { "{\"grant\":\"client_credentials\",\"client_id\":\"id\",\"client_secret\":\"s%c\"}", NULL, "Basic aWQ6cyUyNWM=",
          { "grant_type", "scope", "client_id" }, { "client_credentials", "read", "" } },
        { "{\"grant\":\"client_credentials\",\"client_id\":\"id\",\"client_secret\":\"sc\"}",
          "{\"issuer\":\"$\",\"token_endpoint\":\"$/token\",\"token_endpoint_auth_methods_supported\":[\"client_secret_post\"]}", NULL,
          { "client_id", "client_secret" }, { "id", "sc" } },
        { "{\"grant\":\"jwt_bearer\",\"assertion\":\"the-assertion\",\"scope\":\"x y\"}", NULL, NULL,
          { "grant_type", "assertion", "scope", "client_id" }, { "urn:ietf:params:oauth:grant-type:jwt-bearer", "the-assertion", "x y", "" } },
        { "{\"grant\":\"enterprise\",\"client_id\":\"id\",\"client_secret\":\"sc\",\"idp_client_id\":\"us\",\"idp_id_token\":\"me\",\"idp_token_endpoint\":\"$/idp\"}",
          NULL, "Basic aWQ6c2M=", { "grant_type", "assertion" }, { "urn:ietf:params:oauth:grant-type:jwt-bearer", "the-grant" } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        World w = { .metadata = rows[i].metadata };
        world_init(&w, rows[i].settings);
        OAuthTry t = { 0 };
        Error err = { 0 };
        if (!oauth_refused(w.oauth, &t, 401, STR(""), STR(""), NULL, &err)) fail_msg("%zu: %s", i, err.msg);
        assert_header(&w, &t, w.url, "Bearer access-1");
        for (size_t k = 0; k < 4 && rows[i].names[k]; k++) form_is(w.form[0], rows[i].names[k], rows[i].values[k]);
        if (rows[i].basic) assert_string_equal(w.basic[0], rows[i].basic);
        else assert_null(w.basic[0]);
        assert_int_equal(w.visits, 0);
        assert_int_equal(w.registrations, 0);
        world_clear(&w);
        /* refused: once, and no other method is tried */
        World no = { .metadata = rows[i].metadata, .token = "400{\"error\":\"unauthorized_client\"}" };
        world_init(&no, rows[i].settings);
        t = (OAuthTry){ 0 };
        assert_false(oauth_refused(no.oauth, &t, 401, STR(""), STR(""), NULL, &err));
        assert_non_null(strstr(err.msg, "unauthorized_client"));
        assert_int_equal(no.tokens, 1);
        assert_int_equal(no.visits, 0);
        world_clear(&no);
    }
}

static Value claims_of(World *w, const char *jwt, int part) {
    Str rest = str_from(jwt);
    for (; part; part--) rest = str_sub(rest, (size_t)str_find_char(rest, '.') + 1, rest.n);
    Buf json = { 0 };
    Value v = VALUE_GONE;
    Error err = { 0 };
    if (!base64_decode(str_sub(rest, 0, (size_t)str_find_char(rest, '.')), &json, &err)
        || !json_read(w->heap, buf_str(&json), NULL, &v, &err)) fail_msg("%s", err.msg);
    buf_clear(&json);
    return v;
}

/* A remote server cannot make us contact hosts that only we can reach. */
static void a_stranger_names_no_private_hosts(void **state) {
    (void)state;
    static const char *const places[] = { "https://169.254.169.254/latest", "https://10.0.0.1/x", "https://[fd00::1]/x",
        "https://127.0.0.1:1/x", "http://127.0.0.1:1/x",
                                          "https://localhost/x", "http://[::1]/x", "http://203.0.113.1/x" };
    Rules *rules;
    Error err = { 0 };
    if (!rule_list_new(NULL, 0, &rules, &err)) fail_msg("%s", err.msg);
    Client *client = client_new();
    OAuth *a = oauth_new(&(OAuthConfig){ .server = STR("https://mcp.example/mcp"), .client = client, .rules = rules, .settings = VALUE_GONE }, &err);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char challenge[200];
        OAuthTry t = { 0 };
        snprintf(challenge, sizeof challenge, "Bearer resource_metadata=\"%s\"", places[i]);
        assert_false(oauth_refused(a, &t, 401, str_from(challenge), STR(""), NULL, &err));
        if (err.kind != ERR_POLICY) fail_msg("%s: %s", places[i], err.msg);
    }
    oauth_free(a);
    client_free(client);
    rule_list_free(rules);
}

/* A local one may: its authorization server is local too. */
static void rules_are_for_strangers(void **state) {
    (void)state;
    World w = { 0 };
    world_init(&w, "{\"grant\":\"client_credentials\",\"client_id\":\"id\",\"client_secret\":\"s\"}");
    Rules *rules;
    Error err = { 0 };
    OAuthTry t = { 0 };
    if (!rule_list_new(NULL, 0, &rules, &err)) fail_msg("%s", err.msg);
    w.oauth->config.rules = rules;
    if (!oauth_refused(w.oauth, &t, 401, STR(""), STR(""), NULL, &err)) fail_msg("%s", err.msg);
    assert_int_equal(w.tokens, 1);
    world_clear(&w);
    rule_list_free(rules);
}

static void a_private_key_speaks_for_the_client(void **state) {
    (void)state;
    World w = { 0 };
    Buf settings = { 0 };
    buf_add(&settings, STR("{\"grant\":\"client_credentials\",\"client_id\":\"id\",\"key_id\":\"k1\",\"private_key\":"));
    json_write_string(&settings, str_from(key_rsa), false);
    buf_add_char(&settings, '}');
    world_init(&w, settings.at);
    OAuthTry t = { 0 };
    Error err = { 0 };
    if (!oauth_refused(w.oauth, &t, 401, STR(""), STR(""), NULL, &err)) fail_msg("%s", err.msg);
    Arena arena = { 0 };
    Str jwt;
    assert_int_equal(oauth_form_get(str_from(w.form[0]), "client_assertion", &arena, &jwt), 1);
    assert_str(value_member_text(claims_of(&w, jwt.at, 0), "alg"), "RS256");
    assert_str(value_member_text(claims_of(&w, jwt.at, 0), "kid"), "k1");
    assert_str(value_member_text(claims_of(&w, jwt.at, 1), "iss"), "id");
    assert_str(value_member_text(claims_of(&w, jwt.at, 1), "sub"), "id");
    assert_str(value_member_text(claims_of(&w, jwt.at, 1), "aud"), w.base);
    assert_null(w.basic[0]);
    arena_clear(&arena);
    buf_clear(&settings);
    world_clear(&w);
}

static void proofs_come_with_every_request(void **state) {
    (void)state;
    World w = { .token = "400{\"error\":\"use_dpop_nonce\"}", .token_again = "{\"access_token\":\"bound\",\"token_type\":\"DPoP\"}" };
    world_init(&w, NULL);
    OAuthTry t = { 0 };
    Error err = { 0 };
    if (!oauth_refused(w.oauth, &t, 401, STR("DPoP algs=\"ES256\""), STR(""), NULL, &err)) fail_msg("%s", err.msg);
    assert_int_equal(w.tokens, 2);
    assert_str(value_member_text(claims_of(&w, w.proof[0], 1), "nonce"), "");
    assert_str(value_member_text(claims_of(&w, w.proof[1], 1), "nonce"), "n1");
    assert_str(value_member_text(claims_of(&w, w.proof[1], 1), "htm"), "POST");
    /* the MCP server's proof: for its URL without query, with its own nonce, and another one each time */
    Arena arena = { 0 };
    ClientHeader h[2], again[2];
    size_t n;
    char url[80];
    snprintf(url, sizeof url, "%s?a=b", w.url);
    assert_true(oauth_refused(w.oauth, &t, 401, STR("DPoP error=\"use_dpop_nonce\""), STR("n2"), NULL, &err));
    assert_true(oauth_headers(w.oauth, &t, STR("GET"), str_from(url), NULL, &arena, h, &n, &err) && n == 2);
    assert_str(h[0].value, "DPoP bound");
    Value claims = claims_of(&w, h[1].value.at, 1);
    assert_str(value_member_text(claims, "htu"), w.url);
    assert_str(value_member_text(claims, "htm"), "GET");
    assert_str(value_member_text(claims, "nonce"), "n2");
    assert_true(value_member_text(claims, "ath").n == 43);
    assert_true(oauth_headers(w.oauth, &t, STR("GET"), str_from(url), NULL, &arena, again, &n, &err));
    assert_false(str_eq(h[1].value, again[1].value));
    assert_int_equal(w.tokens, 2);
    /* the key outlives the process */
    world_start(&w, NULL);
    assert_true(oauth_headers(w.oauth, &t, STR("GET"), str_from(url), NULL, &arena, again, &n, &err) && n == 2);
    Buf a = { 0 }, b = { 0 };
    const Value *jwk = dict_find_str(value_dict(claims_of(&w, h[1].value.at, 0)), STR("jwk")),
        *jwk_again = dict_find_str(value_dict(claims_of(&w, again[1].value.at, 0)), STR("jwk"));
    assert_true(json_write(&a, *jwk, NULL, &err) && json_write(&b, *jwk_again, NULL, &err));
    assert_str(buf_str(&a), b.at);
    buf_clear(&a);
    buf_clear(&b);
    arena_clear(&arena);
    world_clear(&w);
    /* a plain bearer token would be a downgrade */
    World down = { 0 };
    world_init(&down, "{\"dpop\":true}");
    t = (OAuthTry){ 0 };
    assert_false(oauth_refused(down.oauth, &t, 401, STR(""), STR(""), NULL, &err));
    assert_non_null(strstr(err.msg, "bearer token"));
    world_clear(&down);
}

/* The server names another authorization server: a registered client is not reused, and one from the settings is not
 * sent to it. */
static void clients_belong_to_their_issuer(void **state) {
    (void)state;
    World w = { 0 }, other = { 0 };
    world_init(&w, NULL);
    world_init(&other, NULL);
    OAuthTry t = { 0 };
    Error err = { 0 };
    assert_true(oauth_refused(w.oauth, &t, 401, STR(""), STR(""), NULL, &err));
    char elsewhere[200];
    snprintf(elsewhere, sizeof elsewhere, "{\"resource\":\"$/mcp\",\"authorization_servers\":[\"%s\"]}", other.base);
    w.resource = elsewhere;
    free(world_header_for(&w, &t, w.url));
    if (!oauth_refused(w.oauth, &t, 401, STR(""), STR(""), NULL, &err)) fail_msg("%s", err.msg);
    assert_int_equal(other.registrations, 1);
    assert_int_equal(other.tokens, 1);
    form_is(other.form[0], "grant_type", "authorization_code");          /* not the refresh token of the first */
    assert_int_equal(w.tokens, 1);
    w.resource = NULL;
    world_start(&w, "{\"client_id\":\"mine\",\"client_secret\":\"hidden-one\",\"grant\":\"client_credentials\"}");
    t = (OAuthTry){ 0 };
    assert_true(oauth_refused(w.oauth, &t, 401, STR(""), STR(""), NULL, &err));
    w.resource = elsewhere;
    t = (OAuthTry){ 0 };
    free(world_header_for(&w, &t, w.url));
    assert_false(oauth_refused(w.oauth, &t, 401, STR(""), STR(""), NULL, &err));
    assert_non_null(strstr(err.msg, "oauth.issuer"));
    assert_int_equal(other.tokens, 1);
    world_start(&w, "{\"client_id\":\"mine\",\"issuer\":\"$\"}");
    t = (OAuthTry){ 0 };
    assert_false(oauth_refused(w.oauth, &t, 401, STR(""), STR(""), NULL, &err));
    assert_int_equal(other.tokens, 1);
    world_clear(&w);
    world_clear(&other);
}

static pthread_barrier_t all_there;

static void *refused_in_a_thread(void *arg) {
    World *w = arg;
    OAuthTry t = { 0 };
    Error err = { 0 };
    free(world_header_for(w, &t, w->url));
    pthread_barrier_wait(&all_there);                      /* all without a token */
    bool ok = oauth_refused(w->oauth, &t, 401, STR(""), STR(""), NULL, &err);
    char *header = world_header_for(w, &t, w->url);
    ok = ok && strcmp(header, "Bearer access-1") == 0;
    free(header);
    return ok ? arg : NULL;
}

static void many_threads_ask_one_person_once(void **state) {
    (void)state;
    World w = { 0 };
    world_init(&w, NULL);
    pthread_t threads[8];
    pthread_barrier_init(&all_there, NULL, 8);
    for (size_t i = 0; i < 8; i++) assert_int_equal(pthread_create(&threads[i], NULL, refused_in_a_thread, &w), 0);
    int good = 0;
    for (size_t i = 0; i < 8; i++) {
        void *ok;
        pthread_join(threads[i], &ok);
        good += ok != NULL;
    }
    assert_int_equal(good, 8);
    assert_int_equal(w.visits, 1);
    assert_int_equal(w.tokens, 1);
    pthread_barrier_destroy(&all_there);
    world_clear(&w);
}

static void nobody_answers(void **state) {
    (void)state;
    World w = { .nobody = true };
    world_init(&w, NULL);
    OAuthTry t = { 0 };
    Error err = { 0 };
    Cancel *cancel = cancel_new(NULL, 50000000);
    assert_false(oauth_refused(w.oauth, &t, 401, STR(""), STR(""), cancel, &err));
    assert_int_equal(err.kind, ERR_TIMEOUT);
    cancel_free(cancel);
    /* no user at all */
    w.oauth->config.open = NULL;
    assert_false(oauth_refused(w.oauth, &t, 401, STR(""), STR(""), NULL, &err));
    assert_non_null(strstr(err.msg, "no user is present"));
    world_clear(&w);
}

static void notes_that_are_broken_are_none(void **state) {
    (void)state;
    static const char *const notes[] = { "", "{", "[]", "{\"access\":1}", "{\"access\":\"x\"}",
        "{\"access\":\"x\",\"issuer\":\"i\",\"endpoint\":\"http://evil.example/\"}",
                                         "{\"access\":\"x\",\"issuer\":\"i\",\"endpoint\":\"https://e/\",\"dpop\":true}" };
    World w = { 0 };
    world_init(&w, NULL);
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        char key[80];
        snprintf(key, sizeof key, "oauth:token:%s", w.url);
        world_put(&w, str_from(key), str_from(notes[i]), NULL);
        world_start(&w, NULL);
        OAuthTry t = { 0 };
        assert_header(&w, &t, w.url, "");
    }
    world_clear(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_person_gives_a_token), cmocka_unit_test(hostile_servers_get_nothing),
            cmocka_unit_test(strangers_do_not_send_us_home), cmocka_unit_test(tokens_are_refreshed),
        cmocka_unit_test(scopes_step_up), cmocka_unit_test(a_server_that_wants_no_token_is_given_up), cmocka_unit_test(grants_without_a_person),
        cmocka_unit_test(a_stranger_names_no_private_hosts), cmocka_unit_test(rules_are_for_strangers),
        cmocka_unit_test(a_private_key_speaks_for_the_client), cmocka_unit_test(proofs_come_with_every_request),
        cmocka_unit_test(clients_belong_to_their_issuer), cmocka_unit_test(many_threads_ask_one_person_once), cmocka_unit_test(nobody_answers),
        cmocka_unit_test(notes_that_are_broken_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
