/* What the files of the server share. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include "base/vec.h"
#include "net/microhttpd.h"
#include "net/server.h"

typedef struct ServerConn ServerConn;

/* What a connection is waited for with, and so when its time is up. */
typedef enum { CONN_IDLE, CONN_READING, CONN_WORKING, CONN_SENDING, CONN_STREAMING } ServerPhase;

/* One connection, from accept to close. The server's lock guards all of it. `closed`: the descriptor is no longer ours; the watching
 * thread frees the struct, because events that it has fetched may still point here. */
struct ServerConn {
    Server *server;
    int fd;
    ServerPhase phase;
    int64_t deadline;                    /* monotonic; INT64_MAX: none */
    bool half, closed;                   /* half: the peer sends no more */
    ServerRequest *now;                  /* borrowed: cleared before it is released */
    ServerConn *next, *prev;
};

/* A request's own lock guards what is below it; above it nothing changes once `handle` or `admit` has seen it (body excepted).
 *
 *   epoll thread:   makes it, suspends the connection while nothing is to be sent, ends it (completed)
 *   any thread:     answers, writes, resumes the connection
 *
 * `connection` is NULL once the library is done with it: nothing of the library is touched then. */
struct ServerRequest {
    Server *server;
    ServerConn *conn;                    /* only for the epoll thread */
    _Atomic int holders;
    Str method, path;
    ServerHeader *headers; size_t n_headers;
    char *text;                          /* of method, path, headers */
    Address peer;
    Buf body; size_t body_seen;
    bool handed, refused_big;            /* to the scheduler; the body is over a bound */

    pthread_mutex_t lock;
    struct MHD_Connection *connection;
    int fd;
    bool suspended, answered, queued;    /* queued: the library has the response */
    bool streaming, ended, cut, gone, told, completed;
    int status;
    struct MHD_Response *response;       /* until it is queued */
    size_t answer_bytes;
    Buf out; size_t out_used;            /* of a stream: not sent yet */
    void (*on_gone)(void *ctx, ServerRequest *q); void *on_gone_ctx;
    ServerRequest *next_gone;            /* the server's list of those to be told of */
};

struct Server {
    const MicrohttpdLibrary *mhd;
    ServerConfig config;
    struct MHD_Daemon *daemon;
    int listener;
    uint16_t port;
    SchedulerGroup *handling;            /* the jobs that run `handle` */

    int epoll, wake;                     /* of the watching thread */
    pthread_t watcher;
    pthread_mutex_t lock;
    pthread_cond_t told;                 /* a gone function has returned */
    pthread_cond_t quiet;                /* `requests` has become 0 */
    ServerConn *conns, *dead;
    ServerRequest *gone, *telling;       /* kept */
    size_t requests;                     /* under way */
    bool stopping;                       /* new requests are refused */
    bool over;                           /* queued ones too */
    bool watching;
    _Atomic size_t body_bytes;
    _Atomic int holders;                 /* its owner, and each request: one may be kept longer than the server runs */
};

void server_drop(Server *s);             /* one hold less */

/* server_request.c */
ServerRequest *server_request_new(Server *s, ServerConn *c, struct MHD_Connection *connection, const char *method, const char *path);
void server_request_body(ServerRequest *q, Str bytes);       /* counted and bounded */
bool server_request_queue(ServerRequest *q);                 /* the response, to the library; on the epoll thread. False: close */
void server_request_completed(ServerRequest *q, bool ok);    /* on the epoll thread: the library is done with it */
void server_request_left(ServerRequest *q);                  /* the peer has closed its side */
const char *server_request_doubt(const ServerRequest *q);       /* what makes it one that others may read differently; NULL: nothing */
void server_request_fail(ServerRequest *q, int status, const char *text);

/* server_watch.c */
bool server_watch_start(Server *s, Error *err);
void server_watch_stop(Server *s);
void server_watch_conn(ServerConn *c);                       /* a new connection */
void server_watch_forget(ServerConn *c);                     /* it ends, its descriptor is still open */
void server_watch_gone(ServerRequest *q);                    /* q->on_gone is to be called; takes a hold */
void server_watch_phase(ServerConn *c, ServerPhase phase, int64_t timeout_ms, ServerRequest *q);   /* timeout 0: none */
