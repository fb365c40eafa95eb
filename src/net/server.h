/* An HTTP/1.1 server on libmicrohttpd (loaded on first use), for a moderate number of requests and many open streams.
 *
 *     libmicrohttpd's epoll thread: reads requests, suspends their connections, sends responses
 *     the caller's scheduler: runs `handle`, with the connection as the owner of the job
 *     the watching thread: deadlines, and peers that leave
 *
 * No connection has a thread of its own. A request comes to `handle` whole, its body within a bound, and is answered once: by
 * server_answer, or by server_stream and any number of server_write until server_end. The answer may be given later and from any
 * thread, as long as the request is kept.
 *
 * Bounds: connections, head (SERVER_HEAD_MAX), body, all bodies together, time to send a request, time between two, what a slow reader
 * may leave unread. What is over a bound is refused (413, 431, 503) or its connection closed; the server goes on. */
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
    SERVER_HEAD_MAX = 16 << 10,          /* about: the library's own bookkeeping is counted too */
    SERVER_BODY_MAX = 16 << 20,
    SERVER_BODIES_MAX = 256 << 20,       /* of all requests that are being read or handled */
    SERVER_BACKLOG_MAX = 1 << 20,        /* a stream whose reader has left more than this unread is cut off at the next write */
    SERVER_CONNECTIONS_MAX = 4096,
};

typedef struct ServerConfig {            /* zero: the default */
    const char *address;                 /* of this machine, no name; NULL: 127.0.0.1 */
    uint16_t port;                       /* 0: any, see server_port */
    Scheduler *scheduler;                /* runs `handle`; outlives the server. Required */
    size_t connections;                  /* SERVER_CONNECTIONS_MAX; fewer where descriptors are short */
    size_t body_max;                     /* SERVER_BODY_MAX */
    size_t backlog_max;                  /* SERVER_BACKLOG_MAX */
    int64_t idle_ms;                     /* from the end of one request, or connecting, to the first line of the next: 60 s */
    int64_t request_ms;                  /* from there to the last byte of the body: 60 s */
    void (*bound)(void *ctx, uint16_t port);     /* before the first request; NULL: not told */
    /* Called on the epoll thread, when the head is there and before a body is taken: quick. May refuse with server_answer. NULL: all pass. */
    void (*admit)(void *ctx, ServerRequest *q);
    /* May take long. q is borrowed, the body lives until it returns; server_keep to answer later. Released without an answer: 500. */
    void (*handle)(void *ctx, ServerRequest *q);
    void (*tick)(void *ctx);             /* about ten times a second, on the watching thread; quick. NULL: none */
    void *ctx;
    const Log *log;
} ServerConfig;

/* Listens, then serves on threads of its own. ERR_IO says which port is in use and what to do. Raises the soft limit of open files
 * where that is needed for the connections. */
bool server_start(const ServerConfig *config, Server **out, Error *err);
uint16_t server_port(const Server *s);
/* Takes no more connections; requests under way have grace_ms to be answered (streams are to be ended by their owner before), then
 * their connections are closed. Waits for `handle` to return: what it waits for must end. NULL is fine. */
void server_stop(Server *s, int64_t grace_ms);

/* ---- one request. Any thread ---- */

void server_keep(ServerRequest *q);
void server_release(ServerRequest *q);   /* NULL is fine */

Str server_method(const ServerRequest *q);
Str server_path(const ServerRequest *q); /* without the query, percent-decoded */
Str server_header(const ServerRequest *q, Str name);         /* case-blind, white space cut off; "" when absent; the first of several */
bool server_has_header(const ServerRequest *q, Str name);
size_t server_count_header(const ServerRequest *q, Str name);
Str server_body(const ServerRequest *q); /* only within `handle` */
void server_drop_body(ServerRequest *q); /* within `handle`: it is needed no longer, others may have its memory */
const Address *server_peer(const ServerRequest *q);

/* The whole answer. Takes the body's memory, whatever happens. False: the peer has gone, or it was answered before. A name or value of a
 * header that could not be sent as it is (a line break) is left out. */
bool server_answer(ServerRequest *q, int status, const ServerHeader *headers, size_t n, Buf *body_take);
/* An answer without end: text/event-stream or the like. False as above. */
bool server_stream(ServerRequest *q, int status, const ServerHeader *headers, size_t n);
bool server_write(ServerRequest *q, Str bytes);              /* false: gone, ended, or just cut off for being slow */
void server_end(ServerRequest *q);       /* after what was written; the connection stays for the next request */
void server_cut(ServerRequest *q);       /* closes the connection without a proper end */

/* Told once, on the watching thread, when the peer leaves before it has all of its answer: it has closed its connection, or its side of
 * it, or was cut off. One that has only closed its side still gets what is sent. NULL takes it back: when that returns, the function is not running
 * and will not be called; not to be called from within it. */
void server_on_gone(ServerRequest *q, void (*gone)(void *ctx, ServerRequest *q), void *ctx);
bool server_gone(const ServerRequest *q);
