/* Version and capability negotiation: initialize and related methods, or the _meta of each request and
 * server/discover. */
#include "mcp/host/host_private.h"
#include "value/list.h"

#define META "io.modelcontextprotocol/"

static const Str levels[] = { { "debug", 5 }, { "info", 4 }, { "notice", 6 }, { "warning", 7 }, { "error", 5 }, { "critical", 8 }, { "alert", 5 },
                              { "emergency", 9 } };

static bool read_level(Value v, const char *where, int *out, Error *err) {
    for (int i = 0; i < MCP_LEVEL_OFF; i++)
        if (value_is_string(v) && str_eq(value_str(v), levels[i])) return *out = i, true;
    return error_set(err, ERR_VALIDATION, "%s must be debug, info, notice, warning, error, critical, alert or emergency", where);
}

/* ---- each request ---- */

static bool put_versions(Heap *h, Dict *d, const char *key, Error *err) {
    List *list = list_new(h, MCP_NONE, err);
    for (int v = MCP_NONE; list && v-- > 0;) {
        String *date = string_new(h, mcp_version_date((McpVersion)v), err);
        if (!date || !list_push(h, list, value_from_object(date), err)) return false;
    }
    return list && dict_put_str(h, d, str_from(key), value_from_object(list), err);
}

static bool unsupported(McpRequest *q, Str asked, Error *err) {
    Dict *data = dict_new(q->heap, 2, err);
    if (!data || !put_versions(q->heap, data, "supported", err) || !dict_put_text(q->heap, data, "requested", asked, err)) return false;
    q->code = MCP_UNSUPPORTED_VERSION;
    q->data = value_from_object(data);
    return error_set(err, ERR_PROTOCOL, "protocol version \"" STR_FMT "\" is not supported without a handshake: see data.supported",
        STR_ARG(str_sub(asked, 0, 40)));
}

/* Reads what a stateless request says about its client. */
static bool prepare_stateless(McpRequest *q, Value version, Error *err) {
    Value client = value_member(q->meta, META "clientCapabilities"), info = value_member(q->meta, META "clientInfo"),
        level = value_member(q->meta, META "logLevel");
    if (!value_is_string(version)) return error_set(err, ERR_VALIDATION, "params._meta[\"" META "protocolVersion\"] %s",
                                                    value_is_gone(version) ? "is missing" : "must be a string");
    q->version = mcp_version(value_str(version));
    if (!mcp_stateless(q->version)) return unsupported(q, value_str(version), err);
    if (!value_is_dict(client)) return error_set(err, ERR_VALIDATION, "params._meta[\"" META "clientCapabilities\"] %s",
                                                 value_is_gone(client) ? "is missing" : "must be an object");
    if (!value_is_gone(info) && !value_is_dict(info)) return error_set(err, ERR_VALIDATION, "params._meta[\"" META "clientInfo\"] must be an object");
    q->client = client;
    return value_is_gone(level) || read_level(level, "params._meta[\"" META "logLevel\"]", &q->level, err);
}

static bool prepare_handshake(McpRequest *q, McpVersion given, Error *err) {
    McpVersion has = mcp_peer_version(q->peer);
    bool first = str_eq(q->method, STR("initialize")) || str_eq(q->method, STR("ping"));
    q->version = has != MCP_NONE ? has : given != MCP_NONE ? given : MCP_LATEST_HANDSHAKE;
    if (has == MCP_NONE && given == MCP_NONE && !first)
        return error_set(err, ERR_VALIDATION, "params._meta[\"" META "protocolVersion\"] is missing, and there was no initialize");
    if (has != MCP_NONE) q->client = q->peer->client;
    q->level = atomic_load(&q->peer->level);
    return true;
}

bool serve_prepare(McpRequest *q, McpVersion given, Error *err) {
    Dict *none = dict_new(q->heap, 0, err);
    if (!none) return false;
    q->client = value_from_object(none);
    if (value_is_gone(q->params)) q->params = value_from_object(none);
    q->version = mcp_stateless(given) ? given : mcp_peer_version(q->peer);       /* for the response, should this
                                                                                  * fail */
    q->meta = value_member(q->params, "_meta");
    if (!value_is_gone(q->meta) && !value_is_dict(q->meta)) return error_set(err, ERR_VALIDATION, "params._meta must be an object");
    q->progress = value_member(q->meta, "progressToken");
    if (!value_is_gone(q->progress) && !rpc_is_id(q->progress)) {
        q->progress = VALUE_GONE;
        return error_set(err, ERR_VALIDATION, "params._meta.progressToken must be a string or an integer");
    }
    Value version = value_member(q->meta, META "protocolVersion");
    bool discover = str_eq(q->method, STR("server/discover"));
    if (!value_is_gone(version) || mcp_stateless(given) || (discover && mcp_peer_version(q->peer) == MCP_NONE)) return prepare_stateless(q, version, err);
    return prepare_handshake(q, given, err);
}

/* ---- what the server can do ---- */

/* One line per capability: announced if its method exists in the version. */
static const struct { const char *method, *text, *text_watched; McpVersion from, to; } capabilities[] = {
    { "completion/complete", "\"completions\":{}", NULL, MCP_2025_03_26, MCP_LATEST },
    { "tools/call", "\"logging\":{}", NULL, MCP_2024_11_05, MCP_LATEST },
    { "prompts/list", "\"prompts\":{}", "\"prompts\":{\"listChanged\":true}", MCP_2024_11_05, MCP_LATEST },
    { "resources/list", "\"resources\":{}", "\"resources\":{\"subscribe\":true,\"listChanged\":true}", MCP_2024_11_05, MCP_LATEST },
    { "tasks/get", "\"extensions\":{\"io.modelcontextprotocol/tasks\":{},\"io.modelcontextprotocol/skills\":{\"directoryRead\":true}}",
        NULL, MCP_2026_07_28, MCP_LATEST },
    { "tasks/get", "\"tasks\":{\"list\":{},\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}", NULL, MCP_2025_11_25, MCP_2025_11_25 },
    { "tools/list", "\"tools\":{}", "\"tools\":{\"listChanged\":true}", MCP_2024_11_05, MCP_LATEST },
};

static void add_capabilities(const McpRequest *q, McpVersion v, Buf *out) {
    bool first = true;
    buf_add(out, STR("\"capabilities\":{"));
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
        if (v < capabilities[i].from || v > capabilities[i].to || !serve_method(str_from(capabilities[i].method), v)) continue;
        if (!first) buf_add_char(out, ',');
        first = false;
        bool watched = q->server->config.watch && capabilities[i].text_watched;
        buf_add(out, str_from(watched ? capabilities[i].text_watched : capabilities[i].text));
    }
    buf_add_char(out, '}');
}

bool serve_discover(McpRequest *q, Error *err) {
    (void)err;
    buf_add(&q->text, STR("\"supportedVersions\":["));
    for (int v = MCP_NONE; v-- > 0;) buf_add_fmt(&q->text, "%s\"%s\"", v == MCP_LATEST ? "" : ",", mcp_version_date((McpVersion)v).at);
    buf_add(&q->text, STR("],"));
    add_capabilities(q, q->version, &q->text);
    q->ttl_ms = SERVE_TTL_MS;
    return true;
}

/* ---- the handshake ---- */

/* Stores the client's information, once. */
static bool agree(McpPeer *p, McpVersion v, Value client, Value info, Error *err) {
    bool ok = false;
    pthread_mutex_lock(&p->lock);
    if (mcp_peer_version(p) != MCP_NONE) error_set(err, ERR_PROTOCOL, "initialize was already answered");
    else ok = value_copy_all_into(p->about, client, &p->client, err) && (value_is_gone(info) || value_copy_all_into(p->about, info, &p->client_info, err));
    if (ok) {
        heap_freeze_all(p->about);
        atomic_store_explicit(&p->version, v, memory_order_release);
    }
    pthread_mutex_unlock(&p->lock);
    return ok;
}

bool serve_initialize(McpRequest *q, Error *err) {
    Str asked;
    Value client = value_member(q->params, "capabilities"), info = value_member(q->params, "clientInfo");
    if (!serve_text(q, "protocolVersion", &asked, err)) return false;
    if (!value_is_dict(client)) return error_set(err, ERR_VALIDATION, "params.capabilities %s", value_is_gone(client) ? "is missing" : "must be an object");
    if (!value_is_dict(info)) return error_set(err, ERR_VALIDATION, "params.clientInfo %s", value_is_gone(info) ? "is missing" : "must be an object");
    McpVersion v = mcp_version(asked);
    if (v == MCP_NONE || mcp_stateless(v)) v = MCP_LATEST_HANDSHAKE;
    if (!agree(q->peer, v, client, info, err)) return false;
    buf_add_fmt(&q->text, "\"protocolVersion\":\"%s\",", mcp_version_date(v).at);
    add_capabilities(q, v, &q->text);
    buf_add(&q->text, STR(",\"serverInfo\":{\"name\":\"harness\",\"version\":"));
    json_write_string(&q->text, str_from(q->server->config.version), false);
    buf_add_char(&q->text, '}');
    return true;
}

bool serve_ping(McpRequest *q, Error *err) { return (void)q, (void)err, true; }

bool serve_set_level(McpRequest *q, Error *err) {
    Value level = value_member(q->params, "level");
    int n;
    if (!read_level(level, "params.level", &n, err)) return false;
    atomic_store(&q->peer->level, n);
    return true;
}

/* ---- log messages ---- */

void serve_log(McpRequest *q, LogLevel level, Str logger, Str message) {
    static const McpLevel as[] = { [LOG_DEBUG] = MCP_LEVEL_DEBUG, [LOG_INFO] = MCP_LEVEL_INFO, [LOG_WARN] = MCP_LEVEL_WARNING, [LOG_ERROR] = MCP_LEVEL_ERROR };
    if (level >= LOG_OFF || (int)as[level] < q->level) return;
    Heap *h = heap_new(0);                                   /* the request's own heap belongs to its thread */
    Error err;
    Dict *d = dict_new(h, 3, &err);
    if (d && dict_put_text(h, d, "level", levels[as[level]], &err) && (!logger.n || dict_put_text(h, d, "logger", logger, &err)) &&
        dict_put_text(h, d, "data", message, &err))
        serve_notify(q, STR("notifications/message"), value_from_object(d));
    heap_free(h);
}
