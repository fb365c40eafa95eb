/* `oauth:` of an MCP server: how harness gets a token for it. The same keys stand in harness.md, in a .mcp.json and behind --oauth. */
#pragma once
#include "base/arena.h"
#include "base/error.h"
#include "value/dict.h"

/* X(key, may hold a secret) – every key that is a text. ${NAME} is filled in for all of them. X_file is read when the settings are. */
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

/* Is this map right? Else ERR_CONFIG with what is wrong, `"grant" must be …`, and the key it is about ("": the map as a whole). */
bool oauth_settings_check(Value map, Str *key, Error *err);
/* Checks and reads: ${NAME} expanded, files read (relative to the working folder). Texts live in `arena`. `secret` (may be NULL) is told what must
 * not be shown. GONE: no settings, all empty. */
bool oauth_settings_read(Value map, Arena *arena, void (*secret)(void *ctx, Str value), void *ctx, OAuthSettings *out, Error *err);
/* Reads X_file again, for what changes while a program runs: at most 64 KiB, without white space at its ends. */
bool oauth_settings_file(Str path, const char *name, Arena *arena, Str *out, Error *err);
