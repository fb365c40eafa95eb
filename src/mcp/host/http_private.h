/* Private to the HTTP transport.
 *
 *     Http ── one per process: the listener, the sessions, access control
 *       HttpSession ── a peer: an Mcp-Session-Id, or (stateless) token and client name
 *         HttpStream ── a link: the response to one POST, or the GET stream of a session
 *
 * Lock order: Http, HttpSession, HttpStream, then those of net/server. None is held during a call of a peer. */
#pragma once
#include <pthread.h>
#include "mcp/host/host_private.h"
#include "mcp/host/auth.h"
#include "net/http_gate.h"

enum {
    HTTP_SESSIONS_MAX = 4096,            /* of both kinds */
    HTTP_STATELESS_MAX = 256,
    HTTP_CLOSING_MAX = 1024,             /* ended and not yet closed: at this number no session is created */
    HTTP_SESSION_MS = 3600000,           /* idle time without a request or open stream */
    HTTP_STREAM_AFTER_MS = 500,          /* a response that takes longer becomes a stream */
    HTTP_COMMENT_MS = 15000,             /* between two keep-alive comments on an idle stream */
    HTTP_RETRY_MS = 500,                 /* reconnection delay sent to clients */
    HTTP_KEEP_MS = 60000,                /* how long a finished stream can be resumed */
    HTTP_KEEP_SESSION = 1 << 20,         /* bytes of events kept per session; and in total */
    HTTP_KEEP_ALL = 64 << 20,
    HTTP_OWNER = 32,
    HTTP_ID = 44,                        /* 32 bytes in base64 and a NUL */
};

typedef struct Http Http;
typedef struct HttpSession HttpSession;
typedef struct HttpStream HttpStream;

typedef struct HttpEvent HttpEvent;
struct HttpEvent { HttpEvent *next; uint64_t seq; size_t n; char text[]; };

/* The peer's link. It is `waiting` until a message other than the response is sent; a response is then plain JSON. Events
 * of a session's streams are kept, so that a client that lost its connection can ask for the missing ones.
 *
 *   waiting ──response──> done          waiting ──message, or timeout──> streaming ──response──> done
 *                                       streaming ──connection lost──> away ──GET, Last-Event-ID──> streaming */
struct HttpStream {
    McpLink link;
    Http *http;
    HttpSession *session;                /* a reference */
    McpVersion version;                  /* for a GET stream guarded by the lock: known when it is opened */
    uint32_t id;                         /* within the session; 0: its GET stream */
    bool general;
    HttpStream *next, *prev;             /* of the session; guarded by its lock */

    pthread_mutex_t lock;                /* guards what follows */
    HttpServerRequest *q;                    /* a reference; NULL: disconnected, or done */
    bool streaming, done, listed;
    int64_t since, said;                 /* monotonic: created or ended; last byte written */
    uint64_t seq;
    HttpEvent *first, **last;
    size_t kept;
};

struct HttpSession {
    Http *http;
    _Atomic int holders;
    char id[HTTP_ID];                    /* "" for a stateless one */
    uint8_t owner[HTTP_OWNER];           /* the token's owner: hidden from others */
    Buf name;                            /* of a stateless client */
    HttpSession *next;                   /* in its bucket, or in the list of sessions to close; guarded by Http's
                                          * lock */

    pthread_mutex_t lock;                /* guards what follows */
    pthread_cond_t unused;
    McpPeer *peer;                       /* NULL: closed */
    size_t users;                        /* threads inside a call of the peer */
    bool ended;                          /* accept no more calls */
    _Atomic int64_t used;                /* monotonic */
    uint32_t streams_made;
    HttpStream *streams;                 /* not references: a stream leaves the list when it is freed */
    HttpStream *general;                 /* a reference */
    size_t kept;                         /* bytes of events */
};

enum { HTTP_BUCKETS = 1024 };

struct Http {
    McpHost *server;
    const McpHttpConfig *config;
    HttpServer *net;
    ServeAuth *auth;
    HttpGateRates *rates;                /* only used by the epoll thread */
    Buf resource, metadata_url;          /* our URL, and that of its metadata */
    pthread_mutex_t lock;                /* guards what follows */
    HttpSession *buckets[HTTP_BUCKETS];
    HttpSession *closing;
    size_t n, n_stateless, n_closing;
    bool stopping;
    _Atomic size_t kept;                 /* bytes of events, of all sessions */
};

/* mcp/host/http_reply.c: responses, with their common headers. */
void http_reply(Http *h, HttpServerRequest *q, int status, const HttpServerHeader *more, size_t n, const char *type, Buf *body_take);
void http_reply_empty(Http *h, HttpServerRequest *q, int status);
/* A JSON-RPC error; id GONE: null. */
void http_reply_error(Http *h, HttpServerRequest *q, int status, Value id, int code, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
int http_status_of(McpVersion version, Str message);     /* HTTP status of a response, from its error code */
bool http_start_stream(Http *h, HttpServerRequest *q, Str session);

/* mcp/host/http_gate.c: access control, before the body is read. Refuses by responding. */
void http_admit(void *http, HttpServerRequest *q);
void http_refuse(Http *h, HttpServerRequest *q, ServeAuthAnswer why, const char *text);      /* 401 or 403, with instructions for the client */
bool http_origin_allowed(const Http *h, Str origin);

/* mcp/host/http_session.c. Both return a reference; NULL: not found, or too many. */
HttpSession *http_session_find(Http *h, Str id, const uint8_t owner[HTTP_OWNER]);
HttpSession *http_session_new(Http *h, const uint8_t owner[HTTP_OWNER], Error *err);
HttpSession *http_session_stateless(Http *h, const uint8_t owner[HTTP_OWNER], Str name, Error *err);
void http_session_release(HttpSession *s);
McpPeer *http_session_use(HttpSession *s);               /* NULL: it has ended; else call http_session_done */
void http_session_done(HttpSession *s);
void http_session_end(HttpSession *s);                   /* removes it from the table; http_sessions_tidy closes the
                                                          * peer */
void http_sessions_tidy(Http *h, int64_t grace_ms);      /* closes ended and expired sessions; may block as long as
                                                          * their peers need */
void http_sessions_end_all(Http *h);
void http_sessions_tick(Http *h);                        /* http_stream_tick for all streams */

/* mcp/host/http_stream.c */
HttpStream *http_stream_new(HttpSession *s, McpVersion version, HttpServerRequest *q, bool general);  /* one reference; q NULL: no reader yet */
void http_stream_begin(HttpStream *t);                   /* starts streaming now */
/* Attaches a GET: resends the events after `after`. False: it cannot be resumed. */
bool http_stream_resume(HttpStream *t, McpVersion version, HttpServerRequest *q, uint64_t after, bool replay);
bool http_stream_answered(HttpStream *t);
bool http_stream_open(HttpStream *t);                    /* true if it has a reader */
void http_stream_tick(HttpStream *t, int64_t now);       /* starts streaming, sends keep-alives, closes, forgets */
void http_stream_close(HttpStream *t);                   /* disconnects the reader */

/* mcp/host/http_post.c, mcp/host/http_get.c: may block. */
void http_post(Http *h, HttpServerRequest *q, const ServeWho *who);
void http_get(Http *h, HttpServerRequest *q, const ServeWho *who);
void http_delete(Http *h, HttpServerRequest *q, const ServeWho *who);

/* mcp/host/http_headers.c: checks that the headers of a stateless request match its body. False: *code and err. */
bool http_check_headers(Http *h, const HttpServerRequest *q, const RpcMessage *m, int *code, Error *err);
bool http_accepts(const HttpServerRequest *q, Str type);
