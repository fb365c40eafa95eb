/* Chat Completions: OpenAI and every server that speaks its language. */
#include <stdio.h>
#include "model/provider.h"
#include "model/request.h"

/* ---- the request ---- */

static bool write_calls(Buf *b, const List *calls) {
    request_key(b, "tool_calls");
    buf_add_char(b, '[');
    for (uint32_t i = 0; i < calls->n; i++) {
        if (i) buf_add_char(b, ',');
        buf_add_char(b, '{');
        request_string(b, "id", request_text(calls->at[i], "id"));
        request_string(b, "type", STR("function"));
        request_key(b, "function");
        buf_add_char(b, '{');
        request_string(b, "name", request_text(calls->at[i], "name"));
        request_string(b, "arguments", request_text(calls->at[i], "arguments"));
        buf_add(b, STR("}}"));
    }
    buf_add_char(b, ']');
    return true;
}

static void write_message(Buf *b, Value message) {
    const List *calls = request_list(message, "tool_calls");
    Str text = request_text(message, "content");
    buf_add_char(b, '{');
    request_string(b, "role", request_text(message, "role"));
    if (text.n == 0 && calls && calls->n) {
        request_key(b, "content");
        buf_add(b, STR("null"));
    } else {
        request_string(b, "content", text);
    }
    if (calls && calls->n) write_calls(b, calls);
    if (request_text(message, "tool_call_id").n) request_string(b, "tool_call_id", request_text(message, "tool_call_id"));
    buf_add_char(b, '}');
}

static bool write_tools(Buf *b, const List *tools, Error *err) {
    request_key(b, "tools");
    buf_add_char(b, '[');
    for (uint32_t i = 0; i < tools->n; i++) {
        if (i) buf_add_char(b, ',');
        buf_add(b, STR("{\"type\":\"function\",\"function\":{"));
        request_string(b, "name", request_text(tools->at[i], "name"));
        request_string(b, "description", request_text(tools->at[i], "description"));
        if (!request_value(b, "parameters", request_member(tools->at[i], "parameters"), err)) return false;
        buf_add(b, STR("}}"));
    }
    buf_add_char(b, ']');
    return true;
}

/* The reasoning models refuse max_tokens and know only the newer name. */
static const char *limit_name(Str model) {
    bool reasoning = (model.n > 1 && model.at[0] == 'o' && model.at[1] >= '1' && model.at[1] <= '9') || str_starts(model, STR("gpt-5"));
    return reasoning ? "max_completion_tokens" : "max_tokens";
}

static bool write_request(const Model *m, const ModelRequest *r, Buf *b, Error *err) {
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

typedef struct Reading { const Model *m; ProviderDraft draft; ProviderStream *stream; Heap *heap; bool done; int64_t last; unsigned half; bool transient; } Reading;

static void read_usage(ModelUsage *u, Value usage) {
    if (!value_is_dict(usage)) return;
    u->input = request_int(usage, "prompt_tokens");
    u->output = request_int(usage, "completion_tokens");
    u->cached = request_int(request_member(usage, "prompt_tokens_details"), "cached_tokens");
}

/* Some servers send arguments as an object, not as text. */
static bool add_arguments(Buf *out, Value arguments, Error *err) {
    if (value_is_string(arguments)) buf_add(out, value_str(arguments));
    else if (value_is_dict(arguments)) return json_write(out, arguments, NULL, err);
    return true;
}

/* Without an index (some servers), a new id starts a new call and anything else belongs to the last one. */
static int64_t call_index(Reading *r, Value piece) {
    Value index = request_member(piece, "index");
    if (value_is_small(index)) return r->last = value_small(index);
    Str id = request_text(piece, "id");
    if (r->draft.n == 0 || (id.n && !str_eq(id, buf_str(&r->draft.calls[r->draft.n - 1].id)))) return r->last = (int64_t)r->draft.n;
    return r->last;
}

static bool read_call(Reading *r, Value piece, Error *err) {
    ProviderCall *c = provider_call(&r->draft, call_index(r, piece), err);
    if (!c) return false;
    Value function = request_member(piece, "function");
    if (c->id.n == 0) buf_add(&c->id, request_text(piece, "id"));
    Str name = request_text(function, "name");
    if (!str_eq(buf_str(&c->name), name)) buf_add(&c->name, name);    /* repeated in every piece by some */
    return add_arguments(&c->arguments, request_member(function, "arguments"), err);
}

static bool read_choice(Reading *r, Value choice, const char *part, Error *err) {
    Value delta = request_member(choice, part);
    Str reason = request_text(choice, "finish_reason");
    Str text = request_text(delta, "content"), refusal = request_text(delta, "refusal");
    const List *calls = request_list(delta, "tool_calls");
    if (text.n || refusal.n || (calls && calls->n)) r->stream->started = true;
    provider_text(&r->draft, text);
    provider_text(&r->draft, refusal);
    for (uint32_t i = 0; calls && i < calls->n; i++)
        if (!read_call(r, calls->at[i], err)) return false;
    if (reason.n) {
        if (str_eq(reason, STR("function_call"))) reason = STR("tool_calls");
        snprintf(r->draft.reply->finish_reason, sizeof r->draft.reply->finish_reason, STR_FMT, STR_ARG(reason));
        r->draft.finished = true;
    }
    return true;
}

/* An error inside of a stream has no status; its code or type says whether it may pass. */
static bool read_error(Reading *r, Value error, Error *err) {
    Str words = value_is_string(error) ? value_str(error) : request_text(error, "message"), type = request_text(error, "type");
    int64_t code = request_int(error, "code");
    r->transient = code == 429 || code >= 500 || str_eq(type, STR("server_error")) || str_eq(type, STR("rate_limit_error"));
    Buf quote = { 0 };
    provider_quote(r->m, words.n ? words : STR("an error without a message"), 400, &quote);
    error_set(err, ERR_PROVIDER, "openai: " STR_FMT, STR_ARG(buf_str(&quote)));
    buf_clear(&quote);
    return false;
}

static bool not_json(Reading *r, Str text, Error *err) {
    Buf quote = { 0 };
    provider_quote(r->m, text, 120, &quote);
    r->transient = true;
    error_set(err, ERR_PROVIDER, "openai sent what is not a JSON object: " STR_FMT, STR_ARG(buf_str(&quote)));
    buf_clear(&quote);
    return false;
}

static bool read_document(Reading *r, Str text, const char *part, Error *err) {
    Value root;
    heap_reset(r->heap);
    if (!provider_json(r->heap, text, &r->half, &root, err) || !value_is_dict(root)) return not_json(r, text, err);
    Value error = request_member(root, "error");
    if (!value_is_gone(error) && !value_is_none(error)) return read_error(r, error, err);
    read_usage(&r->draft.reply->usage, request_member(root, "usage"));
    const List *choices = request_list(root, "choices");
    return !choices || choices->n == 0 || read_choice(r, choices->at[0], part, err);
}

static bool on_event(void *ctx, Str event, Str data, Error *err) {
    Reading *r = ctx;
    (void)event;
    if (r->done || data.n == 0) return true;
    if (str_eq(str_trim(data), STR("[DONE]"))) return r->done = true;
    return read_document(r, data, "delta", err);
}

static bool on_whole(void *ctx, Str body, Error *err) { return read_document(ctx, body, "message", err); }

static bool settle(Reading *r, Error *err) {
    ModelReply *reply = r->draft.reply;
    if (!r->draft.finished && !r->done)
        return error_set(err, ERR_PROVIDER, "openai: the stream ended in the middle of the answer");
    if (!reply->finish_reason[0]) snprintf(reply->finish_reason, sizeof reply->finish_reason, "%s", r->draft.n ? "tool_calls" : "stop");
    return provider_finish(&r->draft, err);
}

static bool complete(Model *m, const ModelRequest *request, Cancel *cancel, ModelReply *out, bool *retry, int64_t *wait_ms, Error *err) {
    ProviderStream stream = { .on_event = on_event, .on_whole = on_whole };
    Reading r = { .m = m, .draft = { .reply = out, .request = request }, .stream = &stream, .heap = heap_new((size_t)256 << 20) };
    stream.ctx = &r;
    Buf body = { 0 };
    bool ok = write_request(m, request, &body, err) && provider_post(m, buf_str(&body), &stream, cancel, retry, wait_ms, err);
    if (!ok && r.transient) *retry = !stream.started;
    if (ok && !(ok = settle(&r, err))) *retry = !stream.started && strcmp(out->finish_reason, "content_filter") != 0;
    provider_draft_clear(&r.draft);
    heap_free(r.heap);
    buf_clear(&body);
    return ok;
}

static bool open(Model *m, const Project *p, Error *err) {
    (void)p;
    bool copilot = str_eq(m->def.provider, STR("copilot"));
    if (!provider_http_open(m, copilot ? "https://api.githubcopilot.com" : "https://api.openai.com/v1", "/chat/completions",
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
