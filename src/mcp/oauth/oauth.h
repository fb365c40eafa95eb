/* OAuth 2.1 tokens for MCP servers, as the protocol's authorization pages specify. One OAuth per server URL.
 *
 * Discovery (protected-resource metadata, then authorization-server metadata at all well-known paths, issuer compared;
 * the paths of 2025-03-26 without metadata), registration (configured client, client-ID metadata document, dynamic),
 * authorization code with PKCE and resource indicator, `iss` check, scopes and step-up, refresh; client credentials
 * (secret, private-key JWT), JWT bearer, token exchange with an identity provider, DPoP.
 *
 * Limits and validates everything an authorization server sends; requires https except for loopback hosts. A token is
 * bound to the server's URL and the issuer and sent nowhere else. Errors contain no secrets. */
#pragma once
#include "artifact/oauth_settings.h"
#include "base/arena.h"
#include "base/cancel.h"
#include "net/client.h"
#include "store/store.h"

typedef struct OAuth OAuth;

/* Persistent storage of tokens and registered clients: the store's notes, or none. */
typedef struct OAuthShelf {
    bool (*get)(void *ctx, Str key, Buf *out, Error *err);   /* appends; nothing if absent */
    bool (*put)(void *ctx, Str key, Str value, Error *err);  /* an empty value deletes */
    void *ctx;
} OAuthShelf;
OAuthShelf oauth_store_shelf(Store *s);  /* borrows s */

typedef struct OAuthConfig {             /* borrowed for the OAuth's lifetime */
    Str server;                          /* the MCP server's URL */
    Client *client;
    const Rules *rules;                  /* for every request, unless the server is local; NULL: any host */
    OAuthShelf shelf;                    /* all NULL: memory only */
    Value settings;                      /* `oauth:` of the server's entry, checked by oauth_settings_check; GONE:
                                          * none */
    /* Opens a URL in the user's browser; the result arrives at a loopback listener. NULL: no user is present. */
    bool (*open)(void *ctx, Str url, Error *err);
    void (*secret)(void *ctx, Str value);        /* called with every token and secret, for redaction; may be NULL */
    void *ctx;
    int64_t patience_ms;                 /* how long to wait for the user; 0: five minutes */
} OAuthConfig;

OAuth *oauth_new(const OAuthConfig *config, Error *err);     /* expands ${NAME}, reads key files; NULL on ERR_CONFIG */
void oauth_free(OAuth *a);               /* NULL is fine */

/* True if the user set an Authorization header. Then no token is requested, since two would conflict. */
bool oauth_is_given(const ClientHeader *headers, size_t n);

/* One per request to the server, zero-initialised, shared by its retries: limits them. */
typedef struct OAuthTry { int refusals, grants; uint64_t token; } OAuthTry;

/* Headers for a request: "Authorization" and, with DPoP, "DPoP" (a fresh proof for this method and URL). None without a
 * token, and none for a URL of another origin. Refreshes an expired token. `out` lives in `arena`. */
bool oauth_headers(OAuth *a, OAuthTry *attempt, Str method, Str url, Cancel *cancel, Arena *arena, ClientHeader out[2], size_t *n, Error *err);
/* Call after a 401 or 403. True: get new headers and resend the request. False: no token can be obtained; *err says
 * what to do. Gives up on a server that refuses every token. Thread-safe; one thread works, others wait for it. */
bool oauth_refused(OAuth *a, OAuthTry *attempt, int status, Str www_authenticate, Str dpop_nonce, Cancel *cancel, Error *err);
/* Signs out: revokes the stored token at its authorization server if possible (RFC 7009), and deletes it and its
 * registered client locally in any case. False: it could not be deleted. */
typedef struct OAuthForgotten { bool kept, revoked; Error why; } OAuthForgotten;   /* kept: there was a token; why:
                                                                                    * the reason if it was not revoked */
bool oauth_forget(OAuth *a, Cancel *cancel, OAuthForgotten *out, Error *err);
/* The protocol extension that the settings use, for the client's capabilities; NULL: none. */
const char *oauth_extension(const OAuth *a);
/* Stores a DPoP-Nonce from any other response for the next proof. May be empty. */
void oauth_nonce(OAuth *a, Str dpop_nonce);
