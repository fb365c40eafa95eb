/* For the files of the client: what one connection holds, and how messages travel.
 *
 *     client.c           a request: its message, its answer, input_required
 *     client_task.c      a request that becomes a task
 *     client_take.c      whatever comes from the server: answers matched by id, questions, notifications
 *     client_list.c      pages, and what may be kept of them
 *     client_headers.c   parameters that a URL's server wants as headers too (x-mcp-header)
 *     client_stdio.c     a program's stdin and stdout
 *     client_http.c      streamable HTTP
 *     client_listen.c    changes that a stateless server tells of
 *     negotiate.c        the version                                                                        */
#pragma once
#include <pthread.h>
#include "base/scheduler.h"
#include "mcp/client.h"

/* A request that waits for its answer. On its sender's stack; in the client's list while it waits. */
typedef struct Pending {
    uint64_t id;
    Str method;
    void *caller;
    Cancel *cancel;                      /* its own: ends what is done for it */
    int wake;                            /* eventfd */
    Buf answer;                          /* the whole message, when it has come */
    bool answered;
    bool session_lost;                   /* HTTP: the session is not known any more */
    int http_status;                     /* HTTP: of the last answer; 0: none */
    int questions;                       /* of the server, that are being answered for it */
    struct Pending *next;
} Pending;

/* What is to be sent. */
typedef struct ClientMessage {
    Str text, method;
    Str name;                            /* params.name, uri or taskId, for the header Mcp-Name; empty: none */
    Value arguments;                     /* of tools/call; GONE: none */
    Pending *pending;                    /* of a request; NULL: nothing comes back */
} ClientMessage;

typedef struct ClientTransport {
    /* Sends; of a request that travels by HTTP, also takes the answer. *sent: the server may have seen it. */
    bool (*send)(McpClient *c, const ClientMessage *m, Cancel *cancel, bool *sent, Error *err);
    void (*ready)(McpClient *c, Cancel *cancel);             /* the version is known; also after a session was begun anew */
    void (*close)(McpClient *c);
    bool (*exposed)(McpClient *c);                           /* see mcp_client_exposed(); NULL: never */
    void (*explain)(McpClient *c, Error *err);               /* adds what is known about a failure to open; NULL: nothing */
} ClientTransport;

typedef struct ClientKept { Str method; Buf json; int64_t until_ns; } ClientKept;      /* a list that may be kept */

struct McpClient {
    McpClientConfig config;
    _Atomic McpVersion version;          /* MCP_NONE: not negotiated yet; written while it is negotiated, when the reader reads already */
    const ClientTransport *transport;
    void *wire;                          /* of the transport */
    Heap *heap;                          /* of `offers`, frozen */
    Value offers;
    Cancel *stop;                        /* fires when it is closed */
    Scheduler *scheduler;                /* answers questions; made when first needed */
    pthread_t listener;                  /* client_listen.c */
    bool listening;

    pthread_mutex_t lock;                /* guards what follows */
    pthread_cond_t changed;              /* a question was answered; `heard` */
    bool heard;                          /* the server has answered whoever listens to it (client_listen.c, client_http.c), or cannot */
    uint64_t next_id;
    Pending *pending;
    int questions;
    int warned;                          /* how often about nonsense */
    bool dead;
    Error why;                           /* of its death */
    ClientKept kept[4];
    struct HeaderRule *headers;          /* client_headers.c */
};

/* client.c */
/* One request and one answer, without looking at it: RPC_RESULT or RPC_ERROR, in `heap`. */
bool client_exchange(McpClient *c, Str method, Value params, void *caller, Cancel *cancel, Heap *heap, RpcMessage *out, bool *sent, int *http_status,
                     Error *err);
bool client_notify(McpClient *c, Str method, Value params, Cancel *cancel, Error *err);
bool client_capabilities(const McpClient *c, Heap *heap, Value *out, Error *err);
bool client_info(const McpClient *c, Heap *heap, Value *out, Error *err);

/* Answers that go on (pages, rounds of input) are gathered in one heap: false when they have become too much. */
bool client_gathered(const McpClient *c, const Heap *heap, size_t before, Error *err);
bool client_error(const McpClient *c, Str message, int64_t code, Error *err);    /* what the server said; always false */
/* {key: {method, params}} → {key: result}. A question that is refused ends the request. */
bool client_answer_all(McpClient *c, void *caller, Value asked, Heap *heap, Cancel *cancel, Value *out, Error *err);

/* client_task.c */
bool client_task_follow(McpClient *c, Value task, void *caller, Cancel *cancel, Heap *heap, Value *out, Error *err);

/* client_take.c. `of`: the request on whose answer it came (HTTP), else NULL. */
void client_take(McpClient *c, Str text, Pending *of);
void client_died(McpClient *c, const Error *why);            /* everybody who waits is told */
void client_warn(McpClient *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));   /* a few times, then no more */
bool client_answer(McpClient *c, Pending *of, Str method, Value params, Heap *heap, Value *out, Cancel *cancel, int *code, Error *err);

/* client_list.c */
void client_list_forget(McpClient *c, Str method);           /* empty: all */

/* client_headers.c */
bool client_headers_note(McpClient *c, List *tools, Error *err);     /* takes out tools whose annotations are wrong */
size_t client_headers_of(McpClient *c, Str tool, Value arguments, Arena *arena, ClientHeader *out, size_t max);
Str client_header_value(Arena *arena, Str text);             /* as it may stand in a header: base64 where it must be */
void client_headers_free(McpClient *c);

/* client_listen.c */
void client_listen_start(McpClient *c, Cancel *cancel);  /* when the version is stateless */
void client_listen_heard(McpClient *c);
void client_listen_wait(McpClient *c, Cancel *cancel);       /* until it is heard, for a moment: what the server tells or asks before that would be lost */
void client_listen_end(McpClient *c);    /* after `stop` has fired */

/* client_stdio.c, client_http.c, negotiate.c */
bool client_stdio_open(McpClient *c, Error *err);
bool client_http_open(McpClient *c, Error *err);
bool client_negotiate(McpClient *c, Cancel *cancel, Error *err);
