/* Anthropic's Messages. */
#include <stdio.h>
#include "model/http_turn.h"
#include "model/request.h"

enum { DEFAULT_MAX_TOKENS = 8192 };

/* ---- the request ---- */

/* A call's input must be an object; what a model wrote as arguments may not even be JSON, and goes back as text. */
static bool write_input(Buf *b, Heap *scratch, Str arguments, Error *err) {
    Value v;
    request_key(b, "input");
    if (arguments.n == 0) arguments = STR("{}");
    if (json_read(scratch, arguments, NULL, &v, NULL) && value_is_dict(v)) return json_write(b, v, NULL, err);
    buf_add_char(b, '{');
    request_string(b, "unreadable", arguments);
    buf_add_char(b, '}');
    return true;
}

static void open_block(Buf *b, const char *type) {
    if (b->n && b->at[b->n - 1] == '}') buf_add_char(b, ',');
    buf_add_char(b, '{');
    request_string(b, "type", str_from(type));
}

static void write_text_block(Buf *b, Str text) {
    open_block(b, "text");
    request_string(b, "text", text);
    buf_add_char(b, '}');
}

static bool write_assistant(Buf *b, Heap *scratch, Value message, Error *err) {
    const List *calls = request_list(message, "tool_calls");
    Str text = value_member_text(message, "content");
    if (str_trim(text).n) write_text_block(b, text);
    for (uint32_t i = 0; calls && i < calls->n; i++) {
        open_block(b, "tool_use");
        request_string(b, "id", value_member_text(calls->at[i], "id"));
        request_string(b, "name", value_member_text(calls->at[i], "name"));
        if (!write_input(b, scratch, value_member_text(calls->at[i], "arguments"), err)) return false;
        buf_add_char(b, '}');
    }
    if (str_trim(text).n == 0 && (!calls || calls->n == 0)) write_text_block(b, STR("(no answer)"));   /* empty is refused */
    return true;
}

static void write_tool_result(Buf *b, Value message) {
    Str text = value_member_text(message, "content");
    open_block(b, "tool_result");
    request_string(b, "tool_use_id", value_member_text(message, "tool_call_id"));
    if (text.n) request_string(b, "content", text);
    Value is_error = value_member(message, "is_error");
    if (value_is_bool(is_error) && value_bool(is_error)) buf_add(b, STR(",\"is_error\":true"));
    buf_add_char(b, '}');
}

static bool write_blocks(Buf *b, Heap *scratch, Value message, Error *err) {
    Str text = value_member_text(message, "content");
    Role role = request_role(message);
    if (role == ROLE_ASSISTANT) return write_assistant(b, scratch, message, err);
    if (role == ROLE_TOOL) write_tool_result(b, message);
    else write_text_block(b, str_trim(text).n ? text : STR("(empty)"));
    return true;
}

/* Roles must alternate: results of tools and the user's words between two answers are one message of the user. */
static bool write_messages(Buf *b, Heap *scratch, const List *messages, Error *err) {
    bool any = false;
    Role open = ROLE_SYSTEM;
    request_key(b, "messages");
    buf_add_char(b, '[');
    for (uint32_t i = 0; i < messages->n; i++) {
        Role role = request_role(messages->at[i]);
        if (role == ROLE_SYSTEM) continue;
        if (role == ROLE_TOOL) role = ROLE_USER;
        if (role != open) {
            buf_add_fmt(b, "%s{\"role\":\"%s\",\"content\":[", any ? "]}," : "", request_role_name(role));
            open = role;
            any = true;
        }
        if (!write_blocks(b, scratch, messages->at[i], err)) return false;
    }
    buf_add(b, any ? STR("]}]") : STR("]"));
    return true;
}

/* The cache mark makes tools and system prompt, which stay the same from turn to turn, cheap to send again. */
static void write_system(Buf *b, const List *messages) {
    Buf text = { 0 };
    for (uint32_t i = 0; i < messages->n; i++) {
        if (request_role(messages->at[i]) != ROLE_SYSTEM) continue;
        if (text.n) buf_add(&text, STR("\n\n"));
        buf_add(&text, value_member_text(messages->at[i], "content"));
    }
    if (str_trim(buf_str(&text)).n) {
        request_key(b, "system");
        buf_add(b, STR("[{\"type\":\"text\","));
        buf_add(b, STR("\"text\":"));
        json_write_string(b, buf_str(&text), false);
        buf_add(b, STR(",\"cache_control\":{\"type\":\"ephemeral\"}}]"));
    }
    buf_clear(&text);
}

bool provider_anthropic_tools(const List *tools, Buf *b, Error *err) {
    buf_add_char(b, '[');
    for (uint32_t i = 0; i < tools->n; i++) {
        if (i) buf_add_char(b, ',');
        buf_add_char(b, '{');
        request_string(b, "name", value_member_text(tools->at[i], "name"));
        request_string(b, "description", value_member_text(tools->at[i], "description"));
        if (!request_value(b, "input_schema", value_member(tools->at[i], "parameters"), err)) return false;
        buf_add_char(b, '}');
    }
    buf_add_char(b, ']');
    return true;
}

static bool write_tools(Buf *b, const List *tools, Error *err) {
    request_key(b, "tools");
    return provider_anthropic_tools(tools, b, err);
}

static bool write_request(const Model *m, const ModelRequest *r, Heap *scratch, Buf *b, Error *err) {
    int64_t limit = r->max_tokens ? r->max_tokens : m->def.max_tokens ? m->def.max_tokens : DEFAULT_MAX_TOKENS;
    buf_add_char(b, '{');
    request_string(b, "model", m->def.name);
    request_key(b, "max_tokens");
    buf_add_fmt(b, "%lld", (long long)limit);
    write_system(b, value_list(r->messages));
    if (!write_messages(b, scratch, value_list(r->messages), err)) return false;
    if (value_is_list(r->tools) && value_list(r->tools)->n && !write_tools(b, value_list(r->tools), err)) return false;
    if (!value_is_gone(m->def.temperature) && !request_value(b, "temperature", m->def.temperature, err)) return false;
    if (!value_is_gone(m->def.top_p) && !request_value(b, "top_p", m->def.top_p, err)) return false;
    buf_add(b, STR(",\"stream\":true}"));
    return true;
}

/* ---- the reply ---- */

static void read_usage(ModelUsage *u, Value usage) {
    int64_t cached = request_int(usage, "cache_read_input_tokens");
    int64_t input = request_int(usage, "input_tokens") + cached + request_int(usage, "cache_creation_input_tokens");
    if (input) u->input = input, u->cached = cached;
    if (request_int(usage, "output_tokens")) u->output = request_int(usage, "output_tokens");
}

static void read_stop(HttpTurn *x, Str reason) {
    static const char *const words[][2] = { { "end_turn", "stop" }, { "stop_sequence", "stop" }, { "tool_use", "tool_calls" },
                                            { "max_tokens", "length" }, { "refusal", "content_filter" } };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_eq(reason, str_from(words[i][0]))) reason = str_from(words[i][1]);
    http_turn_finish(x, reason);
}

static bool read_block(HttpTurn *x, int64_t index, Value block, Error *err) {
    Str type = value_member_text(block, "type");
    if (str_eq(type, STR("text"))) http_turn_text(x, value_member_text(block, "text"));
    if (!str_eq(type, STR("tool_use"))) return true;
    ProviderCall *c = http_turn_call(x, index, err);
    if (!c) return false;
    if (c->id.n == 0) buf_add(&c->id, value_member_text(block, "id"));
    if (c->name.n == 0) buf_add(&c->name, value_member_text(block, "name"));
    Value input = value_member(block, "input");
    c->object = value_is_dict(input);                        /* complete unless pieces of it follow */
    return !value_is_dict(input) || value_dict(input)->n == 0 || json_write(&c->arguments, input, NULL, err);
}

static bool read_delta(HttpTurn *x, int64_t index, Value delta, Error *err) {
    Str type = value_member_text(delta, "type");
    if (str_eq(type, STR("text_delta"))) http_turn_text(x, value_member_text(delta, "text"));
    if (!str_eq(type, STR("input_json_delta"))) return true;
    ProviderCall *c = http_turn_call(x, index, err);
    if (!c) return false;
    buf_add(&c->arguments, value_member_text(delta, "partial_json"));
    return true;
}

static bool read_error(HttpTurn *x, Value error, Error *err) {
    Str type = value_member_text(error, "type"), words = value_member_text(error, "message");
    bool transient = str_eq(type, STR("overloaded_error")) || str_eq(type, STR("api_error")) || str_eq(type, STR("rate_limit_error"));
    return http_turn_refused(x, words.n ? words : type, transient, err);
}

static bool on_event(HttpTurn *x, Str event, Str data, Error *err) {
    Value root;
    if (!http_turn_document(x, data, &root, err)) return false;
    Str type = value_member_text(root, "type").n ? value_member_text(root, "type") : event;
    if (str_eq(type, STR("error"))) return read_error(x, value_member(root, "error"), err);
    if (str_eq(type, STR("message_start"))) read_usage(&x->draft.reply->usage, value_member(value_member(root, "message"), "usage"));
    if (str_eq(type, STR("content_block_start"))) return read_block(x, request_int(root, "index"), value_member(root, "content_block"), err);
    if (str_eq(type, STR("content_block_delta"))) return read_delta(x, request_int(root, "index"), value_member(root, "delta"), err);
    if (str_eq(type, STR("message_delta"))) {
        read_usage(&x->draft.reply->usage, value_member(root, "usage"));
        read_stop(x, value_member_text(value_member(root, "delta"), "stop_reason"));
    }
    if (str_eq(type, STR("message_stop"))) x->done = true;
    return true;
}

static bool on_whole(HttpTurn *x, Str body, Error *err) {
    Value root;
    if (!http_turn_document(x, body, &root, err)) return false;
    if (str_eq(value_member_text(root, "type"), STR("error"))) return read_error(x, value_member(root, "error"), err);
    const List *content = request_list(root, "content");
    for (uint32_t i = 0; content && i < content->n; i++)
        if (!read_block(x, i, content->at[i], err)) return false;
    read_usage(&x->draft.reply->usage, value_member(root, "usage"));
    read_stop(x, value_member_text(root, "stop_reason"));
    return true;
}

static bool complete(Model *m, const ModelRequest *request, Cancel *cancel, ModelReply *out, bool *retry, int64_t *wait_ms, Error *err) {
    static const HttpTurnWire wire = { write_request, on_event, on_whole };
    return http_turn_run(m, &wire, request, cancel, out, retry, wait_ms, err);
}

static bool open(Model *m, const Project *p, Error *err) {
    (void)p;
    Str base = m->def.base_url;
    while (base.n && base.at[base.n - 1] == '/') base.n--;
    const char *path = str_ends(base, STR("/v1")) ? "/messages" : "/v1/messages";       /* both ways of writing it are common */
    if (!http_turn_open(m, "https://api.anthropic.com", path, "ANTHROPIC_API_KEY", err)) return false;
    m->headers[m->n_headers++] = (ClientHeader){ STR("Content-Type"), STR("application/json") };
    m->headers[m->n_headers++] = (ClientHeader){ STR("anthropic-version"), STR("2023-06-01") };
    if (m->key.n) m->headers[m->n_headers++] = (ClientHeader){ STR("x-api-key"), m->key };
    return true;
}

const Provider provider_anthropic = { "anthropic", open, complete, NULL };
