/* Tokens for a server that wants them: OAuth 2.1 as the protocol's authorization pages say. One per server URL.
 *
 * Discovery (protected-resource metadata, then authorization-server metadata, both kinds of well-known paths, issuer compared), registration
 * (given client, client-ID metadata document, dynamic), authorization code with PKCE and resource indicator, `iss` checked, scopes
 * and step-up, refresh; client credentials (secret, private key JWT), token exchange, JWT bearer, DPoP. */
#pragma once
#include "base/cancel.h"
#include "net/client.h"
#include "value/heap.h"

typedef struct OAuth OAuth;

/* Where tokens and registered clients are kept between programs: the store's notes, or nowhere. */
typedef struct OAuthShelf {
    bool (*get)(void *ctx, Str key, Buf *out, Error *err);   /* an empty `out`: nothing there */
    bool (*put)(void *ctx, Str key, Str value, Error *err);  /* an empty value: forget it */
    void *ctx;
} OAuthShelf;

typedef struct OAuthConfig {             /* strings are borrowed for the OAuth's life */
    Str server;                          /* the MCP server's URL */
    Client *client;
    const Rules *rules;                  /* for every request it makes; NULL: any host */
    OAuthShelf shelf;                    /* all NULL: kept in memory only */
    Value settings;                      /* `oauth:` of the server's entry, a dict, ${NAME} expanded; GONE: none */
    /* Sends the person to a URL (a browser); the answer comes to the loopback address that oauth.c listens on. NULL: nobody is there. */
    bool (*open)(void *ctx, Str url, Error *err);
    void (*secret)(void *ctx, Str value);        /* told of every token and secret, for redaction */
    void *ctx;
} OAuthConfig;

OAuth *oauth_new(const OAuthConfig *config, Error *err);
void oauth_free(OAuth *a);               /* NULL is fine */

/* Headers for a request: "Authorization" and, with DPoP, "DPoP" (a fresh proof for this method and URL); none without a token. Refreshes one
 * that has run out. `out` lives in `arena`. */
bool oauth_headers(OAuth *a, Str method, Str url, Cancel *cancel, Arena *arena, ClientHeader out[2], size_t *n, Error *err);
/* The server has answered 401 or 403. True: send the request again. False: no token can be had, *err says what to do. Bounded: a server
 * that refuses every token is given up. Any thread; one at a time does the work, others wait for it. */
bool oauth_refused(OAuth *a, int status, Str www_authenticate, Str dpop_nonce, Cancel *cancel, Error *err);
