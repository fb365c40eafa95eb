/* Private to the oauth files.
 *
 * Getting a token takes these steps, one file each: parse the challenge (mcp/oauth/challenge.c), discover the site
 * (mcp/oauth/discover.c), choose or register the client (mcp/oauth/register.c), use the grant (mcp/oauth/authorize.c with a user,
 * mcp/oauth/token.c). oauth.c runs them in one thread at a time; only it changes the token. */
#pragma once
#include <pthread.h>
#include "mcp/oauth/oauth.h"
#include "mcp/oauth/jwt.h"
#include "net/target.h"
#include "value/json.h"

enum {
    OAUTH_ANSWER_MAX = 1 << 20,          /* limit of a response of an authorization server */
    OAUTH_TIMEOUT_MS = 30000,            /* of a request to one */
    OAUTH_TOKEN_MAX = 64 << 10,
    OAUTH_SCOPE_MAX = 8 << 10,
    OAUTH_URL_MAX = 8 << 10,
};

/* mcp/oauth/url.c */
typedef struct OAuthUrl { bool https; Target target; Str path, query; } OAuthUrl;     /* path: "" or with its '/'; both borrowed */
/* An absolute http or https URL without user, fragment, white space and control characters, else ERR_VALIDATION. */
bool oauth_url_parse(Str url, OAuthUrl *out, Error *err);
/* The same, and safe for secrets: https, or http to a loopback host. `what` names its role in the error. */
bool oauth_url_trusted(Str url, const char *what, OAuthUrl *out, Error *err);
bool oauth_url_local(const OAuthUrl *u);             /* localhost or a loopback address */
bool oauth_url_same_origin(const OAuthUrl *a, const OAuthUrl *b);
void oauth_url_origin(const OAuthUrl *u, Buf *out);                  /* "https://host:port", appended */
void oauth_form_add(Buf *form, const char *name, Str value);        /* name=value, percent-encoded, joined by '&'; skips
                                                                     * empty values */
void oauth_form_escape(Buf *out, Str value);
/* The value of a name in a query, decoded. 0: absent, 1: present, -1: repeated or badly encoded. */
int oauth_form_get(Str query, const char *name, Arena *arena, Str *out);

/* mcp/oauth/challenge.c: the Bearer or DPoP challenge in WWW-Authenticate. Strings live in the arena; "" when absent. */
typedef struct OAuthChallenge { bool dpop; Str error, scope, resource_metadata; } OAuthChallenge;
void oauth_challenge_read(Str header, Arena *arena, OAuthChallenge *out);

/* mcp/oauth/fetch.c: JSON over HTTP with limits; does not follow redirects. *out is GONE unless the response is a JSON
 * object. */
typedef struct OAuthAnswer { int status; Value json; Str dpop_nonce; } OAuthAnswer;
typedef struct OAuthFetch {
    Client *client;
    const Rules *rules;
    Cancel *cancel;
    Heap *heap;                          /* for one attempt */
    bool local;                          /* the MCP server is local, so it may refer to local servers; a remote one must
                                          * not */
} OAuthFetch;
/* true if this URL may be requested; else ERR_POLICY or ERR_VALIDATION */
bool oauth_fetch_allowed(const OAuthFetch *f, Str url, const char *what, Error *err);
bool oauth_fetch_get(const OAuthFetch *f, Str url, OAuthAnswer *out, Error *err);
bool oauth_fetch_post(const OAuthFetch *f, Str url, Str type, Str body, const ClientHeader *headers, size_t n, OAuthAnswer *out, Error *err);
bool oauth_json_flag(Value json, const char *key);
bool oauth_json_lists(Value json, const char *key, Str word);       /* true if the word is in that list of strings */
bool oauth_json_has(Value json, const char *key);

/* mcp/oauth/discover.c: a protected server and its authorization server. */
typedef struct OAuthSite {
    Str resource;                        /* as written in its metadata */
    Str scopes;                          /* scopes_supported of the resource, joined */
    Str issuer;
    Value metadata;                      /* of the authorization server; GONE: none (2025-03-26 without metadata) */
    Str authorization_endpoint, token_endpoint, registration_endpoint;   /* "" if absent; each checked */
    bool wants_dpop;
} OAuthSite;
/* `settings->issuer`, if set, must be one that the resource names, and is used if it names none. Strings live in the
 * arena. */
bool oauth_discover(const OAuthFetch *f, Str server, const OAuthSettings *settings, const OAuthChallenge *challenge, Arena *arena,
                    OAuthSite *out, Error *err);
bool oauth_discover_issuer(const OAuthFetch *f, Str issuer, Arena *arena, Value *metadata, Error *err);  /* GONE: there is none */

/* mcp/oauth/scope.c */
/* Scopes to request: from the settings, the challenge or the resource's list; with `before`, also those requested
 * earlier; offline_access if the authorization server supports it and a user consents. "": omit the parameter. */
bool oauth_scope_pick(const OAuthSettings *settings, const OAuthSite *site, Str challenged, Str before, Arena *arena, Str *out, Error *err);
bool oauth_scope_holds(Str scope, Str wanted);                      /* true if `scope` contains every word of `wanted` */

/* mcp/oauth/register.c: our identity at the authorization server. */
typedef struct OAuthClient { Str id, secret, auth; uint16_t port; bool given; } OAuthClient;   /* port: of the redirect, 0: any */
/* The client for this site without contacting the server; id is "" when one must be registered. */
bool oauth_client_known(OAuth *a, const OAuthSite *site, Arena *arena, OAuthClient *out, Error *err);
bool oauth_client_register(OAuth *a, const OAuthFetch *f, const OAuthSite *site, Str redirect_uri, Arena *arena, OAuthClient *out, Error *err);

/* mcp/oauth/listen.c: the loopback address for the browser's redirect. */
typedef struct OAuthListener OAuthListener;
OAuthListener *oauth_listen(uint16_t port, Error *err);             /* 0: any free one */
uint16_t oauth_listen_port(const OAuthListener *l);
/* Waits for GET /callback?…state=STATE…; ignores other requests. *query in the arena. */
bool oauth_listen_wait(OAuthListener *l, Str state, Cancel *cancel, Arena *arena, Str *query, Error *err);
void oauth_listen_free(OAuthListener *l);

/* mcp/oauth/dpop.c. `key` NULL: no DPoP. Empty token: a proof for a token endpoint. */
bool oauth_dpop_proof(const JwtKey *key, Str method, Str url, Str token, Str nonce, Buf *out, Error *err);
bool oauth_dpop_thumbprint(const JwtKey *key, Buf *out, Error *err);

/* mcp/oauth/token.c */
typedef struct OAuthToken {              /* strings are malloc'd; `access` NULL: none */
    char *access, *refresh, *issuer, *resource, *scope, *client_id, *client_secret, *auth, *endpoint;   /* scope: as requested */
    bool dpop;
    int64_t expires_ns;                  /* wall clock; 0: unknown */
} OAuthToken;
void oauth_token_clear(OAuthToken *t);
/* Requests a token with one grant, a form without client and resource. Adds the client authentication. Fills `out`
 * (cleared by the caller). */
bool oauth_token_request(OAuth *a, const OAuthFetch *f, const OAuthSite *site, const OAuthClient *client, Buf *form, Str scope, OAuthToken *out,
                         Error *err);
/* *gone: the refresh token is no longer valid */
bool oauth_token_refresh(OAuth *a, const OAuthFetch *f, const OAuthToken *old, OAuthToken *out, bool *gone, Error *err);
bool oauth_token_by_credentials(OAuth *a, const OAuthFetch *f, const OAuthSite *site, const OAuthClient *client, Str scope, OAuthToken *out, Error *err);
bool oauth_token_by_assertion(OAuth *a, const OAuthFetch *f, const OAuthSite *site, const OAuthClient *client, Str scope, OAuthToken *out, Error *err);
bool oauth_token_by_enterprise(OAuth *a, const OAuthFetch *f, const OAuthSite *site, const OAuthClient *client, Str scope, OAuthToken *out, Error *err);
/* mcp/oauth/authorize.c: registers if needed, opens the browser, receives the code. */
bool oauth_authorize(OAuth *a, const OAuthFetch *f, const OAuthSite *site, OAuthClient *client, Str scope, Arena *arena, OAuthToken *out, Error *err);

/* Sends a form with the client authentication. */
bool oauth_token_post(OAuth *a, const OAuthFetch *f, Str endpoint, Str issuer, const OAuthClient *client, Buf *form, bool dpop, OAuthAnswer *out, Error *err);
/* Reports a refusal, without secrets of the form: "ENDPOINT gave no token (400, …)". Always false. */
bool oauth_token_refused(Str endpoint, const char *did, const OAuthAnswer *answer, Str form, Str client_secret, Error *err);
/* mcp/oauth/revoke.c: RFC 7009, the refresh token and then the access token. */
bool oauth_revoke(OAuth *a, const OAuthFetch *f, const OAuthToken *t, Error *err);

/* mcp/oauth/shelf.c: persistent state. An unreadable note counts as absent. */
bool oauth_shelf_load(OAuth *a, OAuthToken *out, JwtKey **dpop, Error *err);
bool oauth_shelf_save(OAuth *a, const OAuthToken *t, Error *err);
bool oauth_shelf_client(OAuth *a, Str issuer, Arena *arena, OAuthClient *out, Error *err);
/* The stored token even if the settings have changed or it is unreadable: to delete it. */
bool oauth_shelf_look(OAuth *a, bool *there, OAuthToken *out, Error *err);
bool oauth_shelf_forget(OAuth *a, const OAuthToken *t, Error *err);        /* and its issuer's client */
/* c NULL: delete it. */
bool oauth_shelf_save_client(OAuth *a, Str issuer, const OAuthClient *c, Error *err);

/* The thread that sets `busy` is the only one to change the members below it; the token and nonces also need the
 * lock. */
struct OAuth {
    OAuthConfig config;
    OAuthSettings settings;
    OAuthUrl server;
    Arena arena;                         /* of the settings */
    pthread_mutex_t lock;
    pthread_cond_t idle;
    bool busy, loaded, shelved;          /* shelved: the token is or was stored: another process may have signed out */
    uint64_t generation;                 /* of the token; incremented by each change */
    OAuthToken token;
    JwtKey *key, *dpop;                  /* of the client; for the proofs */
    Buf server_nonce, issuer_nonce;
    OAuthClient registered;              /* registered by this process at `registrar`; strings in the arena */
    Str registrar;
    bool asked_again;                    /* already retried with scopes that the token was requested with */
};
void oauth_secret(const OAuth *a, Str value);
