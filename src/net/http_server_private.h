/* Private to the files of the server. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include "base/vec.h"
#include "net/microhttpd.h"
#include "net/http_server.h"

typedef struct HttpServerConn HttpServerConn;

/* What a connection is doing, which determines its timeout. */
typedef enum { CONN_IDLE, CONN_READING, CONN_WORKING, CONN_SENDING, CONN_STREAMING } HttpServerPhase;

/* One connection, from accept to close. Guarded by the server's lock. `closed`: the descriptor is no longer ours; the
 * watching thread frees the struct, because events it has fetched may still point here. */
struct HttpServerConn {
    HttpServer *server;
    int fd;
    HttpServerPhase phase;
    int64_t deadline;                    /* monotonic; INT64_MAX: none */
    bool half, closed;                   /* half: the peer has shut down its sending side */
    HttpServerRequest *now;                  /* borrowed: cleared before the request is released */
    HttpServerConn *next, *prev;
};

/* The request's lock guards the members below it. Those above do not change once `handle` or `admit` has seen the request
 * (except body).
 *
 *   epoll thread:   creates it, suspends the connection while there is nothing to send, completes it
 *   any thread:     responds, writes, resumes the connection
 *
 * `connection` is NULL once the library has finished with it; do not call the library for it then. */
struct HttpServerRequest {
    HttpServer *server;
    HttpServerConn *conn;                    /* only used by the epoll thread */
    _Atomic int holders;
    Str method, path;
    HttpServerHeader *headers; size_t n_headers, n_query;      /* the query follows the headers */
    char *text;                          /* holds method, path, headers, query */
    Address peer;
    Buf body; size_t body_seen;
    bool handed, refused_big;            /* given to the scheduler; the body exceeds a limit */

    pthread_mutex_t lock;
    struct MHD_Connection *connection;
    int fd;
    bool suspended, answered, queued;    /* queued: the library has the response */
    bool streaming, ended, cut, gone, told, completed;
    int status;
    struct MHD_Response *response;       /* until it is queued */
    size_t answer_bytes;
    Buf out; size_t out_used;            /* stream: not sent yet */
    void (*on_gone)(void *ctx, HttpServerRequest *q); void *on_gone_ctx;
    HttpServerRequest *next_gone;            /* in the server's list of pending on_gone calls */
};

struct HttpServer {
    const MicrohttpdLibrary *mhd;
    HttpServerConfig config;
    struct MHD_Daemon *daemon;
    int listener;
    uint16_t port;
    SchedulerGroup *handling;            /* group of the jobs that run `handle` */

    int epoll, wake;                     /* used by the watching thread */
    pthread_t watcher;
    pthread_mutex_t lock;
    pthread_cond_t told;                 /* an on_gone callback has returned */
    pthread_cond_t quiet;                /* `requests` has become 0 */
    HttpServerConn *conns, *dead;
    HttpServerRequest *gone, *telling;       /* references */
    size_t requests;                     /* in flight */
    bool stopping;                       /* refuse new requests */
    bool over;                           /* refuse queued ones too */
    bool watching;
    _Atomic size_t body_bytes;
    _Atomic int holders;                 /* the owner and each request: a request may outlive the server */
};

void http_server_drop(HttpServer *s);             /* drops a reference */

/* net/http_server_request.c */
HttpServerRequest *http_server_request_new(HttpServer *s, HttpServerConn *c, struct MHD_Connection *connection, const char *method, const char *path);
void http_server_request_body(HttpServerRequest *q, Str bytes);       /* counts and limits */
bool http_server_request_queue(HttpServerRequest *q);                 /* passes the response to the library; on the epoll thread.
                                                              * False: close */
void http_server_request_completed(HttpServerRequest *q, bool ok);    /* on the epoll thread: the library has finished with it */
void http_server_request_left(HttpServerRequest *q);                  /* the peer has shut down its sending side */
const char *http_server_request_doubt(const HttpServerRequest *q);       /* why another server might parse it differently; NULL
                                                                 * if it is unambiguous */
void http_server_request_fail(HttpServerRequest *q, int status, const char *text);

/* net/http_server_watch.c */
bool http_server_watch_start(HttpServer *s, Error *err);
void http_server_watch_stop(HttpServer *s);
void http_server_watch_conn(HttpServerConn *c);                       /* a new connection */
void http_server_watch_forget(HttpServerConn *c);                     /* it ends; its descriptor is still open */
void http_server_watch_gone(HttpServerRequest *q);                    /* schedules q->on_gone; takes a reference */
void http_server_watch_phase(HttpServerConn *c, HttpServerPhase phase, int64_t timeout_ms, HttpServerRequest *q);   /* timeout 0: none */
