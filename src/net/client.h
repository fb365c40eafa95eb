/* HTTP requests on libcurl (loaded on first use), with the rules of net/rule.h: the name is resolved once, every address
 * checked (no loopback, link-local, private, multicast or mapped form unless listed), and that address is connected to; each
 * redirect is checked again, and Authorization and Cookie stay with the host they were meant for.
 *
 * Blocks; the token ends it at once. Safe from any thread; connections are kept and reused per Client. */
#pragma once
#include "base/cancel.h"
#include "net/rule.h"

typedef struct Client Client;

typedef struct ClientHeader { Str name, value; } ClientHeader;

typedef struct ClientRequest {
    Str method;                          /* "GET" … */
    Str url;                             /* http or https only */
    const ClientHeader *headers;
    size_t n_headers;
    Str body;
    bool has_body;
    const Rules *rules;                  /* NULL: any host at all, private ones too: for hosts the project's settings name */
    int max_redirects;                   /* 0: redirects are not followed, the 3xx is the answer */
    size_t max_body;                     /* of the response; 0: 10 MiB; more is ERR_LIMIT */
    int64_t timeout_ms;                  /* for all of it; 0: only the token's deadline */
    /* Streaming: each piece of a 2xx body as it comes; false ends the request with *err. NULL: the body is gathered. */
    bool (*on_data)(void *ctx, Str piece, Error *err);
    void *ctx;
} ClientRequest;

typedef struct ClientResponse {          /* zero-initialise, client_response_clear at the end */
    int status;
    ClientHeader *headers;               /* names in lower case; repeated ones joined by ", " (set-cookie: by newline) */
    size_t n_headers;
    Buf body;
    Buf url;                             /* after redirects */
    bool sent;                           /* the request reached the server at least in part: a repeat may act twice */
    void *memory;
} ClientResponse;

Client *client_new(void);
void client_free(Client *c);
/* ERR_POLICY for a forbidden host, ERR_IO "connect to x:443: connection refused", ERR_TIMEOUT, ERR_CANCELLED, ERR_LIMIT. A status
 * of 400 and more is a response. */
bool client_send(Client *c, const ClientRequest *request, Cancel *cancel, ClientResponse *out, Error *err);
Str client_header(const ClientResponse *r, Str name);       /* "" when absent */
void client_response_clear(ClientResponse *r);
