/* HTTP requests on libcurl (loaded on first use) under the rules of net/rule.h. The host name is resolved once, every
 * address is checked (no loopback, link-local, private, multicast or mapped address unless listed), and only a checked
 * address is connected to. The same code checks each redirect.
 *
 * Redirects: 301 and 302 turn POST into GET, 303 turns everything but HEAD into GET, 307 and 308 keep method and body.
 * After a change of scheme, host or port the client drops Authorization, Cookie and other headers that look like
 * credentials (…auth…, …token…, …secret…, …api-key…).
 *
 * Ignores the environment's proxies, .netrc and cookie jars. Verifies TLS against the system's certificates, or those
 * in SSL_CERT_FILE and SSL_CERT_DIR. Decompresses bodies; limits count decompressed bytes.
 *
 * Blocks until done; the token cancels at once. Thread-safe. A Client keeps connections open for reuse. */
#pragma once
#include "base/cancel.h"
#include "net/resolver.h"
#include "net/rule.h"

typedef struct Client Client;

typedef struct ClientHeader { Str name, value; } ClientHeader;

enum { CLIENT_BODY_MAX = 10 << 20, CLIENT_HEAD_MAX = 256 << 10 };

typedef struct ClientRequest {
    Str method;                          /* "GET" etc.; not CONNECT or TRACE */
    Str url;                             /* http or https only, without user and password */
    /* Not the headers that the client sets: Host, Content-Length, Transfer-Encoding, Connection and similar. */
    const ClientHeader *headers;
    size_t n_headers;
    Str body;
    bool has_body;
    const Rules *rules;                  /* NULL: any host, also private ones; for hosts from the project's settings */
    int max_redirects;                   /* 0: return the 3xx response instead of following it */
    size_t max_body;                     /* limit of the response body, else ERR_LIMIT; 0: CLIENT_BODY_MAX, which also
                                          * bounds a response other than 2xx when on_data is set */
    int64_t timeout_ms;                  /* total; 0: only the token's deadline */
    bool once;                           /* must not run twice: use a new connection, because libcurl resends when a
                                          * reused one turns out to be dead */
    /* Streaming: called with each piece of a 2xx body; false aborts the request with *err. NULL: collect the body. */
    bool (*on_data)(void *ctx, Str piece, Error *err);
    void (*on_head)(void *ctx, int status);      /* called when the response headers are complete, before the body; may
                                                  * be NULL */
    void *ctx;
} ClientRequest;

typedef struct ClientResponse {          /* zero-initialise, client_response_clear at the end */
    int status;
    ClientHeader *headers;               /* names in lower case; repeated ones joined by ", " (set-cookie: by newline) */
    size_t n_headers;
    Buf body;
    Buf url;                             /* after redirects */
    bool sent;                           /* the request reached a server at least in part, so a retry may run it twice;
                                          * also set on failure */
    void *memory;
} ClientResponse;

Client *client_new(void);
void client_free(Client *c);             /* NULL is fine; no request may be in flight */
/* ERR_POLICY for a forbidden host, ERR_VALIDATION for a bad URL, method or header, ERR_IO "connect to x:443: connection
 * refused", ERR_TIMEOUT, ERR_CANCELLED, ERR_LIMIT. A status of 400 or more is a response, not an error. */
bool client_send(Client *c, const ClientRequest *request, Cancel *cancel, ClientResponse *out, Error *err);
Str client_header(const ClientResponse *r, Str name);       /* case-insensitive; "" when absent */
void client_response_clear(ClientResponse *r);

Resolver *client_resolver(Client *c);    /* for tests: see resolver_set_answer */
