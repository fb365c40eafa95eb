/* Tokens for a server that wants them: OAuth 2.1 as the protocol's authorization pages say. One per server URL.
 *
 * Discovery (protected-resource metadata, then authorization-server metadata, all well-known paths, issuer compared; the paths of
 * 2025-03-26 where there is none), registration (given client, client-ID metadata document, dynamic), authorization code with PKCE and
 * resource indicator, `iss` checked, scopes and step-up, refresh; client credentials (secret, private-key JWT), JWT bearer, token exchange
 * with an identity provider, DPoP.
 *
 * Everything an authorization server says is bounded and checked before it is used; https is required of all but loopback hosts. Tokens are
 * bound to the server's URL and the issuer and go nowhere else. No secret stands in an error. */
#pragma once
#include "artifact/oauth_settings.h"
#include "base/arena.h"
#include "base/cancel.h"
#include "net/client.h"
#include "store/store.h"

typedef struct OAuth OAuth;

/* Where tokens and registered clients are kept between programs: the store's notes, or nowhere. */
typedef struct OAuthShelf {
    bool (*get)(void *ctx, Str key, Buf *out, Error *err);   /* appends; nothing: there is none */
    bool (*put)(void *ctx, Str key, Str value, Error *err);  /* an empty value: forget it */
    void *ctx;
} OAuthShelf;
OAuthShelf oauth_store_shelf(Store *s);  /* borrows s */

typedef struct OAuthConfig {             /* borrowed for the OAuth's life */
    Str server;                          /* the MCP server's URL */
    Client *client;
    const Rules *rules;                  /* for every request it makes, unless the server is on this machine; NULL: any host */
    OAuthShelf shelf;                    /* all NULL: kept in memory only */
    Value settings;                      /* `oauth:` of the server's entry as it stands there (oauth_settings_check has passed it); GONE: none */
    /* Sends the person to a URL (a browser); the answer comes to the loopback address that is listened on. NULL: nobody is there. */
    bool (*open)(void *ctx, Str url, Error *err);
    void (*secret)(void *ctx, Str value);        /* told of every token and secret, for redaction; may be NULL */
    void *ctx;
    int64_t patience_ms;                 /* how long a person may take; 0: five minutes */
} OAuthConfig;

OAuth *oauth_new(const OAuthConfig *config, Error *err);     /* expands ${NAME}, reads key files; NULL: ERR_CONFIG */
void oauth_free(OAuth *a);               /* NULL is fine */

/* Is there an Authorization among the headers that a person set? Then no token is looked for: two would contradict each other. */
bool oauth_is_given(const ClientHeader *headers, size_t n);

/* One per request to the server, zero-initialised, for all its repetitions: bounds them. */
typedef struct OAuthTry { int refusals, grants; uint64_t token; } OAuthTry;

/* Headers for a request: "Authorization" and, with DPoP, "DPoP" (a fresh proof for this method and URL); none without a token, and none for
 * a URL of another origin than the server's. Refreshes a token that has run out. `out` lives in `arena`. */
bool oauth_headers(OAuth *a, OAuthTry *attempt, Str method, Str url, Cancel *cancel, Arena *arena, ClientHeader out[2], size_t *n, Error *err);
/* The server has answered 401 or 403. True: send the request again, with headers asked for anew. False: no token can be had, *err says what to
 * do. A server that refuses every token is given up. Any thread; one at a time does the work, others wait for it. */
bool oauth_refused(OAuth *a, OAuthTry *attempt, int status, Str www_authenticate, Str dpop_nonce, Cancel *cancel, Error *err);
/* Signs out: the token that is kept is revoked at its authorization server where that can be done (RFC 7009), and forgotten here, with the client
 * that was registered for it, whatever the server says. False: it could not be forgotten. */
typedef struct OAuthForgotten { bool kept, revoked; Error why; } OAuthForgotten;   /* kept: there was one; why: it was not revoked */
bool oauth_forget(OAuth *a, Cancel *cancel, OAuthForgotten *out, Error *err);
/* The extension of the protocol that the settings use, for the client's capabilities; NULL: none. */
const char *oauth_extension(const OAuth *a);
/* The server has answered otherwise and sent a DPoP-Nonce: the next proof has to hold it. Empty is fine. */
void oauth_nonce(OAuth *a, Str dpop_nonce);
