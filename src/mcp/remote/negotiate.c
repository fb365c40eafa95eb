/* Version negotiation. Sends server/discover in the newest version; a server that answers it is stateless. On any other
 * response, or none in time, sends initialize. */
#include "mcp/remote/client_private.h"

enum { PROBE_MS = 5000 };

static bool keep_offers(McpClient *c, Value result, Error *err) {
    static const char *const names[] = { "capabilities", "serverInfo", "instructions" };
    if (!value_is_gone(c->offers)) return true;           /* a second session: keep the first information */
    Dict *d = dict_new(c->heap, 3, err);
    bool ok = d != NULL;
    for (size_t i = 0; ok && i < sizeof names / sizeof *names; i++) {
        Value v = value_member(result, names[i]), copy;
        if (value_is_gone(v) && i == 1) v = value_member(value_member(result, "_meta"), "io.modelcontextprotocol/serverInfo");
        if (!value_is_gone(v)) ok = value_copy_all_into(c->heap, v, &copy, err) && dict_put_str(c->heap, d, str_from(names[i]), copy, err);
    }
    if (!ok) return false;
    c->offers = value_from_object(d);
    heap_freeze_all(c->heap);
    return true;
}

/* ---- stateless ---- */

/* The newest version in the list that we support, stateless or not. */
static McpVersion newest(Value list, bool stateless) {
    McpVersion best = MCP_NONE;
    for (uint32_t i = 0; value_is_list(list) && i < value_list(list)->n; i++) {
        Value v = value_list(list)->at[i];
        McpVersion one = value_is_string(v) ? mcp_version(value_str(v)) : MCP_NONE;
        if (one != MCP_NONE && mcp_stateless(one) == stateless && (best == MCP_NONE || one > best)) best = one;
    }
    return best;
}

typedef enum { FOUND_STATELESS, FOUND_OLDER, FOUND_FAILED } Found;

static Found fail_unknown(const McpClient *c, Error *err) {
    error_set(err, ERR_PROTOCOL, "server " STR_FMT " supports no protocol version that harness supports", STR_ARG(c->config.server->name));
    return FOUND_FAILED;
}

/* *older: the handshake version to start with. */
static Found probe(McpClient *c, Cancel *cancel, McpVersion *older, Error *err) {
    Heap *h = heap_new(0);
    Found found = FOUND_OLDER;
    c->version = (McpVersion)MCP_LATEST;
    for (int round = 0; round < 2; round++) {
        RpcMessage m;
        Error why = { 0 };
        bool sent = false;
        int status = 0;
        Cancel *soon = cancel_new_pausable(cancel, (int64_t)PROBE_MS * 1000000);        /* the user may have to authorize first */
        bool ok = client_exchange(c, STR("server/discover"), VALUE_GONE, NULL, soon, h, &m, &sent, &status, &why);
        cancel_free(soon);
        if (!ok) {
            bool silent = why.kind == ERR_TIMEOUT && cancel_check(cancel, NULL), spoke = status >= 400 && status < 500 && status != 401
                && status != 403 && status != 429;
            if (!silent && !spoke) *err = why, found = FOUND_FAILED;
            break;
        }
        Value supported = m.kind == RPC_RESULT ? value_member(m.result, "supportedVersions") : value_member(m.data, "supported");
        McpVersion modern = newest(supported, true), old = newest(supported, false);
        if (m.kind == RPC_RESULT && modern != MCP_NONE) {
            c->version = modern;
            found = keep_offers(c, m.result, err) ? FOUND_STATELESS : FOUND_FAILED;
            break;
        }
        bool refused = m.kind == RPC_ERROR && m.code == MCP_UNSUPPORTED_VERSION;
        if ((refused || (m.kind == RPC_RESULT && value_is_list(supported))) && modern == MCP_NONE && old == MCP_NONE && value_is_list(supported)) {
            found = fail_unknown(c, err);
            break;
        }
        if (old != MCP_NONE && modern == MCP_NONE) *older = old;
        if (!refused || modern == MCP_NONE) break;        /* else the server listed our version: try once more */
        c->version = modern;
    }
    heap_free(h);
    return found;
}

/* ---- handshake ---- */

static bool initialize_params(McpClient *c, Heap *h, Value *out, Error *err) {
    Value who, can;
    Dict *d = dict_new(h, 3, err);
    if (!d || !client_info(c, h, &who, err) || !client_capabilities(c, h, &can, err)) return false;
    if (!dict_put_text(h, d, "protocolVersion", mcp_version_date(c->version), err) || !dict_put_str(h, d, STR("capabilities"), can, err)
        || !dict_put_str(h, d, STR("clientInfo"), who, err)) return false;
    return *out = value_from_object(d), true;
}

static bool read_version(McpClient *c, Value result, Error *err) {
    Str date = value_member_text(result, "protocolVersion");
    McpVersion v = mcp_version(date);
    bool forced = c->config.version != MCP_NONE;
    if (v == MCP_NONE || mcp_stateless(v) || (forced && v != c->config.version))
        return error_set(err, ERR_PROTOCOL, "server " STR_FMT " answers with protocol version \"" STR_FMT "\", which %s", STR_ARG(c->config.server->name),
                         STR_ARG(str_sub(date, 0, 40)), forced ? "is not the one asked for" : "harness does not support");
    c->version = v;
    return true;
}

static bool handshake(McpClient *c, McpVersion version, Cancel *cancel, Error *err) {
    Heap *h = heap_new(0);
    Value params;
    RpcMessage m;
    bool sent = false;
    c->version = version;
    bool ok = initialize_params(c, h, &params, err) && client_exchange(c, STR("initialize"), params, NULL, cancel, h, &m, &sent, NULL, err);
    if (ok && m.kind == RPC_ERROR)
        ok = error_set(err, ERR_PROTOCOL, "server " STR_FMT " refuses to initialize: " STR_FMT " (%lld)", STR_ARG(c->config.server->name),
                       STR_ARG(str_sub(m.message, 0, 400)), (long long)m.code);
    ok = ok && read_version(c, m.result, err) && keep_offers(c, m.result, err)
         && client_notify(c, STR("notifications/initialized"), VALUE_GONE, cancel, err);
    if (ok) c->transport->ready(c, cancel);
    heap_free(h);
    return ok;
}

bool client_negotiate(McpClient *c, Cancel *cancel, Error *err) {
    McpVersion older = (McpVersion)MCP_LATEST_HANDSHAKE;
    bool again = !value_is_gone(c->offers);               /* a new session: the version is known */
    if (again && !mcp_stateless(c->version)) return handshake(c, c->version, cancel, err);
    if (c->config.version != MCP_NONE && !mcp_stateless(c->config.version)) return handshake(c, c->config.version, cancel, err);
    Found found = probe(c, cancel, &older, err);
    if (found == FOUND_OLDER && c->config.version != MCP_NONE)
        return error_set(err, ERR_PROTOCOL, "server " STR_FMT " does not support " STR_FMT, STR_ARG(c->config.server->name),
            STR_ARG(mcp_version_date(c->config.version)));
    if (found == FOUND_STATELESS) client_listen_start(c, cancel);
    return found == FOUND_STATELESS || (found == FOUND_OLDER && handshake(c, older, cancel, err));
}
