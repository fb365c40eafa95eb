/* `oauth:` of an MCP server: how harness obtains a token for it. harness.md, .mcp.json and --oauth use the same
 * keys. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "value/dict.h"

/* X(key, may hold a secret) – every text key. ${NAME} is expanded in all of them. X_file is read with the settings. */
#define OAUTH_TEXTS(X) \
    X(grant, false) X(client_id, false) X(client_secret, true) X(token_auth, false) X(scope, false) X(issuer, false) \
    X(client_metadata_url, false) X(private_key, true) X(private_key_file, false) X(key_algorithm, false) X(key_id, false) \
    X(assertion, true) X(assertion_file, false) X(idp_issuer, false) X(idp_token_endpoint, false) X(idp_client_id, false) \
    X(idp_client_secret, true) X(idp_id_token, true) X(idp_id_token_file, false)

/* grant is one of: */
typedef enum { OAUTH_AUTHORIZATION_CODE, OAUTH_CLIENT_CREDENTIALS, OAUTH_JWT_BEARER, OAUTH_ENTERPRISE } OAuthGrant;

typedef struct OAuthSettings {
#define X(key, secret) Str key;
    OAUTH_TEXTS(X)
#undef X
    OAuthGrant how;
    bool dpop;
    uint16_t redirect_port;              /* 0: any */
} OAuthSettings;

/* Validates the map. Otherwise fails with ERR_CONFIG, `"grant" must be …`, and sets *key to the key in question ("":
 * the whole map). */
bool oauth_settings_check(Value map, Str *key, Error *err);
/* Validates and reads: expands ${NAME} and reads files (relative to the working folder). Texts live in `arena`. Calls
 * `secret` (may be NULL) with values that must not be shown. GONE: no settings, all empty. */
bool oauth_settings_read(Value map, Arena *arena, void (*secret)(void *ctx, Str value), void *ctx, OAuthSettings *out, Error *err);
/* Reads X_file again, because it may change while a program runs: at most 64 KiB, without surrounding white space. */
bool oauth_settings_file(Str path, const char *name, Arena *arena, Str *out, Error *err);
