/* GET and DELETE of a session; handshake versions only. */
#include "mcp/host/http_private.h"
#include <stdlib.h>

static bool read_number(Str text, uint64_t *out) {
    char digits[24], *end;
    if (text.n == 0 || text.n >= sizeof digits || text.at[0] < '0' || text.at[0] > '9') return false;
    memcpy(digits, text.at, text.n);
    digits[text.n] = 0;
    *out = strtoull(digits, &end, 10);
    return *end == 0;
}

/* STREAM-EVENT, as written by mcp/host/http_stream.c. */
static bool read_event_id(Str text, uint64_t *stream, uint64_t *event) {
    ptrdiff_t dash = str_find_char(text, '-');
    return dash > 0 && read_number(str_sub(text, 0, (size_t)dash), stream) && read_number(str_sub(text, (size_t)dash + 1, text.n), event);
}

static HttpStream *hold_stream(HttpSession *s, uint64_t id) {
    pthread_mutex_lock(&s->lock);
    HttpStream *t = s->streams;
    while (t && t->id != id) t = t->next;
    if (t) mcp_link_keep(&t->link);
    pthread_mutex_unlock(&s->lock);
    return t;
}

static void get_stream(Http *h, HttpSession *s, McpPeer *peer, HttpServerRequest *q) {
    uint64_t stream = 0, event = 0;
    bool resumes = http_server_has_header(q, STR("Last-Event-ID"));
    if (resumes && !read_event_id(http_server_header(q, STR("Last-Event-ID")), &stream, &event)) {
        http_reply_error(h, q, 400, VALUE_GONE, RPC_INVALID_REQUEST, "Last-Event-ID is not from this server");
        return;
    }
    HttpStream *t = hold_stream(s, stream);
    if (t && t->general && !resumes && http_stream_open(t))
        http_reply_error(h, q, 409, VALUE_GONE, RPC_INVALID_REQUEST, "the session already has a stream");
    else if (!t || !http_stream_resume(t, mcp_peer_version(peer), q, event, resumes))
        http_reply_error(h, q, 400, VALUE_GONE, RPC_INVALID_REQUEST, "nothing to resume after this event");
    if (t) mcp_link_release(&t->link);
}

static HttpSession *session_of(Http *h, HttpServerRequest *q, const ServeWho *who) {
    Str id = http_server_header(q, STR("Mcp-Session-Id")), date = http_server_header(q, STR("MCP-Protocol-Version"));
    HttpSession *s = NULL;
    if (mcp_stateless(mcp_version(date))) {
        Buf body = { 0 };
        rpc_write_error(&body, VALUE_GONE, RPC_INVALID_REQUEST, STR("this version of the protocol supports POST only"), VALUE_GONE);
        http_reply(h, q, 405, &(HttpServerHeader){ STR("Allow"), STR("POST") }, 1, "application/json", &body);
    } else if (date.n && mcp_version(date) == MCP_NONE) {
        http_reply_error(h, q, 400, VALUE_GONE, RPC_INVALID_REQUEST, "the header MCP-Protocol-Version names an unsupported version");
    } else if (!id.n) {
        http_reply_error(h, q, 400, VALUE_GONE, RPC_INVALID_REQUEST, "the header Mcp-Session-Id is missing");
    } else if (!(s = http_session_find(h, id, who->id))) {
        http_reply_error(h, q, 404, VALUE_GONE, RPC_INVALID_REQUEST, "unknown session: initialize a new one");
    }
    return s;
}

void http_get(Http *h, HttpServerRequest *q, const ServeWho *who) {
    if (!http_accepts(q, STR("text/event-stream"))) {
        http_reply_error(h, q, 406, VALUE_GONE, RPC_INVALID_REQUEST, "the header Accept must list text/event-stream");
        return;
    }
    HttpSession *s = session_of(h, q, who);
    McpPeer *peer = s ? http_session_use(s) : NULL;
    if (peer) {
        get_stream(h, s, peer, q);
        http_session_done(s);
    } else if (s) {
        http_reply_error(h, q, 404, VALUE_GONE, RPC_INVALID_REQUEST, "the session has ended: initialize a new one");
    }
    http_session_release(s);
}

void http_delete(Http *h, HttpServerRequest *q, const ServeWho *who) {
    HttpSession *s = session_of(h, q, who);
    if (!s) return;
    http_session_end(s);
    http_reply_empty(h, q, 204);
    http_session_release(s);
}
