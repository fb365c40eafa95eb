/* Private to the client's files: the state of one connection, and the transports.
 *
 *     client.c           a request: its message, its response, input_required
 *     client_task.c      a request that becomes a task
 *     client_take.c      messages from the server: responses matched by id, requests, notifications
 *     client_list.c      paged lists and their cache
 *     client_headers.c   parameters that are also sent as headers (x-mcp-header)
 *     client_stdio.c     a program's stdin and stdout
 *     client_http.c      streamable HTTP
 *     client_listen.c    change notifications of a stateless server
 *     negotiate.c        version negotiation */
#pragma once
#include <pthread.h>
#include "base/scheduler.h"
#include "mcp/remote/client.h"

/* A request that waits for its response. On its sender's stack; in the client's list while it waits. */
typedef struct Pending {
    uint64_t id;
    Str method;
    void *caller;
    Cancel *cancel;                      /* its own token; also cancels work done for it */
    int wake;                            /* eventfd */
    Buf answer;                          /* the whole message, once received */
    bool answered;
    bool session_lost;                   /* HTTP: the session has expired */
    int http_status;                     /* HTTP: status of the last response; 0: none */
    int questions;                       /* server requests being answered for it */
    struct Pending *next;
} Pending;

/* A message to send. */
typedef struct ClientMessage {
    Str text, method;
    Str name;                            /* params.name, uri or taskId, for the header Mcp-Name; may be empty */
    Value arguments;                     /* of tools/call, else GONE */
    Pending *pending;                    /* for a request; NULL: no response expected */
} ClientMessage;

typedef struct ClientTransport {
    /* Sends a message; for a request over HTTP, also reads the response. *sent: the server may have seen it. */
    bool (*send)(McpClient *c, const ClientMessage *m, Cancel *cancel, bool *sent, Error *err);
    void (*ready)(McpClient *c, Cancel *cancel);             /* called when the version is known, and again after a new
                                                              * session */
    void (*close)(McpClient *c);
    bool (*exposed)(McpClient *c);                           /* see mcp_client_exposed(); NULL: never */
    void (*explain)(McpClient *c, Error *err);               /* adds what is known about a failure to open; NULL: nothing */
} ClientTransport;

typedef struct ClientKept { Str method; Buf json; int64_t until_ns; } ClientKept;      /* a cached list */

struct McpClient {
    McpClientConfig config;
    _Atomic McpVersion version;          /* MCP_NONE: not negotiated yet; set while the reader thread is running */
    const ClientTransport *transport;
    void *wire;                          /* state of the transport */
    Heap *heap;                          /* holds `offers`, frozen */
    Value offers;
    Cancel *stop;                        /* fires on close */
    Scheduler *scheduler;                /* runs handlers of server requests; created on first use */
    pthread_t listener;                  /* client_listen.c */
    bool listening;

    pthread_mutex_t lock;                /* guards what follows */
    pthread_cond_t changed;              /* a server request was answered; `heard` */
    bool heard;                          /* the listening stream (client_listen.c, client_http.c) is open, or failed */
    uint64_t next_id;
    Pending *pending;
    int questions;
    int warned;                          /* number of warnings about malformed messages */
    bool dead;
    Error why;                           /* why it died */
    ClientKept kept[4];
    struct HeaderRule *headers;          /* client_headers.c */
};

/* client.c */
/* One request and its response, uninterpreted: RPC_RESULT or RPC_ERROR, in `heap`. */
bool client_exchange(McpClient *c, Str method, Value params, void *caller, Cancel *cancel, Heap *heap, RpcMessage *out, bool *sent, int *http_status,
                     Error *err);
bool client_notify(McpClient *c, Str method, Value params, Cancel *cancel, Error *err);
bool client_capabilities(const McpClient *c, Heap *heap, Value *out, Error *err);
bool client_info(const McpClient *c, Heap *heap, Value *out, Error *err);

/* Pages and rounds of input accumulate in one heap: false when that exceeds the limit. */
bool client_gathered(const McpClient *c, const Heap *heap, size_t before, Error *err);
bool client_error(const McpClient *c, Str message, int64_t code, Error *err);    /* the server's error; always false */
/* {key: {method, params}} → {key: result}. A refused question fails the request. */
bool client_answer_all(McpClient *c, void *caller, Value asked, Heap *heap, Cancel *cancel, Value *out, Error *err);

/* client_task.c */
bool client_task_follow(McpClient *c, Value task, void *caller, Cancel *cancel, Heap *heap, Value *out, Error *err);

/* client_take.c. `of`: the request whose response carried the message (HTTP), else NULL. */
void client_take(McpClient *c, Str text, Pending *of);
void client_died(McpClient *c, const Error *why);            /* wakes all waiting requests with the error */
void client_warn(McpClient *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));   /* a limited number of times */
bool client_answer(McpClient *c, Pending *of, Str method, Value params, Heap *heap, Value *out, Cancel *cancel, int *code, Error *err);

/* client_list.c */
void client_list_forget(McpClient *c, Str method);           /* empty: all */

/* client_headers.c */
bool client_headers_note(McpClient *c, List *tools, Error *err);     /* removes tools with invalid annotations */
size_t client_headers_of(McpClient *c, Str tool, Value arguments, Arena *arena, ClientHeader *out, size_t max);
Str client_header_value(Arena *arena, Str text);             /* as a header value: base64 if necessary */
void client_headers_free(McpClient *c);

/* client_listen.c */
void client_listen_start(McpClient *c, Cancel *cancel);  /* for stateless versions */
void client_listen_heard(McpClient *c);
void client_listen_wait(McpClient *c, Cancel *cancel);       /* waits briefly until the stream is open: earlier
                                                              * notifications and requests would be lost */
void client_listen_end(McpClient *c);    /* after `stop` has fired */

/* client_stdio.c, client_http.c, negotiate.c */
bool client_stdio_open(McpClient *c, Error *err);
bool client_http_open(McpClient *c, Error *err);
bool client_negotiate(McpClient *c, Cancel *cancel, Error *err);
