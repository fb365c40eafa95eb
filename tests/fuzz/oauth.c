/* Untrusted input of OAuth: a challenge, a query, a URL, a private key. Must not crash or read past the end, and
 * results must be within the input. */
#include <stdlib.h>
#include "mcp/oauth/oauth_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_challenge(Str text) {
    Arena arena = { 0 };
    OAuthChallenge c;
    oauth_challenge_read(text, &arena, &c);
    if (c.scope.n > text.n || c.error.n > text.n || c.resource_metadata.n > text.n) abort();
    Str scope;
    OAuthSettings settings = { 0 };
    OAuthSite site = { .metadata = VALUE_GONE };
    if (oauth_scope_pick(&settings, &site, c.scope, STR(""), &arena, &scope, NULL)
        && (scope.n > OAUTH_SCOPE_MAX || !oauth_scope_holds(scope, c.scope))) abort();
    arena_clear(&arena);
}

/* An encoded form decodes to the original. */
static void check_form(Str text) {
    Arena arena = { 0 };
    Buf form = { 0 };
    Str value;
    oauth_form_get(text, "code", &arena, &value);
    oauth_form_add(&form, "a", STR("first"));
    oauth_form_add(&form, "code", text);
    if (text.n && (oauth_form_get(buf_str(&form), "code", &arena, &value) != 1 || !str_eq(value, text))) abort();
    buf_clear(&form);
    arena_clear(&arena);
}

/* A parsed origin parses to itself. */
static void check_url(Str text) {
    OAuthUrl u, again;
    if (!oauth_url_parse(text, &u, NULL)) return;
    Buf origin = { 0 };
    oauth_url_origin(&u, &origin);
    if (!oauth_url_parse(buf_str(&origin), &again, NULL) || !oauth_url_same_origin(&u, &again)) abort();
    buf_clear(&origin);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    Str text = { (const char *)data + 1, size - 1 };
    switch (data[0] % 4) {
    case 0: check_challenge(text); break;
    case 1: check_form(text); break;
    case 2: check_url(text); break;
    default: jwt_key_free(jwt_key_read(text, NULL));
    }
    return 0;
}
