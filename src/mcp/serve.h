/* For the files of the server: one request under way, and the table of methods. What a peer and the server hold is in peer.h. */
#pragma once
#include "mcp/server.h"

enum { ERA_HANDSHAKE = 1, ERA_STATELESS = 2, ERA_BOTH = 3 };
typedef enum { SERVE_QUICK, SERVE_WORK } ServeHow;

typedef struct McpRequest {
    McpServer *server;
    McpPeer *peer;
    McpVersion version;                  /* in which this one is to be answered */
    Run *run;                            /* of the peer; its runtime is run_runtime(run). NULL for a quick method */
    Value id;
    Str method;
    Heap *heap;                          /* params and result live here */
    Value params;                        /* a dict, may be empty */
    Buf arguments;                       /* of tools/call: params.arguments as JSON */
    Value meta;                          /* params._meta, a dict; GONE: none */
    Value client;                        /* capabilities of the client: of the handshake, or of _meta; a dict */
    Value progress;                      /* progressToken: string or integer; GONE: none */
    int level;                           /* least level of log messages about this one: McpLevel; MCP_LEVEL_OFF: none */
    Cancel *cancel;                      /* fires when the client cancels, the peer closes, or the run is stopped */
    McpLink *link;                       /* NULL: none, or parked */

    /* Filled by the method: `result`, or `text` instead. resultType, ttlMs and the like are added by the caller. */
    Value result;                        /* a dict */
    Buf text;                            /* its members as JSON, without the braces: "tools":[…] */
    const char *result_type;             /* resultType; NULL: complete */
    int64_t ttl_ms;                      /* of a cacheable result; -1: it is none */
    int code;                            /* of an error; 0 with a false answer: from err->kind */
    Value data;                          /* of an error; GONE: none */
    bool answered;                       /* the method has sent the answer itself, or will: subscriptions/listen */
} McpRequest;

typedef bool McpMethod(McpRequest *q, Error *err);

#define METHOD(name, function, eras, how) McpMethod function;
#include "mcp/serve_methods.def"
#undef METHOD

typedef struct ServeMethod { Str name; McpMethod *run; int eras; ServeHow how; } ServeMethod;
const ServeMethod *serve_method_named(Str name);                 /* NULL: no such method in any era */
bool serve_method_in(const ServeMethod *m, McpVersion version);  /* is it one of the version's era? NULL is not */
const ServeMethod *serve_method(Str name, McpVersion version);   /* NULL: no such method in that era */

/* RFC 5424, as the protocol names them. */
typedef enum { MCP_LEVEL_DEBUG, MCP_LEVEL_INFO, MCP_LEVEL_NOTICE, MCP_LEVEL_WARNING, MCP_LEVEL_ERROR, MCP_LEVEL_CRITICAL, MCP_LEVEL_ALERT,
               MCP_LEVEL_EMERGENCY, MCP_LEVEL_OFF } McpLevel;

/* A notification about this request, on its link (progress, log messages). None when it was cancelled, answered or is parked. */
void serve_notify(McpRequest *q, Str method, Value params);
/* notifications/message, when the client wants that level. */
void serve_log(McpRequest *q, LogLevel level, Str logger, Str message);

/* What comes before a method and after it. */
bool serve_prepare(McpRequest *q, McpVersion given, Error *err);         /* version, meta, capabilities, progress, level */
void serve_write_answer(McpRequest *q, bool ok, const Error *err, Buf *out);     /* err of a failure */

/* A member of params: NULL when absent or null. serve_text: false with RPC_INVALID_PARAMS when it is there and no string, or missing. */
Value *serve_param_of(const McpRequest *q, Str name);
static inline Value *serve_param(const McpRequest *q, const char *name) { return serve_param_of(q, str_from(name)); }
bool serve_text(McpRequest *q, const char *name, Str *out, Error *err);
/* Fails with MCP_MISSING_CAPABILITY and data.requiredCapabilities; in the handshake era with RPC_INVALID_REQUEST. */
bool serve_missing_capability(McpRequest *q, const char *name, Error *err);

/* One page of a list of n: from the cursor in params to at most SERVE_PAGE entries; *next is GONE or the cursor to go on with. A cursor is
 * checked: one that was not given out is an error. */
enum { SERVE_PAGE = 1000, SERVE_TTL_MS = 60000 };
bool serve_page(McpRequest *q, size_t n, size_t *from, size_t *to, Value *next, Error *err);

/* ---- questions to the client (serve_input.c) ----
 *
 * A script asks, a confirmation asks, a prompt lacks an argument: the client answers by elicitation/create, sampling/createMessage
 * or roots/list. Handshake versions: a request to the client on q->link, and the thread waits. Stateless versions: the request is
 * answered with input_required and the thread waits, parked, until the client sends the request again with the same requestState
 * (unguessable, of this peer and these params only, used once); nothing is ever executed twice. Parked calls have a deadline
 * (MCP_PARK_MS) and a bound (MCP_PARKED_MAX). */
typedef enum { INPUT_ELICIT, INPUT_SAMPLE, INPUT_ROOTS } InputKind;
typedef struct InputAsk {
    InputKind kind;
    Str key;                             /* empty: one is made */
    Value params;
    Value answer;                        /* the client's result, which fits; GONE: it has refused (an error, a closed stream) */
    bool fresh;                          /* only an answer that comes after it was asked counts */
} InputAsk;
bool serve_input_offered(McpRequest *q, InputKind kind);     /* has the client this capability? */
bool serve_input(McpRequest *q, InputAsk *asks, size_t n, Cancel *cancel, Error *err);
Person serve_person(McpRequest *q);      /* confirm and ask by elicitation, progress by notification, log by serve_log */
enum { MCP_PARK_MS = 600000 };
/* A request that carries requestState, before its method would start: hands it to the parked one (serve_unpark), which answers it. False:
 * it is none of ours, was used, or is out of time. On the thread that has read it; must not wait. */
bool serve_input_resume(McpRequest *q, Error *err);
/* A response of the client to a request of ours; one that answers nothing is passed over. The message lives during the call only. */
void serve_input_response(McpPeer *p, const RpcMessage *m);

/* ---- what belongs to a peer beside its requests (serve_input.c, serve_subscribe.c, serve_tasks.c) ---- */

void serve_input_end(McpPeer *p);        /* nobody will answer any more: what waits for it goes on without */
void serve_input_close(McpPeer *p);      /* the peer ends: nothing of it is under way any more */
/* A request that is answered by a stream (q->answered) is over for peer.c: cancelled by its id, its link is gone, its peer ends. */
void serve_subscribe_cancel(McpPeer *p, Value id);
void serve_subscribe_gone(McpPeer *p, McpLink *link);
void serve_subscribe_close(McpPeer *p);
/* To every peer (list_changed; resources/updated, of `uri`): on its general link or its subscriptions, where the version and what it asked for
 * allow it. */
void serve_broadcast(McpServer *s, Str method, Str uri);

/* peer.c, for serve_input.c. Parks: sends `result` (a dict: inputRequests, requestState; result_type is set to input_required) as the answer;
 * the request has no id and no link from then on. Unparks: it answers `as` from now on: id, link, progress, level, cancellation; `as` is
 * answered. Unparking is done by the thread that has read `as`; the one that waited goes on afterwards. Around every wait for the client, parked or
 * not: serve_wait, serve_go_on, so that others are served meanwhile. False: too many wait already. */
void serve_park(McpRequest *q, Value result);
void serve_unpark(McpRequest *q, McpRequest *as);
bool serve_wait(McpRequest *q, Error *err);
void serve_go_on(McpRequest *q);
