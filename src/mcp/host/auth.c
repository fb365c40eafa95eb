#include "mcp/host/auth.h"
#include <stdlib.h>
#include <strings.h>
#include "base/digest.h"
#include "base/mem.h"
#include "mcp/host/auth_jwt.h"

struct ServeAuth {
    ServeAuthConfig config;
    uint8_t token[DIGEST_SHA256_BYTES];
    ServeJwt *jwt;                       /* NULL: no authorization server */
};

ServeAuth *serve_auth_new(const ServeAuthConfig *config, Error *err) {
    ServeAuth *a = mem_zero(1, sizeof *a);
    a->config = *config;
    if (config->token.n && !digest_sha256(config->token, a->token, err)) {
        free(a);
        return NULL;
    }
    if (config->issuer.n) a->jwt = serve_jwt_new(config);
    return a;
}

void serve_auth_free(ServeAuth *a) {
    if (!a) return;
    serve_jwt_free(a->jwt);
    free(a);
}

bool serve_auth_has_server(const ServeAuth *a) { return a->jwt != NULL; }

static Str bearer(Str header) {
    if (header.n < 7 || strncasecmp(header.at, "Bearer ", 7) != 0) return STR("");
    return str_trim(str_sub(header, 7, header.n));
}

/* Compares digests in constant time, so that timing reveals neither content nor length of our token. */
static bool is_ours(const ServeAuth *a, Str token) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    unsigned differ = 0;
    if (!a->config.token.n || !digest_sha256(token, digest, NULL)) return false;
    for (size_t i = 0; i < sizeof digest; i++) differ |= digest[i] ^ a->token[i];
    return differ == 0;
}

ServeAuthAnswer serve_auth_quick(ServeAuth *a, Str authorization, ServeWho *who) {
    Str token = bearer(authorization);
    *who = (ServeWho){ 0 };
    if (!a->config.token.n && !a->jwt) return AUTH_OK;
    if (!token.n) return AUTH_NONE;
    if (is_ours(a, token)) {
        memcpy(who->id, a->token, sizeof who->id);
        return AUTH_OK;
    }
    return a->jwt ? AUTH_LATER : AUTH_BAD;
}

ServeAuthAnswer serve_auth_token(ServeAuth *a, Str authorization, ServeWho *who, Error *err) {
    ServeAuthAnswer answer = serve_auth_quick(a, authorization, who);
    if (answer == AUTH_LATER) return serve_jwt_check(a->jwt, bearer(authorization), who, err);
    if (answer != AUTH_OK) error_set(err, ERR_POLICY, "the token is not valid for this server");
    return answer;
}
