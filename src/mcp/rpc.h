/* JSON-RPC 2.0 messages: told apart, and written. Both sides use it. */
#pragma once
#include "base/feed.h"
#include "value/json.h"

enum { RPC_MESSAGE_MAX = 16 << 20, RPC_DEPTH_MAX = 128 };

typedef enum { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESULT, RPC_ERROR } RpcKind;

typedef struct RpcMessage {              /* values live in the heap it was read into */
    RpcKind kind;
    Value id;                            /* string or integer; GONE: a notification, or an error about a message nobody could read */
    Str method;
    Value params;                        /* a dict; GONE: none */
    Value result;                        /* of RPC_RESULT, a dict */
    int64_t code;                        /* of RPC_ERROR */
    Str message;
    Value data;                          /* of RPC_ERROR; GONE: none */
} RpcMessage;

/* Tells what `v` (one JSON document) is. On failure *code is RPC_INVALID_REQUEST and out->id is set when it can be answered, else GONE. */
bool rpc_message(Value v, RpcMessage *out, int *code, Error *err);
JsonKeys *rpc_keys(void);                /* names of the protocol, for rpc_read_json; json_keys_free() them */
/* Reads a text: json_read within RPC_MESSAGE_MAX and RPC_DEPTH_MAX, equal keys refused (two readers could take different ones). *code: what to
 * answer with, RPC_PARSE or as rpc_message. `keys` may be NULL. */
bool rpc_read_json(Heap *h, Str text, const JsonKeys *keys, Value *out, int *code, Error *err);
bool rpc_read(Heap *h, Str text, RpcMessage *out, int *code, Error *err);        /* and then rpc_message */
bool rpc_is_id(Value v);                 /* a string or an integer */

/* Whole messages, appended to `out` without a line break. Values that have no JSON form cannot come here: what scripts make has been
 * checked. params and result may be GONE: left out, and {}. */
void rpc_write_request(Buf *out, Value id, Str method, Value params);
void rpc_write_notification(Buf *out, Str method, Value params);
void rpc_write_result(Buf *out, Value id, Value result);
void rpc_write_result_text(Buf *out, Value id, Str json);    /* a result that is JSON text already */
void rpc_write_result_start(Buf *out, Value id);             /* up to and with the brace that opens the result; the writer adds members and "}}" */
void rpc_write_error(Buf *out, Value id, int code, Str message, Value data);   /* id GONE: left out, as MCP's schemas want it */

/* Lines of a stream (stdio): fed with bytes, gives whole lines. One that is longer than RPC_MESSAGE_MAX is dropped to its end and told of
 * once as FEED_BAD (ERR_LIMIT), when it becomes too long; the reader goes on behind it. Blank lines are passed over, a CR at the end is cut
 * off. Memory stays within RPC_MESSAGE_MAX and what is fed at once. A last line without its end is none: feed a line break at the end of
 * the stream to get it. */
typedef struct RpcLines {                /* zero-initialise */
    Buf held;                            /* what was fed; before `used` it is done with */
    size_t used, seen;                   /* up to `seen` there is no line break behind `used` */
    bool skipping;                       /* in a line that is too long */
} RpcLines;
Feed rpc_lines(RpcLines *l, Str bytes, Str *line, Error *err);                   /* as sse_feed: ask again with no bytes; *line until the next call with bytes */
void rpc_lines_clear(RpcLines *l);
