/* An HTTP/1.1 server on libmicrohttpd (loaded on first use), for a moderate number of requests and many open streams.
 *
 *     libmicrohttpd's epoll thread: reads requests, suspends their connections, sends responses
 *     the caller's scheduler: runs `handle`; jobs are owned by the connection
 *     the watching thread: enforces deadlines and detects peers that leave
 *
 * There is no thread per connection. `handle` gets a complete request with a bounded body and responds once: with
 * http_server_answer, or with http_server_stream, any number of http_server_write and http_server_end. It may respond later and from any
 * thread if it keeps the request.
 *
 * Limits: connections, head (SERVER_HEAD_MAX), body, all bodies together, time to send a request, time between two
 * requests, unread bytes of a slow reader. A request over a limit is refused (413, 431, 503) or its connection is closed. */
#pragma once
#include "base/error.h"
#include "base/log.h"
#include "base/scheduler.h"
#include "base/str.h"
#include "net/address.h"

typedef struct HttpServer HttpServer;
typedef struct HttpServerRequest HttpServerRequest;
typedef struct HttpServerHeader { Str name, value; } HttpServerHeader;

enum {
    SERVER_HEAD_MAX = 16 << 10,          /* approximate: includes the library's bookkeeping */
    SERVER_BODY_MAX = 16 << 20,
    SERVER_BODIES_MAX = 256 << 20,       /* of all requests being read or handled */
    SERVER_BACKLOG_MAX = 1 << 20,        /* a stream with more unread bytes than this is cut at the next write */
    SERVER_CONNECTIONS_MAX = 4096,
};

typedef struct HttpServerConfig {            /* zero members mean defaults */
    const char *address;                 /* a local IP address; NULL: 127.0.0.1 */
    uint16_t port;                       /* 0: any free port, see http_server_port */
    Scheduler *scheduler;                /* runs `handle`; outlives the server. Required */
    size_t connections;                  /* SERVER_CONNECTIONS_MAX; fewer if descriptors are scarce */
    size_t body_max;                     /* SERVER_BODY_MAX */
    size_t backlog_max;                  /* SERVER_BACKLOG_MAX */
    int64_t idle_ms;                     /* from the end of a request, or accept, to the first line of the next: 60 s */
    int64_t request_ms;                  /* from there to the last byte of the body: 60 s */
    void (*bound)(void *ctx, uint16_t port);     /* called before the first request; may be NULL */
    /* Called on the epoll thread when the head is complete, before the body is read. Must be quick. May refuse with
     * http_server_answer. NULL: all pass. */
    void (*admit)(void *ctx, HttpServerRequest *q);
    /* May block. q is borrowed and its body is valid until return; http_server_keep to respond later. Released without a
     * response: 500. */
    void (*handle)(void *ctx, HttpServerRequest *q);
    void (*tick)(void *ctx);             /* called about ten times a second on the watching thread; must be quick. May
                                          * be NULL */
    const HttpServerHeader *headers;     /* of every response, unless it has one of the same name; borrowed */
    size_t n_headers;
    void *ctx;
    const Log *log;
} HttpServerConfig;

/* Listens, then serves on its own threads. ERR_IO names the port in use and what to do. Raises the soft limit of open
 * files if the connections need it. */
bool http_server_start(const HttpServerConfig *config, HttpServer **out, Error *err);
uint16_t http_server_port(const HttpServer *s);
/* Accepts no more connections. Requests in flight have grace_ms to finish (their owner ends streams first), then their
 * connections are closed. Waits for `handle` to return. NULL is fine. */
void http_server_stop(HttpServer *s, int64_t grace_ms);

/* ---- one request; thread-safe ---- */

void http_server_keep(HttpServerRequest *q);
void http_server_release(HttpServerRequest *q);   /* NULL is fine */

Str http_server_method(const HttpServerRequest *q);
Str http_server_path(const HttpServerRequest *q); /* without the query, percent-decoded */
Str http_server_query(const HttpServerRequest *q, Str name);          /* percent-decoded; "" when absent; the first of several */
bool http_server_has_query(const HttpServerRequest *q, Str name);
Str http_server_header(const HttpServerRequest *q, Str name);         /* case-insensitive, trimmed; "" when absent; the first of
                                                              * several */
bool http_server_has_header(const HttpServerRequest *q, Str name);
size_t http_server_count_header(const HttpServerRequest *q, Str name);
Str http_server_body(const HttpServerRequest *q); /* only inside `handle` */
void http_server_drop_body(HttpServerRequest *q); /* inside `handle`: frees the body early */
const Address *http_server_peer(const HttpServerRequest *q);

/* The whole response. Takes ownership of the body in every case. False: the peer has gone, or a response was already
 * sent. Skips headers that cannot be sent (a line break in name or value). */
bool http_server_answer(HttpServerRequest *q, int status, const HttpServerHeader *headers, size_t n, Buf *body_take);
/* A streaming response such as text/event-stream. False as above. */
bool http_server_stream(HttpServerRequest *q, int status, const HttpServerHeader *headers, size_t n);
bool http_server_write(HttpServerRequest *q, Str bytes);              /* false: gone, ended, or just cut for being slow */
void http_server_end(HttpServerRequest *q);       /* after pending bytes; the connection stays open for the next request */
void http_server_cut(HttpServerRequest *q);       /* closes the connection abruptly */

/* Called once, on the watching thread, when the peer leaves before it has the whole response: it closed its connection
 * or its sending side, or was cut. After closing only its sending side it still receives the response. NULL removes the
 * callback: after that returns, it is not running and will not be called; do not call this from the callback itself. */
void http_server_on_gone(HttpServerRequest *q, void (*gone)(void *ctx, HttpServerRequest *q), void *ctx);
