/* Authenticates a request: a bearer token, ours or an authorization server's. */
#pragma once
#include "base/cancel.h"
#include "base/error.h"
#include "base/str.h"

typedef struct ServeAuth ServeAuth;

typedef struct ServeAuthConfig {         /* strings are borrowed */
    Str token;                           /* empty: none */
    Str issuer;                          /* of an authorization server; empty: none */
    const Buf *resource;                 /* our URL, the required audience; known before the first request */
    Str scope;                           /* scopes that such tokens must include */
    Cancel *stop;
} ServeAuthConfig;

typedef struct ServeWho { uint8_t id[32]; } ServeWho;    /* identifies the token, or the user at an authorization
                                                          * server */

typedef enum { AUTH_OK, AUTH_NONE, AUTH_LATER, AUTH_BAD, AUTH_SCOPE } ServeAuthAnswer;

ServeAuth *serve_auth_new(const ServeAuthConfig *config, Error *err);
void serve_auth_free(ServeAuth *a);      /* NULL is fine */
bool serve_auth_has_server(const ServeAuth *a);
/* `authorization`: the header, may be empty. Does not block; AUTH_LATER: call serve_auth_token, which may fetch the
 * authorization server's keys. */
ServeAuthAnswer serve_auth_quick(ServeAuth *a, Str authorization, ServeWho *who);
/* May fetch keys. AUTH_BAD and AUTH_SCOPE: err says why. */
ServeAuthAnswer serve_auth_token(ServeAuth *a, Str authorization, ServeWho *who, Error *err);
