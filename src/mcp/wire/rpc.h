/* JSON-RPC 2.0 messages: parsing and writing, for client and server. */
#pragma once
#include "base/feed.h"
#include "value/json.h"

enum { RPC_MESSAGE_MAX = 16 << 20, RPC_DEPTH_MAX = 128 };

typedef enum { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESULT, RPC_ERROR } RpcKind;

typedef struct RpcMessage {              /* values live in the heap of the parsed document */
    RpcKind kind;
    Value id;                            /* string or integer; GONE: a notification, or an error about an unparsable
                                          * message */
    Str method;
    Value params;                        /* a dict; GONE: none */
    Value result;                        /* of RPC_RESULT, a dict */
    int64_t code;                        /* of RPC_ERROR */
    Str message;
    Value data;                          /* of RPC_ERROR; GONE: none */
} RpcMessage;

/* Classifies `v` (one JSON document). On failure *code is RPC_INVALID_REQUEST and out->id is the id to respond to, or
 * GONE. */
bool rpc_message(Value v, RpcMessage *out, int *code, Error *err);
JsonKeys *rpc_keys(void);                /* member names of the protocol, for rpc_read_json; free with
                                          * json_keys_free() */
/* Parses a text: json_read within RPC_MESSAGE_MAX and RPC_DEPTH_MAX; rejects duplicate keys (two parsers could pick
 * different ones). *code: the error code to respond with, RPC_PARSE or as rpc_message. `keys` may be NULL. */
bool rpc_read_json(Heap *h, Str text, const JsonKeys *keys, Value *out, int *code, Error *err);
bool rpc_read(Heap *h, Str text, RpcMessage *out, int *code, Error *err);        /* followed by rpc_message */
bool rpc_is_id(Value v);                 /* a string or an integer */

/* Append whole messages to `out` without a line break. Values always have a JSON form here: script values were checked.
 * GONE params are omitted; a GONE result is {}. */
void rpc_write_request(Buf *out, Value id, Str method, Value params);
void rpc_write_notification(Buf *out, Str method, Value params);
void rpc_write_result(Buf *out, Value id, Value result);
void rpc_write_result_start(Buf *out, Value id);             /* up to and including the opening brace of the result; the
                                                              * caller adds members and "}}" */
void rpc_write_error(Buf *out, Value id, int code, Str message, Value data);   /* id GONE: omitted, as MCP's schemas
                                                                                * require */

/* Splits a stream (stdio) into lines. A line over RPC_MESSAGE_MAX is reported once as FEED_BAD (ERR_LIMIT) and skipped
 * to its end. Blank lines are skipped and a trailing CR removed. Memory stays within RPC_MESSAGE_MAX plus one feed. An
 * unterminated last line is not returned: feed a line break at end of stream to get it. */
typedef struct RpcLines {                /* zero-initialise */
    Buf held;                            /* fed bytes; those before `used` are consumed */
    size_t used, seen;                   /* no line break between `used` and `seen` */
    bool skipping;                       /* inside an oversized line */
} RpcLines;
Feed rpc_lines(RpcLines *l, Str bytes, Str *line, Error *err);                   /* as sse_feed: call again with no
                                                                                  * bytes; *line is valid until the next
                                                                                  * call with bytes */
void rpc_lines_clear(RpcLines *l);
