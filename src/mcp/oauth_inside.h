/* Inside of mcp/oauth.h: its parts. Only for the oauth files of this room.
 *
 * A token is had in steps, each a file: the challenge is read (oauth_challenge.c), the site is discovered (oauth_discover.c), the client is
 * chosen or registered (oauth_register.c), the grant is used (oauth_authorize.c for a person, oauth_token.c). oauth.c goes through them,
 * one thread at a time, and is the only one that changes the token. */
#pragma once
#include <pthread.h>
#include "mcp/oauth.h"
#include "mcp/oauth_jwt.h"
#include "net/target.h"
#include "value/json.h"

enum {
    OAUTH_ANSWER_MAX = 1 << 20,          /* bytes of any answer of an authorization server */
    OAUTH_TIMEOUT_MS = 30000,            /* of any request to one */
    OAUTH_TOKEN_MAX = 64 << 10,
    OAUTH_SCOPE_MAX = 8 << 10,
    OAUTH_URL_MAX = 8 << 10,
};

/* oauth_url.c */
typedef struct OAuthUrl { bool https; Target target; Str path, query; } OAuthUrl;     /* path: "" or with its '/'; both borrowed */
/* An absolute http or https URL without user, fragment, white space and control characters. ERR_VALIDATION. */
bool oauth_url_parse(Str url, OAuthUrl *out, Error *err);
/* The same, and fit to be sent secrets: https, or http to a loopback host. `what` is its role in the message. */
bool oauth_url_trusted(Str url, const char *what, OAuthUrl *out, Error *err);
bool oauth_url_local(const OAuthUrl *u);             /* localhost or a loopback address */
bool oauth_url_same_origin(const OAuthUrl *a, const OAuthUrl *b);
void oauth_url_origin(const OAuthUrl *u, Buf *out);                  /* "https://host:port", appended */
void oauth_form_add(Buf *form, const char *name, Str value);        /* name=value, percent-encoded, with '&' between; empty ones are left out */
void oauth_form_escape(Buf *out, Str value);
/* The value of a name in a query, decoded. 0: absent, 1: there, -1: there twice or badly encoded. */
int oauth_form_get(Str query, const char *name, Arena *arena, Str *out);

/* oauth_challenge.c: what WWW-Authenticate says under Bearer or DPoP. Texts live in the arena; "" when absent. */
typedef struct OAuthChallenge { bool dpop; Str error, scope, resource_metadata; } OAuthChallenge;
void oauth_challenge_read(Str header, Arena *arena, OAuthChallenge *out);

/* oauth_fetch.c: JSON over HTTP with limits; redirects are not followed. *out is GONE unless the answer was a JSON object. */
typedef struct OAuthAnswer { int status; Value json; Str dpop_nonce; } OAuthAnswer;
typedef struct OAuthFetch {
    Client *client;
    const Rules *rules;
    Cancel *cancel;
    Heap *heap;                          /* of one round of work */
    bool local;                          /* the MCP server is on this machine, so others it names may be. A stranger must not send us to our own */
} OAuthFetch;
bool oauth_fetch_allowed(const OAuthFetch *f, Str url, const char *what, Error *err);     /* may this be asked? ERR_POLICY, ERR_VALIDATION */
bool oauth_fetch_get(const OAuthFetch *f, Str url, OAuthAnswer *out, Error *err);
bool oauth_fetch_post(const OAuthFetch *f, Str url, Str type, Str body, const ClientHeader *headers, size_t n, OAuthAnswer *out, Error *err);
bool oauth_json_flag(Value json, const char *key);
bool oauth_json_lists(Value json, const char *key, Str word);       /* is the word in that list of texts? */
bool oauth_json_has(Value json, const char *key);

/* oauth_discover.c: a protected server and the authorization server that speaks for it. */
typedef struct OAuthSite {
    Str resource;                        /* as its metadata spells it */
    Str scopes;                          /* scopes_supported of the resource, joined */
    Str issuer;
    Value metadata;                      /* of the authorization server; GONE: none (2025-03-26 without metadata) */
    Str authorization_endpoint, token_endpoint, registration_endpoint;   /* "": has none; each checked */
    bool wants_dpop;
} OAuthSite;
/* `settings->issuer`, where given, must be one of those the resource names, and is used where it names none. Texts live in the arena. */
bool oauth_discover(const OAuthFetch *f, Str server, const OAuthSettings *settings, const OAuthChallenge *challenge, Arena *arena,
                    OAuthSite *out, Error *err);
bool oauth_discover_issuer(const OAuthFetch *f, Str issuer, Arena *arena, Value *metadata, Error *err);  /* GONE: there is none */

/* oauth_scope.c */
/* What to ask for: settings or challenge or what the resource lists; with `before`, what was asked for earlier; offline_access where the
 * authorization server knows it and a person is asked. "": leave it out. */
bool oauth_scope_pick(const OAuthSettings *settings, const OAuthSite *site, Str challenged, Str before, Arena *arena, Str *out, Error *err);
bool oauth_scope_holds(Str scope, Str wanted);                      /* is every word of `wanted` in `scope`? */

/* oauth_register.c: who we are to the authorization server. */
typedef struct OAuthClient { Str id, secret, auth; uint16_t port; bool given; } OAuthClient;   /* port: of the redirect, 0: any */
/* The client for this site without asking the server, or id "" when one has to be registered. */
bool oauth_client_known(OAuth *a, const OAuthSite *site, Arena *arena, OAuthClient *out, Error *err);
bool oauth_client_register(OAuth *a, const OAuthFetch *f, const OAuthSite *site, Str redirect_uri, Arena *arena, OAuthClient *out, Error *err);

/* oauth_listen.c: the loopback address that the browser is sent back to. */
typedef struct OAuthListener OAuthListener;
OAuthListener *oauth_listen(uint16_t port, Error *err);             /* 0: any free one */
uint16_t oauth_listen_port(const OAuthListener *l);
/* Waits for GET /callback?…state=STATE…; others are answered and forgotten. *query in the arena. */
bool oauth_listen_wait(OAuthListener *l, Str state, Cancel *cancel, Arena *arena, Str *query, Error *err);
void oauth_listen_free(OAuthListener *l);

/* oauth_dpop.c. `key` NULL: no DPoP. An empty token: a proof for a token endpoint. */
bool oauth_dpop_proof(const JwtKey *key, Str method, Str url, Str token, Str nonce, Buf *out, Error *err);
bool oauth_dpop_thumbprint(const JwtKey *key, Buf *out, Error *err);

/* oauth_token.c */
typedef struct OAuthToken {              /* texts are malloc'd; `access` NULL: there is none */
    char *access, *refresh, *issuer, *resource, *scope, *client_id, *client_secret, *auth, *endpoint;   /* scope: what was asked for */
    bool dpop;
    int64_t expires_ns;                  /* wall clock; 0: unknown */
} OAuthToken;
void oauth_token_clear(OAuthToken *t);
/* One grant, as a form without client and resource; the client is added in the way it has to be. Fills `out` (to be cleared by the caller). */
bool oauth_token_request(OAuth *a, const OAuthFetch *f, const OAuthSite *site, const OAuthClient *client, Buf *form, Str scope, OAuthToken *out,
                         Error *err);
bool oauth_token_refresh(OAuth *a, const OAuthFetch *f, const OAuthToken *old, OAuthToken *out, bool *gone, Error *err);  /* gone: it is no good any more */
bool oauth_token_by_credentials(OAuth *a, const OAuthFetch *f, const OAuthSite *site, const OAuthClient *client, Str scope, OAuthToken *out, Error *err);
bool oauth_token_by_assertion(OAuth *a, const OAuthFetch *f, const OAuthSite *site, const OAuthClient *client, Str scope, OAuthToken *out, Error *err);
bool oauth_token_by_enterprise(OAuth *a, const OAuthFetch *f, const OAuthSite *site, const OAuthClient *client, Str scope, OAuthToken *out, Error *err);
/* oauth_authorize.c: registers where needed, sends the person, takes the code. */
bool oauth_authorize(OAuth *a, const OAuthFetch *f, const OAuthSite *site, OAuthClient *client, Str scope, Arena *arena, OAuthToken *out, Error *err);

/* Sends a form, with the client shown in the way it has to be. */
bool oauth_token_post(OAuth *a, const OAuthFetch *f, Str endpoint, Str issuer, const OAuthClient *client, Buf *form, bool dpop, OAuthAnswer *out, Error *err);
/* What the answer to it says, without secrets of the form: "ENDPOINT gave no token (400, …)". Always false. */
bool oauth_token_refused(Str endpoint, const char *did, const OAuthAnswer *answer, Str form, Str client_secret, Error *err);
/* oauth_revoke.c: RFC 7009, the refresh token and then the access token. */
bool oauth_revoke(OAuth *a, const OAuthFetch *f, const OAuthToken *t, Error *err);

/* oauth_shelf.c: what outlives the program. A note that cannot be read is none. */
bool oauth_shelf_load(OAuth *a, OAuthToken *out, JwtKey **dpop, Error *err);
bool oauth_shelf_save(OAuth *a, const OAuthToken *t, Error *err);
bool oauth_shelf_client(OAuth *a, Str issuer, Arena *arena, OAuthClient *out, Error *err);
/* What is there, whether or not the settings are still the same and it can be read: to be forgotten. */
bool oauth_shelf_look(OAuth *a, bool *there, OAuthToken *out, Error *err);
bool oauth_shelf_forget(OAuth *a, const OAuthToken *t, Error *err);        /* and the client of its issuer */
/* c NULL: forget it. */
bool oauth_shelf_save_client(OAuth *a, Str issuer, const OAuthClient *c, Error *err);

/* `busy` is held by the one who works; everything below it is changed by him alone, the token and nonces under the lock too. */
struct OAuth {
    OAuthConfig config;
    OAuthSettings settings;
    OAuthUrl server;
    Arena arena;                         /* of the settings */
    pthread_mutex_t lock;
    pthread_cond_t idle;
    bool busy, loaded, shelved;          /* shelved: the token is on the shelf, or was: another program may have signed out */
    uint64_t generation;                 /* of the token; counts up */
    OAuthToken token;
    JwtKey *key, *dpop;                  /* of the client; of the proofs */
    Buf server_nonce, issuer_nonce;
    OAuthClient registered;              /* by this one, with `registrar`; texts in the arena */
    Str registrar;
    bool asked_again;                    /* for scopes that the token was asked with already */
};
void oauth_secret(const OAuth *a, Str value);
