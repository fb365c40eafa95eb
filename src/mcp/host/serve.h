/* Private to the server's files: one request in flight, and the table of methods. The state of peers and server is in
 * mcp/host/host_private.h. */
#pragma once
#include "mcp/host/host.h"

enum { ERA_HANDSHAKE = 1, ERA_STATELESS = 2, ERA_BOTH = 3 };
typedef enum { SERVE_QUICK, SERVE_WORK } ServeHow;

typedef struct McpRequest {
    McpHost *server;
    McpPeer *peer;
    McpVersion version;                  /* version of the response */
    Run *run;                            /* run of the peer; its runtime is run_runtime(run). NULL for a quick method */
    Value id;
    Str method;
    Heap *heap;                          /* holds params and result */
    Value params;                        /* a dict, may be empty */
    Buf arguments;                       /* of tools/call: params.arguments as JSON */
    Value meta;                          /* params._meta, a dict; GONE: none */
    Value client;                        /* capabilities of the client, from the handshake or _meta; a dict */
    Value progress;                      /* progressToken: string or integer; GONE: none */
    int level;                           /* minimum level of log messages for this request: McpLevel; MCP_LEVEL_OFF:
                                          * none */
    Cancel *cancel;                      /* fires when the client cancels, the peer closes, or the run is stopped */
    McpLink *link;                       /* NULL: none, or parked */

    /* Set by the method: `result`, or `text` instead. The caller adds resultType, ttlMs and the like. */
    Value result;                        /* a dict */
    Buf text;                            /* its members as JSON, without the braces: "tools":[…] */
    const char *result_type;             /* resultType; NULL: complete */
    int64_t ttl_ms;                      /* for cacheable results; -1: not cacheable */
    int code;                            /* error code; 0 with a false return: from err->kind */
    Value data;                          /* error data; GONE: none */
    bool answered;                       /* the method has responded or will respond itself: subscriptions/listen */
} McpRequest;

typedef bool McpMethod(McpRequest *q, Error *err);

#define METHOD(name, function, eras, how) McpMethod function;
#include "mcp/host/methods.def"
#undef METHOD

typedef struct ServeMethod { Str name; McpMethod *run; int eras; ServeHow how; } ServeMethod;
const ServeMethod *serve_method_named(Str name);                 /* NULL: unknown in every version */
bool serve_method_in(const ServeMethod *m, McpVersion version);  /* true if it exists in this version; false for NULL */
const ServeMethod *serve_method(Str name, McpVersion version);   /* NULL: unknown in that version */

/* RFC 5424 levels, by the protocol's names. */
typedef enum { MCP_LEVEL_DEBUG, MCP_LEVEL_INFO, MCP_LEVEL_NOTICE, MCP_LEVEL_WARNING, MCP_LEVEL_ERROR, MCP_LEVEL_CRITICAL, MCP_LEVEL_ALERT,
               MCP_LEVEL_EMERGENCY, MCP_LEVEL_OFF } McpLevel;

/* Sends a notification about this request on its link (progress, log messages), unless it is cancelled, answered or
 * parked. */
void serve_notify(McpRequest *q, Str method, Value params);
/* notifications/message, if the client wants that level. */
void serve_log(McpRequest *q, LogLevel level, Str logger, Str message);

/* Called before a method and after it. */
bool serve_prepare(McpRequest *q, McpVersion given, Error *err);         /* version, meta, capabilities, progress, level */
void serve_write_answer(McpRequest *q, bool ok, const Error *err, Buf *out);     /* err of a failure */

/* A member of params: NULL when absent or null. serve_text: false with RPC_INVALID_PARAMS when missing or not a
 * string. */
Value *serve_param_of(const McpRequest *q, Str name);
static inline Value *serve_param(const McpRequest *q, const char *name) { return serve_param_of(q, str_from(name)); }
bool serve_text(McpRequest *q, const char *name, Str *out, Error *err);
/* Fails with MCP_MISSING_CAPABILITY and data.requiredCapabilities; for handshake versions with RPC_INVALID_REQUEST. */
bool serve_missing_capability(McpRequest *q, const char *name, Error *err);

/* One page of a list of n: from the cursor in params, at most SERVE_PAGE entries; *next is the next cursor or GONE. An
 * unknown cursor is an error. */
enum { SERVE_PAGE = 1000, SERVE_TTL_MS = 60000 };
bool serve_page(McpRequest *q, size_t n, size_t *from, size_t *to, Value *next, Error *err);

/* ---- questions to the client (mcp/host/input_ask.c) ---- ¶ A script, a confirmation or a prompt with a missing
 * argument asks; the client answers by elicitation/create, sampling/createMessage or roots/list. Handshake versions:
 * sends a request to the client on q->link, and the thread waits. Stateless versions: responds with input_required
 * and the thread waits, parked, until the client resends the request with the same requestState (unguessable, valid
 * once, for this peer and these params only); nothing is executed twice. Parked calls have a deadline (MCP_PARK_MS)
 * and their number a limit (MCP_PARKED_MAX). */
typedef enum { INPUT_ELICIT, INPUT_SAMPLE, INPUT_ROOTS } InputKind;
typedef struct InputAsk {
    InputKind kind;
    Str key;                             /* empty: one is generated */
    Value params;
    Value answer;                        /* the client's result, valid; GONE: refused (an error, a closed stream) */
    bool fresh;                          /* ignore answers given before the question */
} InputAsk;
bool serve_input_offered(McpRequest *q, InputKind kind);     /* true if the client has this capability */
bool serve_input(McpRequest *q, InputAsk *asks, size_t n, Cancel *cancel, Error *err);
Person serve_person(McpRequest *q);      /* confirm and ask by elicitation, progress by notification, log by serve_log */
enum { MCP_PARK_MS = 600000 };
/* Handles a request with requestState, before its method would start: passes it to the parked one (serve_unpark), which
 * responds to it. False: unknown, already used or expired. Runs on the thread that read it and must not block. */
bool serve_input_resume(McpRequest *q, Error *err);
/* Handles a client's response to a server request; ignores unknown ones. The message is valid during the call only. */
void serve_input_response(McpPeer *p, const RpcMessage *m);

/* ---- state of a peer besides its requests (mcp/host/input_ask.c, mcp/host/subscribe.c, mcp/host/tasks.c) ---- */

void serve_input_end(McpPeer *p);        /* no more answers will come: wakes all waiters */
void serve_input_close(McpPeer *p);      /* the peer ends: none of its requests is in flight */
/* Requests that respond with a stream (q->answered) are no longer known to peer.c. These end them: by id, by link, or
 * with the peer. */
void serve_subscribe_cancel(McpPeer *p, Value id);
void serve_subscribe_gone(McpPeer *p, McpLink *link);
void serve_subscribe_close(McpPeer *p);
/* Notifies every peer (list_changed; resources/updated for `uri`) on its general link or subscriptions, if its version
 * and subscriptions allow. */
void serve_broadcast(McpHost *s, Str method, Str uri);

/* peer.c, for mcp/host/input_ask.c. Parking sends `result` (a dict: inputRequests, requestState; sets result_type to
 * input_required) as the response; then the request has no id and no link. Unparking makes it respond to `as`: it takes
 * over id, link, progress, level and cancellation. The thread that read `as` unparks; then the waiting thread
 * continues. Call serve_wait and serve_go_on around every wait for the client, so that other requests are served.
 * False: too many are waiting. */
void serve_park(McpRequest *q, Value result);
void serve_unpark(McpRequest *q, McpRequest *as);
bool serve_wait(McpRequest *q, Error *err);
void serve_go_on(McpRequest *q);
