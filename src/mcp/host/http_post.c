/* Handles a POST. The protocol version determines what it must carry.
 *
 *   MCP-Protocol-Version 2026-07-28    stateless: headers and _meta are checked; the peer is found by token and client name
 *   Mcp-Session-Id                     handshake versions: its session, or 404
 *   neither                            initialize creates a session; anything else is refused */
#include "mcp/host/http_private.h"
#include <strings.h>
#include "value/list.h"

enum { READ_MAX = 192 << 20 };           /* memory of a parsed message */

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CLIENT "io.modelcontextprotocol/clientInfo"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"

/* ---- dispatch ---- */

/* Passes the message to the peer. Returns a request to run once the memory used for parsing is freed; NULL: none.
 * Responds itself if the message was not a request. `version`: from the header; the peer refuses an unknown stateless
 * version, since it has the list of supported ones. */
static Flight *hand_on(Http *h, HttpSession *s, HttpServerRequest *q, McpVersion version, const RpcMessage *m, Str text) {
    McpPeer *peer = http_session_use(s);
    if (!peer) {
        http_reply_error(h, q, 404, VALUE_GONE, RPC_INVALID_REQUEST, "the session has ended: initialize a new one");
        return NULL;
    }
    HttpStream *t = http_stream_new(s, s->id[0] ? mcp_peer_version(peer) : MCP_2026_07_28, q, false);
    Flight *f = m ? peer_begin_message(peer, m, version, &t->link) : peer_begin(peer, text, version, &t->link);
    http_session_done(s);
    http_server_drop_body(q);
    if (atomic_load(&t->link.holders) == 2 && !http_stream_answered(t)) {  /* ours and the list's */
        http_reply_empty(h, q, 202);
        http_stream_close(t);
    } else if (m && str_eq(m->method, STR("subscriptions/listen"))) {
        http_stream_begin(t);
    }
    mcp_link_release(&t->link);
    return f;
}

/* ---- stateless ---- */

static bool invalid(int *code, Error *err, const char *what) {
    *code = RPC_INVALID_PARAMS;
    return error_set(err, ERR_VALIDATION, "params._meta needs \"%s\"", what);
}

static bool check_meta(const HttpServerRequest *q, const RpcMessage *m, int *code, Error *err) {
    Value meta = value_member(m->params, "_meta"), version = value_member(meta, META_VERSION);
    if (m->kind == RPC_NOTIFICATION && !value_is_dict(meta)) return true;
    if (!value_is_string(version)) return invalid(code, err, META_VERSION);
    if (!str_eq(value_str(version), http_server_header(q, STR("MCP-Protocol-Version")))) {
        *code = MCP_HEADER_MISMATCH;
        return error_set(err, ERR_PROTOCOL, "the header MCP-Protocol-Version and _meta name different versions");
    }
    if (m->kind == RPC_REQUEST && mcp_version(value_str(version)) != MCP_NONE && !value_is_dict(value_member(meta, META_CAPABILITIES)))
        return invalid(code, err, META_CAPABILITIES);
    return true;
}

static Flight *post_stateless(Http *h, HttpServerRequest *q, const ServeWho *who, const RpcMessage *m, McpVersion version) {
    Error err = { 0 };
    int code = RPC_INVALID_REQUEST;
    bool ok = m->kind == RPC_REQUEST || m->kind == RPC_NOTIFICATION;
    if (!ok) error_set(&err, ERR_PROTOCOL, "a client must send requests and notifications, not responses");
    ok = ok && check_meta(q, m, &code, &err) && (version == MCP_NONE || http_check_headers(h, q, m, &code, &err));
    if (!ok) {
        http_reply_error(h, q, 400, m->id, code, "%s", err.msg);
        return NULL;
    }
    Flight *f = NULL;
    Str client = value_member_text(value_member(value_member(m->params, "_meta"), META_CLIENT), "name");
    HttpSession *s = http_session_stateless(h, who->id, str_sub(client, 0, 200), &err);
    if (s) f = hand_on(h, s, q, version, m, STR(""));
    else http_reply_error(h, q, 503, m->id, RPC_INTERNAL, "%s", err.msg);
    http_session_release(s);
    return f;
}

/* ---- handshake ---- */

static Flight *post_initialize(Http *h, HttpServerRequest *q, const ServeWho *who, const RpcMessage *m) {
    Error err = { 0 };
    HttpSession *s = http_session_new(h, who->id, &err);
    if (!s) {
        http_reply_error(h, q, 503, m->id, RPC_INTERNAL, "%s", err.msg);
        return NULL;
    }
    Flight *f = hand_on(h, s, q, MCP_NONE, m, STR(""));
    McpPeer *peer = http_session_use(s);
    bool failed = peer && mcp_peer_version(peer) == MCP_NONE;            /* initialize is answered synchronously */
    if (peer) http_session_done(s);
    if (failed) http_session_end(s);
    http_session_release(s);
    return f;
}

static Flight *post_in_session(Http *h, HttpServerRequest *q, const ServeWho *who, McpVersion version) {
    HttpSession *s = http_session_find(h, http_server_header(q, STR("Mcp-Session-Id")), who->id);
    Flight *f = s ? hand_on(h, s, q, version, NULL, http_server_body(q)) : NULL;
    if (s) http_session_release(s);
    else http_reply_error(h, q, 404, VALUE_GONE, RPC_INVALID_REQUEST, "unknown session: initialize a new one");
    return f;
}

/* ---- messages without a session ---- */

static Flight *post_other(Http *h, HttpServerRequest *q, const ServeWho *who, const RpcMessage *m, McpVersion version) {
    bool has_version = http_server_has_header(q, STR("MCP-Protocol-Version"));
    Str named = value_member_text(value_member(m->params, "_meta"), META_VERSION);
    if (mcp_stateless(version) || (has_version && version == MCP_NONE)) return post_stateless(h, q, who, m, version);
    if (named.n && !(version != MCP_NONE && mcp_version(named) == version))
        http_reply_error(h, q, 400, m->id, MCP_HEADER_MISMATCH, "the header MCP-Protocol-Version %s",
            has_version ? "names another version than _meta" : "is missing");
    else if (m->kind == RPC_REQUEST && str_eq(m->method, STR("initialize"))) return post_initialize(h, q, who, m);
    else http_reply_error(h, q, 400, m->id, RPC_INVALID_REQUEST, "the header Mcp-Session-Id is missing: initialize first and send the id of its response");
    return NULL;
}

static Flight *post_read(Http *h, HttpServerRequest *q, const ServeWho *who, McpVersion version) {
    Heap *heap = heap_new(READ_MAX);
    RpcMessage m;
    int code;
    Error err = { 0 };
    Flight *f = NULL;
    if (rpc_read(heap, http_server_body(q), &m, &code, &err)) f = post_other(h, q, who, &m, version);
    else http_reply_error(h, q, 400, m.id, code, "%s", err.msg);
    heap_free(heap);
    return f;
}

/* ---- public ---- */

static bool is_json(Str type) {
    ptrdiff_t parameters = str_find_char(type, ';');
    Str name = str_trim(parameters < 0 ? type : str_sub(type, 0, (size_t)parameters));
    return name.n == 16 && strncasecmp(name.at, "application/json", 16) == 0;
}

void http_post(Http *h, HttpServerRequest *q, const ServeWho *who) {
    Str date = http_server_header(q, STR("MCP-Protocol-Version"));
    McpVersion version = mcp_version(date);
    Flight *f = NULL;
    if (!is_json(http_server_header(q, STR("Content-Type")))) {
        http_reply_error(h, q, 415, VALUE_GONE, RPC_INVALID_REQUEST, "the body must be application/json");
    } else if (!http_accepts(q, STR("application/json")) || !http_accepts(q, STR("text/event-stream"))) {
        http_reply_error(h, q, 406, VALUE_GONE, RPC_INVALID_REQUEST, "the header Accept must list application/json and text/event-stream");
    } else if (http_server_count_header(q, STR("MCP-Protocol-Version")) > 1 || http_server_count_header(q, STR("Mcp-Session-Id")) > 1) {
        http_reply_error(h, q, 400, VALUE_GONE, RPC_INVALID_REQUEST, "a header occurs more than once");
    } else if (http_server_has_header(q, STR("Mcp-Session-Id")) && !mcp_stateless(version)) {
        if (date.n && version == MCP_NONE)
            http_reply_error(h, q, 400, VALUE_GONE, RPC_INVALID_REQUEST, "the header MCP-Protocol-Version names an unsupported version");
        else f = post_in_session(h, q, who, version);
    } else {
        f = post_read(h, q, who, version);
    }
    if (f) peer_schedule_last(f);
}
