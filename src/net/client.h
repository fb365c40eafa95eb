/* HTTP requests on libcurl (loaded on first use), with the rules of net/rule.h: the name is resolved once, every address
 * checked (no loopback, link-local, private, multicast or mapped form unless listed), and such an address is connected to and
 * no other; each redirect is checked again by the same code.
 *
 * Redirects: 301 and 302 turn POST into GET, 303 everything but HEAD, 307 and 308 keep method and body. When scheme, host or
 * port changes, Authorization, Cookie and other headers whose name speaks of a credential (…auth…, …token…, …secret…,
 * …api-key…) are left out from then on.
 *
 * The environment's proxies, .netrc and cookie jars are not used. TLS is verified against the system's certificates, or those
 * that SSL_CERT_FILE and SSL_CERT_DIR name. Compressed bodies are unpacked, limits count unpacked bytes.
 *
 * Blocks; the token ends it at once. Safe from any thread; connections are kept and reused per Client. */
#pragma once
#include "base/cancel.h"
#include "net/resolver.h"
#include "net/rule.h"

typedef struct Client Client;

typedef struct ClientHeader { Str name, value; } ClientHeader;

enum { CLIENT_BODY_MAX = 10 << 20, CLIENT_HEAD_MAX = 256 << 10 };

typedef struct ClientRequest {
    Str method;                          /* "GET" … any but CONNECT and TRACE */
    Str url;                             /* http or https only, without user and password */
    /* Not those that the client sets itself: Host, Content-Length, Transfer-Encoding, Connection and its like. */
    const ClientHeader *headers;
    size_t n_headers;
    Str body;
    bool has_body;
    const Rules *rules;                  /* NULL: any host at all, private ones too: for hosts the project's settings name */
    int max_redirects;                   /* 0: redirects are not followed, the 3xx is the answer */
    size_t max_body;                     /* of the response; 0: CLIENT_BODY_MAX, which is also the most of one that is no 2xx and would have been streamed; more is ERR_LIMIT */
    int64_t timeout_ms;                  /* for all of it; 0: only the token's deadline */
    bool once;                           /* must not act twice: on a new connection, since a kept one may turn out to be dead after sending */
    /* Streaming: each piece of a 2xx body as it comes; false ends the request with *err. NULL: the body is gathered. */
    bool (*on_data)(void *ctx, Str piece, Error *err);
    void (*on_head)(void *ctx, int status);      /* the headers of a response are there, before its body; may be NULL */
    void *ctx;
} ClientRequest;

typedef struct ClientResponse {          /* zero-initialise, client_response_clear at the end */
    int status;
    ClientHeader *headers;               /* names in lower case; repeated ones joined by ", " (set-cookie: by newline) */
    size_t n_headers;
    Buf body;
    Buf url;                             /* after redirects */
    bool sent;                           /* the request reached a server at least in part: a repeat may act twice. Also set on failure */
    void *memory;
} ClientResponse;

Client *client_new(void);
void client_free(Client *c);             /* NULL is fine; no request may be under way */
/* ERR_POLICY for a forbidden host, ERR_VALIDATION for a bad URL, method or header, ERR_IO "connect to x:443: connection refused",
 * ERR_TIMEOUT, ERR_CANCELLED, ERR_LIMIT. A status of 400 and more is a response. */
bool client_send(Client *c, const ClientRequest *request, Cancel *cancel, ClientResponse *out, Error *err);
Str client_header(const ClientResponse *r, Str name);       /* case-blind; "" when absent */
void client_response_clear(ClientResponse *r);

Resolver *client_resolver(Client *c);    /* for tests: see resolver_set_answer */
