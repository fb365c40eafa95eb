#include "mcp/jwt_keys.h"
#include "mcp/oauth/oauth_private.h"
#include "net/net_unit.h"
#include "base/base64.h"

static void reads_challenges(void **state) {
    (void)state;
    static const struct { const char *header, *error, *scope, *metadata; bool dpop; } rows[] = {
        { "", "", "", "", false },
        { "Bearer", "", "", "", false },
        { "Bearer scope=\"a b\", resource_metadata=\"https://x/y\"", "", "a b", "https://x/y", false },
        { "bearer error=insufficient_scope,scope=a", "insufficient_scope", "a", "", false },
        { "Basic realm=\"x, scope=evil\", Bearer scope=\"good\"", "", "good", "", false },
        { "Basic scope=\"no\"", "", "", "", false },
        { "DPoP error=\"use_dpop_nonce\", algs=\"ES256\"", "use_dpop_nonce", "", "", true },
        { "Bearer scope=\"a\", DPoP algs=\"ES256\"", "", "a", "", false },
        { "Bearer scope=\"a \\\"b\\\"\"", "", "a \"b\"", "", false },
        { "Bearer scope=\"never closed", "", "never closed", "", false },
        { "Bearer resource_metadata=https://x/y?z=1, scope=a", "", "a", "https://x/y?z=1", false },
        { "Bearer scope=first, scope=second", "", "first", "", false },
        { ",,=,\"\",Bearer ,= scope = \"a\"", "", "a", "", false },
        { "Bearer scope", "", "", "", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Arena arena = { 0 };
        OAuthChallenge c;
        oauth_challenge_read(str_from(rows[i].header), &arena, &c);
        assert_str(c.error, rows[i].error);
        assert_str(c.scope, rows[i].scope);
        assert_str(c.resource_metadata, rows[i].metadata);
        assert_int_equal(c.dpop, rows[i].dpop);
        arena_clear(&arena);
    }
}

static void trusts_https_and_this_machine(void **state) {
    (void)state;
    static const struct { const char *url; bool trusted; } rows[] = {
        { "https://example.com", true }, { "HTTPS://Example.com:8443/a?b", true }, { "http://127.0.0.1:80/x", true }, { "http://localhost:1", true },
        { "http://[::1]:1/", true }, { "http://127.1/", true },
        { "http://example.com", false }, { "http://localhost.example.com", false }, { "http://x.localhost", false }, { "http://10.0.0.1", false },
        { "ftp://example.com", false }, { "javascript:alert(1)//https://x", false }, { "https://", false }, { "https:///x", false },
        { "https://user@example.com", false }, { "https://example.com@evil.com/", false }, { "https://example.com/#x", false },
        { "https://example.com/ x", false }, { "https://example.com/\"x", false }, { "https://example.com/\n", false }, { "", false },
        { "https://example.com:0", false }, { "https://example.com:99999", false }, { "https://exa\\mple.com", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OAuthUrl u;
        Error err = { 0 };
        if (oauth_url_trusted(str_from(rows[i].url), "it", &u, &err) != rows[i].trusted) fail_msg("%s: %s", rows[i].url, err.msg);
    }
    OAuthUrl a, b;
    assert_true(oauth_url_parse(STR("https://Example.com/a"), &a, NULL) && oauth_url_parse(STR("https://example.com:443/b?c"), &b, NULL));
    assert_true(oauth_url_same_origin(&a, &b));
    assert_true(oauth_url_parse(STR("http://example.com:443/b?c"), &b, NULL));
    assert_false(oauth_url_same_origin(&a, &b));
}

static void reads_and_writes_forms(void **state) {
    (void)state;
    Arena arena = { 0 };
    Buf form = { 0 };
    oauth_form_add(&form, "a", STR("x y&z=\xc3\xa4"));
    oauth_form_add(&form, "empty", STR(""));
    oauth_form_add(&form, "b", STR("-._~"));
    assert_str(buf_str(&form), "a=x%20y%26z%3D%C3%A4&b=-._~");
    Str value;
    assert_int_equal(oauth_form_get(buf_str(&form), "a", &arena, &value), 1);
    assert_str(value, "x y&z=\xc3\xa4");
    assert_int_equal(oauth_form_get(STR("b=1+2&c"), "b", &arena, &value), 1);
    assert_str(value, "1 2");
    assert_int_equal(oauth_form_get(STR("b=1&c"), "c", &arena, &value), 1);
    assert_str(value, "");
    assert_int_equal(oauth_form_get(STR("b=1"), "c", &arena, &value), 0);
    static const char *const bad[] = { "a=1&a=2", "a=%", "a=%4", "a=%zz" };
    for (size_t i = 0; i < 4; i++) assert_int_equal(oauth_form_get(str_from(bad[i]), "a", &arena, &value), -1);
    buf_clear(&form);
    arena_clear(&arena);
}

static void picks_scopes(void **state) {
    (void)state;
    Heap *heap = heap_new(0);
    Value offline, plain;
    assert_true(json_read(heap, STR("{\"scopes_supported\":[\"a\",\"offline_access\"]}"), NULL, &offline, NULL));
    assert_true(json_read(heap, STR("{\"scopes_supported\":[\"a\"]}"), NULL, &plain, NULL));
    const struct { const char *settings, *listed, *challenged, *before, *expected; Value metadata; OAuthGrant how; } rows[] = {
        { "", "", "", "", "", plain, OAUTH_AUTHORIZATION_CODE },
        { "", "l m", "", "", "l m", plain, OAUTH_AUTHORIZATION_CODE },
        { "", "l m", "c", "", "c", plain, OAUTH_AUTHORIZATION_CODE },
        { "s", "l m", "c", "", "s", plain, OAUTH_AUTHORIZATION_CODE },
        { "", "l", "c", "b a", "b a c", plain, OAUTH_AUTHORIZATION_CODE },
        { "s", "l", "c", "s", "s c", plain, OAUTH_AUTHORIZATION_CODE },
        { "", "", "a  b a", "b", "b a", plain, OAUTH_AUTHORIZATION_CODE },
        { "", "", "c", "", "c offline_access", offline, OAUTH_AUTHORIZATION_CODE },
        { "", "", "", "", "", offline, OAUTH_AUTHORIZATION_CODE },
        { "", "", "c", "", "c", offline, OAUTH_CLIENT_CREDENTIALS },
    };
    Arena arena = { 0 };
    Str out;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OAuthSettings s = { .scope = str_from(rows[i].settings), .how = rows[i].how };
        OAuthSite site = { .scopes = str_from(rows[i].listed), .metadata = rows[i].metadata };
        assert_true(oauth_scope_pick(&s, &site, str_from(rows[i].challenged), str_from(rows[i].before), &arena, &out, NULL));
        assert_str(out, rows[i].expected);
    }
    Buf endless = { 0 };
    for (int i = 0; i < 2000; i++) buf_add_fmt(&endless, "scope%d ", i);
    OAuthSettings none = { 0 };
    OAuthSite site = { .metadata = plain };
    Error err = { 0 };
    assert_false(oauth_scope_pick(&none, &site, buf_str(&endless), STR(""), &arena, &out, &err));
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_false(oauth_scope_pick(&none, &site, STR("a\"b"), STR(""), &arena, &out, &err));
    buf_clear(&endless);
    arena_clear(&arena);
    heap_free(heap);
}

static void signs_as_openssl_does(void **state) {
    (void)state;
    Error err = { 0 };
    JwtKey *k = jwt_key_read(str_from(key_rsa), &err);
    assert_non_null(k);
    assert_string_equal(jwt_key_algorithm(k), "RS256");
    Buf out = { 0 };
    assert_true(jwt_key_sign(k, STR("{\"alg\":\"RS256\"}"), STR("{\"iss\":\"joe\"}"), &out, &err));
    assert_str(buf_str(&out), signed_by_rsa);
    assert_false(jwt_key_public(k, &out, &err));
    buf_clear(&out);
    jwt_key_free(k);
}

/* r and s are shorter than 32 bytes about once in 128 times each; the signature must always have 64 bytes. */
static void signs_with_a_fixed_length(void **state) {
    (void)state;
    Error err = { 0 };
    JwtKey *k = jwt_key_new(&err), *again = NULL;
    assert_non_null(k);
    Buf out = { 0 }, pem = { 0 }, jwk = { 0 }, jwk_again = { 0 };
    for (int i = 0; i < 600; i++) {
        buf_reset(&out);
        assert_true(jwt_key_sign(k, STR("{}"), STR("{}"), &out, &err));
        assert_int_equal(out.n, 3 + 1 + 3 + 1 + 86);
    }
    assert_true(jwt_key_write(k, &pem, &err) && (again = jwt_key_read(buf_str(&pem), &err)));
    assert_string_equal(jwt_key_algorithm(again), "ES256");
    assert_true(jwt_key_public(k, &jwk, &err) && jwt_key_public(again, &jwk_again, &err));
    assert_str(buf_str(&jwk), jwk_again.at);
    assert_true(str_starts(buf_str(&jwk), STR("{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"")));
    assert_true(str_find(buf_str(&jwk), STR("\"d\"")) < 0);
    Buf *all[] = { &out, &pem, &jwk, &jwk_again };
    for (size_t i = 0; i < 4; i++) buf_clear(all[i]);
    jwt_key_free(k);
    jwt_key_free(again);
}

static void refuses_other_keys(void **state) {
    (void)state;
    static const struct { const char *pem, *says; } rows[] = {
        { key_p384, "EC P-256" }, { key_ed, "EC P-256" }, { key_enc, "pass phrase" }, { "", "not in PEM format" },
            { "-----BEGIN PRIVATE KEY-----\nAAAA\n", "not in PEM format" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Error err = { 0 };
        assert_null(jwt_key_read(str_from(rows[i].pem), &err));
        assert_int_equal(err.kind, ERR_CONFIG);
        if (!strstr(err.msg, rows[i].says)) fail_msg("%zu: %s", i, err.msg);
    }
}

static void say(uint16_t port, const char *text, Buf *answer) {
    int fd = connect_to(port);
    assert_true(send_all(fd, str_from(text)));
    if (answer) read_rest(fd, answer);
    close(fd);
}

typedef struct { uint16_t port; Buf wrong_state, wrong_path, right; } Visitor;

static void *visit(void *arg) {
    Visitor *v = arg;
    int idle[12];
    for (size_t i = 0; i < 12; i++) idle[i] = connect_to(v->port);         /* more connections than it accepts */
    say(v->port, "GET /callback?code=x&state=other HTTP/1.1\r\n\r\n", &v->wrong_state);
    say(v->port, "GET /favicon.ico HTTP/1.1\r\n\r\n", &v->wrong_path);
    say(v->port, "POST /callback?code=x&state=right HTTP/1.1\r\n\r\n", NULL);
    say(v->port, "GET /callback?code=x&state=right&state=right HTTP/1.1\r\n\r\n", NULL);
    say(v->port, "GET /callback?code=c", NULL);
    Buf endless = { 0 };
    for (int i = 0; i < 20000; i++) buf_add_char(&endless, 'a');
    int fd = connect_to(v->port);
    send_all(fd, buf_str(&endless));
    close(fd);
    buf_clear(&endless);
    say(v->port, "GET /callback?code=c&state=right HTTP/1.1\r\nHost: x\r\n\r\n", &v->right);
    for (size_t i = 0; i < 12; i++) close(idle[i]);
    return NULL;
}

static void listens_for_one_answer(void **state) {
    (void)state;
    Error err = { 0 };
    OAuthListener *l = oauth_listen(0, &err);
    assert_non_null(l);
    Visitor v = { .port = oauth_listen_port(l) };
    assert_null(oauth_listen(v.port, &err));               /* in use */
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, visit, &v), 0);
    Arena arena = { 0 };
    Str query;
    Cancel *cancel = cancel_new(NULL, 20000000000);
    assert_true(oauth_listen_wait(l, STR("right"), cancel, &arena, &query, &err));
    assert_str(query, "code=c&state=right");
    oauth_listen_free(l);
    pthread_join(thread, NULL);
    assert_true(str_starts(buf_str(&v.wrong_state), STR("HTTP/1.1 404")) && str_starts(buf_str(&v.wrong_path), STR("HTTP/1.1 404")));
    assert_true(str_starts(buf_str(&v.right), STR("HTTP/1.1 200")));
    buf_clear(&v.wrong_state);
    buf_clear(&v.wrong_path);
    buf_clear(&v.right);
    cancel_free(cancel);
    arena_clear(&arena);
}

static void listening_ends_when_cancelled(void **state) {
    (void)state;
    Error err = { 0 };
    OAuthListener *l = oauth_listen(0, &err);
    Cancel *cancel = cancel_new(NULL, 20000000);
    Arena arena = { 0 };
    Str query;
    assert_false(oauth_listen_wait(l, STR("right"), cancel, &arena, &query, &err));
    assert_int_equal(err.kind, ERR_TIMEOUT);
    cancel_fire(cancel);
    assert_false(oauth_listen_wait(l, STR("right"), cancel, &arena, &query, &err));
    oauth_listen_free(l);
    cancel_free(cancel);
    arena_clear(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_challenges), cmocka_unit_test(trusts_https_and_this_machine), cmocka_unit_test(reads_and_writes_forms),
        cmocka_unit_test(picks_scopes), cmocka_unit_test(signs_as_openssl_does), cmocka_unit_test(signs_with_a_fixed_length),
        cmocka_unit_test(refuses_other_keys), cmocka_unit_test(listens_for_one_answer), cmocka_unit_test(listening_ends_when_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
