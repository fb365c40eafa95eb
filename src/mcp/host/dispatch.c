/* Common to all requests: finds the method and version, and writes the response. */
#include "mcp/host/host_private.h"

static const ServeMethod methods[] = {
#define METHOD(name, function, eras, how) { { name, sizeof name - 1 }, function, eras, how },
#include "mcp/host/methods.def"
#undef METHOD
};

const ServeMethod *serve_method_named(Str name) {
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (str_eq(methods[i].name, name)) return &methods[i];
    return NULL;
}

bool serve_method_in(const ServeMethod *m, McpVersion version) { return m && (m->eras & (mcp_stateless(version) ? ERA_STATELESS : ERA_HANDSHAKE)); }

const ServeMethod *serve_method(Str name, McpVersion version) {
    const ServeMethod *m = serve_method_named(name);
    return serve_method_in(m, version) ? m : NULL;
}

/* ERR_VALIDATION, ERR_PARSE, ERR_CONFIG: RPC_INVALID_PARAMS; ERR_PROTOCOL: RPC_INVALID_REQUEST; else RPC_INTERNAL */
static int code_of(const Error *err) {
    switch (err->kind) {
    case ERR_VALIDATION: case ERR_PARSE: case ERR_CONFIG: return RPC_INVALID_PARAMS;
    case ERR_PROTOCOL: return RPC_INVALID_REQUEST;
    default: return RPC_INTERNAL;
    }
}

/* ---- params ---- */

Value *serve_param_of(const McpRequest *q, Str name) {
    Value *v = dict_find_str(value_dict(q->params), name);
    return v && !value_is_none(*v) ? v : NULL;
}

bool serve_text(McpRequest *q, const char *name, Str *out, Error *err) {
    Value *v = serve_param(q, name);
    if (!v || !value_is_string(*v)) return error_set(err, ERR_VALIDATION, "params.%s %s", name, v ? "must be a string" : "is missing");
    *out = value_str(*v);
    return true;
}

bool serve_missing_capability(McpRequest *q, const char *name, Error *err) {
    Heap *h = q->heap;
    q->code = mcp_stateless(q->version) ? MCP_MISSING_CAPABILITY : RPC_INVALID_REQUEST;
    Dict *data = dict_new(h, 1, err), *required = dict_new(h, 1, err), *none = dict_new(h, 0, err);
    if (data && required && none && dict_put_str(h, required, str_from(name), value_from_object(none), err) &&
        dict_put_str(h, data, STR("requiredCapabilities"), value_from_object(required), err))
        q->data = value_from_object(data);
    return error_set(err, ERR_PROTOCOL, "this needs the client's capability \"%s\", which it has not declared", name);
}

/* ---- pages ---- */

/* A cursor is "p" and the index of the next entry. */
static bool read_cursor(Value v, size_t n, size_t *out) {
    Str text = value_is_string(v) ? value_str(v) : (Str){ 0 };
    size_t at = 0;
    if (text.n < 2 || text.n > 8 || text.at[0] != 'p' || text.at[1] == '0') return false;
    for (size_t i = 1; i < text.n; i++) {
        if (text.at[i] < '0' || text.at[i] > '9') return false;
        at = at * 10 + (size_t)(text.at[i] - '0');
    }
    *out = at;
    return at % SERVE_PAGE == 0 && at < n;
}

bool serve_page(McpRequest *q, size_t n, size_t *from, size_t *to, Value *next, Error *err) {
    Value *cursor = serve_param(q, "cursor");
    size_t at = 0;
    if (cursor && !read_cursor(*cursor, n, &at)) return error_set(err, ERR_VALIDATION, "params.cursor is not valid: list from the start again");
    *from = at;
    *to = n - at > SERVE_PAGE ? at + SERVE_PAGE : n;
    *next = VALUE_GONE;
    if (*to == n) return true;
    String *text = string_fmt(q->heap, err, "p%zu", *to);
    if (text) *next = value_from_object(text);
    return text != NULL;
}

/* ---- responses ---- */

static void add_server(const McpRequest *q, Buf *out) {
    buf_add(out, STR("\"io.modelcontextprotocol/serverInfo\":{\"name\":\"harness\",\"version\":"));
    json_write_string(out, str_from(q->server->config.version), false);
    buf_add_char(out, '}');
}

/* Members that stateless results carry about the server. The method's own _meta is in `result`. */
static void add_about(const McpRequest *q, const Value *meta, Buf *out) {
    buf_add_fmt(out, ",\"resultType\":\"%s\"", q->result_type ? q->result_type : "complete");
    if (q->ttl_ms >= 0 && !q->result_type) buf_add_fmt(out, ",\"ttlMs\":%lld,\"cacheScope\":\"private\"", (long long)q->ttl_ms);
    buf_add(out, STR(",\"_meta\":{"));
    Entry *e;
    for (uint32_t i = 0; meta && value_is_dict(*meta) && dict_next(value_dict(*meta), &i, &e);) {
        json_write_string(out, value_str(e->key), false);
        buf_add_char(out, ':');
        if (!json_write(out, e->value, &(JsonWrite){ 0 }, NULL)) buf_add(out, STR("null"));
        buf_add_char(out, ',');
    }
    add_server(q, out);
    buf_add_char(out, '}');
}

/* Writes the members of q->result as text. Fails on a value without a JSON form. */
static bool write_members(McpRequest *q, bool without_meta, Buf *out, Error *err) {
    Entry *e;
    bool first = true;
    for (uint32_t i = 0; value_is_dict(q->result) && dict_next(value_dict(q->result), &i, &e);) {
        if (!value_is_string(e->key) || (without_meta && str_eq(value_str(e->key), STR("_meta")))) continue;
        if (!first) buf_add_char(out, ',');
        first = false;
        json_write_string(out, value_str(e->key), false);
        buf_add_char(out, ':');
        if (!json_write(out, e->value, &(JsonWrite){ .max_bytes = RPC_MESSAGE_MAX }, err)) return false;
    }
    return true;
}

static bool write_result(McpRequest *q, Buf *out, Error *err) {
    bool stateless = mcp_stateless(q->version);
    Value *meta = stateless && value_is_dict(q->result) ? dict_find_str(value_dict(q->result), STR("_meta")) : NULL;
    rpc_write_result_start(out, q->id);
    size_t start = out->n;
    buf_add(out, buf_str(&q->text));
    if (!q->text.n && !write_members(q, stateless, out, err)) return false;
    size_t members = out->n;
    if (stateless) add_about(q, meta, out);
    if (stateless && members == start) memmove(out->at + start, out->at + start + 1, out->n - start), out->n--;   /* remove the leading comma */
    buf_add(out, STR("}}"));
    return out->n <= RPC_MESSAGE_MAX || error_set(err, ERR_LIMIT, "the result is longer than a message may be (%d bytes)", RPC_MESSAGE_MAX);
}

void serve_write_answer(McpRequest *q, bool ok, const Error *err, Buf *out) {
    MEM_UNSET Error why;
    error_none(&why);
    buf_reset(out);
    if (ok && write_result(q, out, &why)) return;
    buf_reset(out);
    if (ok) err = &why, q->code = RPC_INTERNAL;
    rpc_write_error(out, q->id, q->code ? q->code : code_of(err), str_from(err->msg), q->data);
}
