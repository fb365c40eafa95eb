/* Access tokens of an authorization server: JWTs for our URL, signed with one of its published keys. For
 * mcp/host/auth.c. */
#pragma once
#include "mcp/host/auth.h"

typedef struct ServeJwt ServeJwt;

ServeJwt *serve_jwt_new(const ServeAuthConfig *config);
void serve_jwt_free(ServeJwt *j);        /* NULL is fine */
ServeAuthAnswer serve_jwt_check(ServeJwt *j, Str token, ServeWho *who, Error *err);
