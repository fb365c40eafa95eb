/* For the files of the server: one request under way, and the table of methods. */
#pragma once
#include "mcp/server.h"

typedef struct McpRequest {
    McpServer *server;
    McpPeer *peer;
    McpVersion version;                  /* in which this one is to be answered */
    Run *run;                            /* of the peer; its runtime is run_runtime(run) */
    Value id;
    Str method;
    Heap *heap;                          /* params and result live here */
    Value params;                        /* a dict, may be empty */
    Value meta;                          /* params._meta, a dict; GONE: none */
    Value client;                        /* capabilities of the client: of the handshake, or of _meta; a dict */
    Value progress;                      /* progressToken: string or integer; GONE: none */
    Cancel *cancel;
    McpLink *link;
    struct McpInput *input;              /* questions to the client: serve_input.c */

    /* Filled by the method. */
    Value result;                        /* a dict; resultType, ttlMs and the like are added by the caller */
    int code;                            /* of an error; 0 with a false answer: from err->kind (validation: RPC_INVALID_PARAMS …) */
    Value data;                          /* of an error; GONE: none */
    bool answered;                       /* the method has sent the answer itself, or will: subscriptions/listen */
} McpRequest;

typedef bool McpMethod(McpRequest *q, Error *err);

/* serve_methods.def: METHOD("tools/list", serve_tools_list, ERA_BOTH, "tools") … one line each. */
#define METHOD(name, function, eras, capability) McpMethod function;
#include "mcp/serve_methods.def"
#undef METHOD

/* A notification about this request, on its link (progress, log messages), in the form of its version. */
void serve_notify(McpRequest *q, Str method, Value params);
/* To every peer (list_changed, resources/updated): on its general link or its subscriptions, where the version and what it asked for allow it. */
void serve_broadcast(McpServer *s, Str method, Value params);
/* What the runtime is now; reloading swaps it, and runs that go on keep the old one. */
Runtime *serve_runtime(McpServer *s);

/* One page of a list of n: from the cursor in params to at most SERVE_PAGE entries; *next is GONE or the cursor to go on with. A cursor is
 * checked: one that was not given out is an error. */
enum { SERVE_PAGE = 1000 };
bool serve_page(McpRequest *q, size_t n, size_t *from, size_t *to, Value *next, Error *err);

/* ---- questions to the client (serve_input.c) ----
 *
 * A script asks, a confirmation asks, a prompt lacks an argument: the client answers by elicitation/create, sampling/createMessage
 * or roots/list. Handshake versions: a request to the client on q->link, and the thread waits. Stateless versions: the request is
 * answered with input_required and the thread waits, parked, until the client sends the request again with the same requestState
 * (unguessable, of this peer and these params only, used once); nothing is ever executed twice. Parked calls have a deadline
 * (MCP_PARK_MS) and a bound (MCP_PARKED_MAX). */
typedef enum { INPUT_ELICIT, INPUT_SAMPLE, INPUT_ROOTS } InputKind;
typedef struct InputAsk { InputKind kind; Str key; Value params; Value answer; } InputAsk;   /* answer: the client's result, filled */
bool serve_input_offered(McpRequest *q, InputKind kind);     /* has the client this capability? */
bool serve_input(McpRequest *q, InputAsk *asks, size_t n, Cancel *cancel, Error *err);
Person serve_person(McpRequest *q);      /* confirm and ask by elicitation, progress by notification */
enum { MCP_PARK_MS = 600000 };
