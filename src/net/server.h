/* An HTTP/1.1 server on libmicrohttpd (loaded on first use), for a moderate number of requests and many open streams.
 *
 *     libmicrohttpd's epoll thread: reads requests, suspends their connections, sends responses
 *     the caller's scheduler: runs `handle`; jobs are owned by the connection
 *     the watching thread: enforces deadlines and detects peers that leave
 *
 * There is no thread per connection. `handle` gets a complete request with a bounded body and responds once: with
 * server_answer, or with server_stream, any number of server_write and server_end. It may respond later and from any
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

typedef struct Server Server;
typedef struct ServerRequest ServerRequest;
typedef struct ServerHeader { Str name, value; } ServerHeader;

enum {
    SERVER_HEAD_MAX = 16 << 10,          /* approximate: includes the library's bookkeeping */
    SERVER_BODY_MAX = 16 << 20,
    SERVER_BODIES_MAX = 256 << 20,       /* of all requests being read or handled */
    SERVER_BACKLOG_MAX = 1 << 20,        /* a stream with more unread bytes than this is cut at the next write */
    SERVER_CONNECTIONS_MAX = 4096,
};

typedef struct ServerConfig {            /* zero members mean defaults */
    const char *address;                 /* a local IP address; NULL: 127.0.0.1 */
    uint16_t port;                       /* 0: any free port, see server_port */
    Scheduler *scheduler;                /* runs `handle`; outlives the server. Required */
    size_t connections;                  /* SERVER_CONNECTIONS_MAX; fewer if descriptors are scarce */
    size_t body_max;                     /* SERVER_BODY_MAX */
    size_t backlog_max;                  /* SERVER_BACKLOG_MAX */
    int64_t idle_ms;                     /* from the end of a request, or accept, to the first line of the next: 60 s */
    int64_t request_ms;                  /* from there to the last byte of the body: 60 s */
    void (*bound)(void *ctx, uint16_t port);     /* called before the first request; may be NULL */
    /* Called on the epoll thread when the head is complete, before the body is read. Must be quick. May refuse with
     * server_answer. NULL: all pass. */
    void (*admit)(void *ctx, ServerRequest *q);
    /* May block. q is borrowed and its body is valid until return; server_keep to respond later. Released without a
     * response: 500. */
    void (*handle)(void *ctx, ServerRequest *q);
    void (*tick)(void *ctx);             /* called about ten times a second on the watching thread; must be quick. May
                                          * be NULL */
    void *ctx;
    const Log *log;
} ServerConfig;

/* Listens, then serves on its own threads. ERR_IO names the port in use and what to do. Raises the soft limit of open
 * files if the connections need it. */
bool server_start(const ServerConfig *config, Server **out, Error *err);
uint16_t server_port(const Server *s);
/* Accepts no more connections. Requests in flight have grace_ms to finish (their owner ends streams first), then their
 * connections are closed. Waits for `handle` to return. NULL is fine. */
void server_stop(Server *s, int64_t grace_ms);

/* ---- one request; thread-safe ---- */

void server_keep(ServerRequest *q);
void server_release(ServerRequest *q);   /* NULL is fine */

Str server_method(const ServerRequest *q);
Str server_path(const ServerRequest *q); /* without the query, percent-decoded */
Str server_header(const ServerRequest *q, Str name);         /* case-insensitive, trimmed; "" when absent; the first of
                                                              * several */
bool server_has_header(const ServerRequest *q, Str name);
size_t server_count_header(const ServerRequest *q, Str name);
Str server_body(const ServerRequest *q); /* only inside `handle` */
void server_drop_body(ServerRequest *q); /* inside `handle`: frees the body early */
const Address *server_peer(const ServerRequest *q);

/* The whole response. Takes ownership of the body in every case. False: the peer has gone, or a response was already
 * sent. Skips headers that cannot be sent (a line break in name or value). */
bool server_answer(ServerRequest *q, int status, const ServerHeader *headers, size_t n, Buf *body_take);
/* A streaming response such as text/event-stream. False as above. */
bool server_stream(ServerRequest *q, int status, const ServerHeader *headers, size_t n);
bool server_write(ServerRequest *q, Str bytes);              /* false: gone, ended, or just cut for being slow */
void server_end(ServerRequest *q);       /* after pending bytes; the connection stays open for the next request */
void server_cut(ServerRequest *q);       /* closes the connection abruptly */

/* Called once, on the watching thread, when the peer leaves before it has the whole response: it closed its connection
 * or its sending side, or was cut. After closing only its sending side it still receives the response. NULL removes the
 * callback: after that returns, it is not running and will not be called; do not call this from the callback itself. */
void server_on_gone(ServerRequest *q, void (*gone)(void *ctx, ServerRequest *q), void *ctx);
