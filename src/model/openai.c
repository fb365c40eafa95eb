/* Chat Completions: OpenAI and every server that speaks its language. */
#include <stdio.h>
#include "model/http_turn.h"
#include "model/request.h"

/* ---- the request ---- */

static bool write_calls(Buf *b, const List *calls) {
    request_key(b, "tool_calls");
    buf_add_char(b, '[');
    for (uint32_t i = 0; i < calls->n; i++) {
        if (i) buf_add_char(b, ',');
        buf_add_char(b, '{');
        request_string(b, "id", value_member_text(calls->at[i], "id"));
        request_string(b, "type", STR("function"));
        request_key(b, "function");
        buf_add_char(b, '{');
        request_string(b, "name", value_member_text(calls->at[i], "name"));
        Str arguments = value_member_text(calls->at[i], "arguments");
        request_string(b, "arguments", arguments.n ? arguments : STR("{}"));    /* some servers read it as JSON */
        buf_add(b, STR("}}"));
    }
    buf_add_char(b, ']');
    return true;
}

static void write_message(Buf *b, Value message) {
    const List *calls = request_list(message, "tool_calls");
    Str text = value_member_text(message, "content");
    buf_add_char(b, '{');
    request_string(b, "role", value_member_text(message, "role"));
    if (text.n == 0 && calls && calls->n) {
        request_key(b, "content");
        buf_add(b, STR("null"));
    } else {
        request_string(b, "content", text);
    }
    if (calls && calls->n) write_calls(b, calls);
    if (value_member_text(message, "tool_call_id").n) request_string(b, "tool_call_id", value_member_text(message, "tool_call_id"));
    buf_add_char(b, '}');
}

bool provider_openai_tools(const List *tools, Buf *b, Error *err) {
    buf_add_char(b, '[');
    for (uint32_t i = 0; i < tools->n; i++) {
        if (i) buf_add_char(b, ',');
        buf_add(b, STR("{\"type\":\"function\",\"function\":{"));
        request_string(b, "name", value_member_text(tools->at[i], "name"));
        request_string(b, "description", value_member_text(tools->at[i], "description"));
        if (!request_value(b, "parameters", value_member(tools->at[i], "parameters"), err)) return false;
        buf_add(b, STR("}}"));
    }
    buf_add_char(b, ']');
    return true;
}

static bool write_tools(Buf *b, const List *tools, Error *err) {
    request_key(b, "tools");
    return provider_openai_tools(tools, b, err);
}

/* The reasoning models refuse max_tokens and know only the newer name. */
static const char *limit_name(Str model) {
    bool reasoning = (model.n > 1 && model.at[0] == 'o' && model.at[1] >= '1' && model.at[1] <= '9') || str_starts(model, STR("gpt-5"));
    return reasoning ? "max_completion_tokens" : "max_tokens";
}

static bool write_request(const Model *m, const ModelRequest *r, Heap *scratch, Buf *b, Error *err) {
    (void)scratch;
    int64_t limit = r->max_tokens ? r->max_tokens : m->def.max_tokens;
    const List *messages = value_list(r->messages);
    buf_add_char(b, '{');
    request_string(b, "model", m->def.name);
    request_key(b, "messages");
    buf_add_char(b, '[');
    for (uint32_t i = 0; i < messages->n; i++) {
        if (i) buf_add_char(b, ',');
        write_message(b, messages->at[i]);
    }
    buf_add_char(b, ']');
    if (value_is_list(r->tools) && value_list(r->tools)->n && !write_tools(b, value_list(r->tools), err)) return false;
    if (limit) {
        request_key(b, limit_name(m->def.name));
        buf_add_fmt(b, "%lld", (long long)limit);
    }
    if (!value_is_gone(m->def.temperature) && !request_value(b, "temperature", m->def.temperature, err)) return false;
    if (!value_is_gone(m->def.top_p) && !request_value(b, "top_p", m->def.top_p, err)) return false;
    buf_add(b, STR(",\"stream\":true,\"stream_options\":{\"include_usage\":true}}"));
    return true;
}

/* ---- the reply ---- */

static void read_usage(ModelUsage *u, Value usage) {
    if (!value_is_dict(usage)) return;
    u->input = request_int(usage, "prompt_tokens");
    u->output = request_int(usage, "completion_tokens");
    u->cached = request_int(value_member(usage, "prompt_tokens_details"), "cached_tokens");
}

/* Some servers send arguments as an object, not as text. */
static bool add_arguments(Buf *out, Value arguments, Error *err) {
    if (value_is_string(arguments)) buf_add(out, value_str(arguments));
    else if (value_is_dict(arguments)) return json_write(out, arguments, NULL, err);
    return true;
}

/* Without an index (some servers), a new id starts a new call and anything else belongs to the last one. */
static int64_t call_index(HttpTurn *x, Value piece) {
    Value index = value_member(piece, "index");
    if (value_is_small(index)) return x->last = value_small(index);
    Str id = value_member_text(piece, "id");
    if (x->draft.n == 0 || (id.n && !str_eq(id, buf_str(&x->draft.calls[x->draft.n - 1].id)))) return x->last = (int64_t)x->draft.n;
    return x->last;
}

static bool read_call(HttpTurn *x, Value piece, Error *err) {
    ProviderCall *c = http_turn_call(x, call_index(x, piece), err);
    if (!c) return false;
    Value function = value_member(piece, "function");
    if (c->id.n == 0) buf_add(&c->id, value_member_text(piece, "id"));
    Str name = value_member_text(function, "name");
    if (!str_eq(buf_str(&c->name), name)) buf_add(&c->name, name);    /* repeated in every piece by some */
    return add_arguments(&c->arguments, value_member(function, "arguments"), err);
}

static bool read_choice(HttpTurn *x, Value choice, const char *part, Error *err) {
    Value delta = value_member(choice, part);
    Str reason = value_member_text(choice, "finish_reason");
    const List *calls = request_list(delta, "tool_calls");
    http_turn_text(x, value_member_text(delta, "content"));
    http_turn_text(x, value_member_text(delta, "refusal"));
    for (uint32_t i = 0; calls && i < calls->n; i++)
        if (!read_call(x, calls->at[i], err)) return false;
    http_turn_finish(x, str_eq(reason, STR("function_call")) ? STR("tool_calls") : reason);
    return true;
}

/* An error inside of a stream has no status; its code or type says whether it may pass. */
static bool read_error(HttpTurn *x, Value error, Error *err) {
    Str type = value_member_text(error, "type");
    int64_t code = request_int(error, "code");
    bool transient = code == 429 || code >= 500 || str_eq(type, STR("server_error")) || str_eq(type, STR("rate_limit_error"));
    return http_turn_refused(x, value_is_string(error) ? value_str(error) : value_member_text(error, "message"), transient, err);
}

static bool read_document(HttpTurn *x, Str text, const char *part, Error *err) {
    Value root;
    if (!http_turn_document(x, text, &root, err)) return false;
    Value error = value_member(root, "error");
    if (!value_is_gone(error) && !value_is_none(error)) return read_error(x, error, err);
    read_usage(&x->draft.reply->usage, value_member(root, "usage"));
    const List *choices = request_list(root, "choices");
    return !choices || choices->n == 0 || read_choice(x, choices->at[0], part, err);
}

static bool on_event(HttpTurn *x, Str event, Str data, Error *err) {
    (void)event;
    if (str_eq(str_trim(data), STR("[DONE]"))) return x->done = true;
    return read_document(x, data, "delta", err);
}

static bool on_whole(HttpTurn *x, Str body, Error *err) { return read_document(x, body, "message", err); }

static bool complete(Model *m, const ModelRequest *request, Cancel *cancel, ModelReply *out, bool *retry, int64_t *wait_ms, Error *err) {
    static const HttpTurnWire wire = { write_request, on_event, on_whole };
    return http_turn_run(m, &wire, request, cancel, out, retry, wait_ms, err);
}

static bool open(Model *m, const Project *p, Error *err) {
    (void)p;
    bool copilot = m->def.provider == PROVIDER_COPILOT;
    if (!http_turn_open(m, copilot ? "https://api.githubcopilot.com" : "https://api.openai.com/v1", "/chat/completions",
                            copilot ? "GITHUB_COPILOT_TOKEN" : "OPENAI_API_KEY", err)) return false;
    m->headers[m->n_headers++] = (ClientHeader){ STR("Content-Type"), STR("application/json") };
    m->headers[m->n_headers++] = (ClientHeader){ STR("Accept"), STR("text/event-stream") };
    if (copilot) m->headers[m->n_headers++] = (ClientHeader){ STR("Copilot-Integration-Id"), STR("vscode-chat") };
    if (m->key.n)
        m->headers[m->n_headers++] =
            (ClientHeader){ STR("Authorization"), str_from(arena_fmt(&m->arena, "Bearer " STR_FMT, STR_ARG(m->key))) };
    return true;
}

const Provider provider_openai = { "openai", open, complete, NULL };
