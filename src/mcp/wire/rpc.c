#include "mcp/wire/rpc.h"
#include "base/number.h"
#include "mcp/wire/era.h"
#include "value/int.h"
#include "value/list.h"

/* ---- reading ---- */

bool rpc_is_id(Value v) { return value_is_string(v) || value_is_int(v); }

/* Members of a message, looked up in one pass; GONE: absent. */
typedef struct Members { Value jsonrpc, id, method, params, result, error; } Members;

static Members members_of(const Dict *d) {
    Members m = { VALUE_GONE, VALUE_GONE, VALUE_GONE, VALUE_GONE, VALUE_GONE, VALUE_GONE };
    for (uint32_t i = 0; i < d->used; i++) {
        if (!value_is_string(d->entry[i].key)) continue;
        const Str key = value_str(d->entry[i].key);
        Value *to = str_eq(key, STR("jsonrpc")) ? &m.jsonrpc : str_eq(key, STR("id")) ? &m.id : str_eq(key, STR("method")) ? &m.method :
                    str_eq(key, STR("params")) ? &m.params : str_eq(key, STR("result")) ? &m.result : str_eq(key, STR("error")) ? &m.error : NULL;
        if (to) *to = d->entry[i].value;
    }
    return m;
}

static bool is_text(Value v, Str text) { return value_is_string(v) && str_eq(value_str(v), text); }

/* null params count as absent: some serializers cannot omit a member. */
static bool read_call(Value method, Value params, RpcMessage *out, Error *err) {
    if (!value_is_string(method)) return error_set(err, ERR_PROTOCOL, "method must be a string");
    if (value_is_none(params)) params = VALUE_GONE;
    if (!value_is_gone(params) && !value_is_dict(params)) return error_set(err, ERR_PROTOCOL, "params must be an object");
    out->kind = value_is_gone(out->id) ? RPC_NOTIFICATION : RPC_REQUEST;
    out->method = value_str(method);
    out->params = params;
    return true;
}

static bool read_error(Value error, Value result, RpcMessage *out, Error *err) {
    if (!value_is_dict(error)) return error_set(err, ERR_PROTOCOL, "error must be an object");
    Value code = value_member(error, "code"), message = value_member(error, "message");
    if (!value_is_gone(result)) return error_set(err, ERR_PROTOCOL, "a response has a result or an error, not both");
    if (!value_is_int(code) || !int_to_i64(code, &out->code)) return error_set(err, ERR_PROTOCOL, "error.code must be an integer");
    if (!value_is_string(message)) return error_set(err, ERR_PROTOCOL, "error.message must be a string");
    out->kind = RPC_ERROR;
    out->message = value_str(message);
    out->data = value_member(error, "data");
    return true;
}

static bool read_result(Value result, RpcMessage *out, Error *err) {
    if (value_is_gone(result)) return error_set(err, ERR_PROTOCOL, "a message needs method, result or error");
    if (!value_is_dict(result)) return error_set(err, ERR_PROTOCOL, "result must be an object");
    if (value_is_gone(out->id)) return error_set(err, ERR_PROTOCOL, "a response needs an id");
    out->kind = RPC_RESULT;
    out->result = result;
    return true;
}

static bool read_id(Value id, bool error, RpcMessage *out, Error *err) {
    if (value_is_gone(id) || (error && value_is_none(id))) return true;
    if (!rpc_is_id(id)) return error_set(err, ERR_PROTOCOL, "id must be a string or an integer");
    out->id = id;
    return true;
}

bool rpc_message(Value v, RpcMessage *out, int *code, Error *err) {
    *out = (RpcMessage){ 0 };
    *code = RPC_INVALID_REQUEST;
    if (!value_is_dict(v)) return error_set(err, ERR_PROTOCOL, "a message must be an object");
    const Members m = members_of(value_dict(v));
    bool call = !value_is_gone(m.method), failed = !value_is_gone(m.error);
    if (!read_id(m.id, !call && failed, out, err)) return false;
    if (!is_text(m.jsonrpc, STR("2.0"))) return error_set(err, ERR_PROTOCOL, "jsonrpc must be \"2.0\"");
    if (call) return read_call(m.method, m.params, out, err);
    return failed ? read_error(m.error, m.result, out, err) : read_result(m.result, out, err);
}

JsonKeys *rpc_keys(void) {
    return json_keys_new((const char *const[]){ "arguments", "params", "jsonrpc", "id", "method", "result", "error", "name", "_meta", "progressToken", NULL });
}

bool rpc_read_json(Heap *h, Str text, const JsonKeys *keys, Value *out, int *code, Error *err) {
    *code = RPC_PARSE;
    return json_read(h, text, &(JsonRead){ .max_bytes = RPC_MESSAGE_MAX, .max_depth = RPC_DEPTH_MAX, .reject_duplicates = true, .keys = keys }, out, err);
}

bool rpc_read(Heap *h, Str text, RpcMessage *out, int *code, Error *err) {
    Value v;
    *out = (RpcMessage){ 0 };
    return rpc_read_json(h, text, NULL, &v, code, err) && rpc_message(v, out, code, err);
}

/* ---- writing ---- */

static void add_value(Buf *out, Value v) {
    if (!json_write(out, v, &(JsonWrite){ 0 }, NULL)) buf_add(out, STR("null"));
}

static void start(Buf *out, Value id) {
    buf_add(out, STR("{\"jsonrpc\":\"2.0\""));
    if (value_is_gone(id)) return;
    buf_add(out, STR(",\"id\":"));
    if (value_is_small(id)) number_add_i64(out, value_small(id));
    else add_value(out, id);
}

static void add_call(Buf *out, Str method, Value params) {
    buf_add(out, STR(",\"method\":"));
    json_write_string(out, method, false);
    if (!value_is_gone(params)) {
        buf_add(out, STR(",\"params\":"));
        add_value(out, params);
    }
    buf_add_char(out, '}');
}

void rpc_write_request(Buf *out, Value id, Str method, Value params) {
    start(out, id);
    add_call(out, method, params);
}

void rpc_write_notification(Buf *out, Str method, Value params) { rpc_write_request(out, VALUE_GONE, method, params); }

void rpc_write_result(Buf *out, Value id, Value result) {
    start(out, id);
    buf_add(out, STR(",\"result\":"));
    if (value_is_gone(result)) buf_add(out, STR("{}"));
    else add_value(out, result);
    buf_add_char(out, '}');
}

void rpc_write_result_start(Buf *out, Value id) {
    start(out, id);
    buf_add(out, STR(",\"result\":{"));
}

void rpc_write_error(Buf *out, Value id, int code, Str message, Value data) {
    start(out, id);
    buf_add_fmt(out, ",\"error\":{\"code\":%d,\"message\":", code);
    json_write_string(out, message, false);
    if (!value_is_gone(data)) {
        buf_add(out, STR(",\"data\":"));
        add_value(out, data);
    }
    buf_add(out, STR("}}"));
}

/* ---- lines ---- */

enum { HELD_MAX = 1 << 20 };             /* limit of the buffer kept for the next line */

/* Drops consumed lines only when new bytes arrive, so that the last line stays valid until then. */
static void take_bytes(RpcLines *l, Str bytes) {
    if (l->used == l->held.n && l->held.cap > HELD_MAX) buf_clear(&l->held);     /* shrink the buffer after an oversized
                                                                                  * line */
    if (l->held.n == 0) l->used = l->seen = 0;
    if (l->used) {
        memmove(l->held.at, l->held.at + l->used, l->held.n - l->used);
        l->held.n -= l->used;
        l->seen -= l->used;
        l->used = 0;
    }
    buf_add(&l->held, bytes);
}

static void drop(RpcLines *l, size_t to) { l->used = l->seen = to; }

/* The current line is incomplete. */
static Feed wait_for_more(RpcLines *l, Error *err) {
    bool too_long = !l->skipping && l->held.n - l->used > RPC_MESSAGE_MAX;
    l->seen = l->held.n;
    if (too_long) l->skipping = true;
    if (l->skipping) drop(l, l->held.n);
    if (!too_long) return FEED_MORE;
    error_set(err, ERR_LIMIT, "a message is longer than %d bytes", RPC_MESSAGE_MAX);
    return FEED_BAD;
}

Feed rpc_lines(RpcLines *l, Str bytes, Str *line, Error *err) {
    if (bytes.n) take_bytes(l, bytes);
    for (;;) {
        const char *end = l->seen < l->held.n ? memchr(l->held.at + l->seen, '\n', l->held.n - l->seen) : NULL;
        if (!end) return wait_for_more(l, err);
        Str found = str_sub(buf_str(&l->held), l->used, (size_t)(end - l->held.at));
        bool skipped = l->skipping;
        l->skipping = false;
        drop(l, (size_t)(end - l->held.at) + 1);
        if (skipped) continue;
        if (found.n > RPC_MESSAGE_MAX) {
            error_set(err, ERR_LIMIT, "a message is longer than %d bytes", RPC_MESSAGE_MAX);
            return FEED_BAD;
        }
        if (found.n && found.at[found.n - 1] == '\r') found.n--;
        *line = found;
        if (str_trim(found).n) return FEED_READY;
    }
}

void rpc_lines_clear(RpcLines *l) {
    buf_clear(&l->held);
    *l = (RpcLines){ 0 };
}
