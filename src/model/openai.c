/* Chat Completions: OpenAI and every compatible server. Members of a reply that only its provider understands (signatures of tool calls,
 * reasoning_content) are sent back unchanged. */
#include <stdio.h>
#include "model/openai.h"
#include "model/request.h"

/* ---- request ---- */

/* Gemini refuses calls of another model that have no signature; this value is documented for that case. */
#define GEMINI_STAND_IN ",\"extra_content\":{\"google\":{\"thought_signature\":\"skip_thought_signature_validator\"}}"

static bool needs_signature(Str model) {
    return str_starts(model, STR("gemini-")) && !str_starts(model, STR("gemini-1")) && !str_starts(model, STR("gemini-2"));
}

/* The arguments of a call, its id as the server knows it, followed by `extra`: ,"name":value or nothing. */
static void write_call(Buf *b, Str id, Str name, Str arguments, Str extra) {
    buf_add_char(b, '{');
    request_string(b, "id", id);
    request_string(b, "type", STR("function"));
    request_key(b, "function");
    buf_add_char(b, '{');
    request_string(b, "name", name);
    request_string(b, "arguments", arguments.n ? arguments : STR("{}"));        /* some servers read it as JSON */
    buf_add_char(b, '}');
    buf_add(b, extra);
    buf_add_char(b, '}');
}

static void write_calls(Buf *b, const List *calls, bool signature) {
    request_key(b, "tool_calls");
    buf_add_char(b, '[');
    for (uint32_t i = 0; i < calls->n; i++) {
        if (i) buf_add_char(b, ',');
        write_call(b, value_member_text(calls->at[i], "id"), value_member_text(calls->at[i], "name"), value_member_text(calls->at[i], "arguments"),
                   signature && i == 0 ? STR(GEMINI_STAND_IN) : STR(""));
    }
    buf_add_char(b, ']');
}

static void write_text_part(Buf *b, Str text) {
    if (b->at[b->n - 1] == '}') buf_add_char(b, ',');
    buf_add(b, STR("{\"type\":\"text\""));
    request_string(b, "text", text);
    buf_add_char(b, '}');
}

static void write_media_part(Buf *b, const MediaRule *rule, uint32_t at, Value part) {
    Buf line = { 0 };
    if (!request_sends_media(rule, at, part, &line)) {
        write_text_part(b, buf_str(&line));
    } else {
        if (b->at[b->n - 1] == '}') buf_add_char(b, ',');
        bool file = parts_is(part, "file");
        buf_add(b, file ? STR("{\"type\":\"file\",\"file\":{") : STR("{\"type\":\"image_url\",\"image_url\":{"));
        if (file) request_string(b, "filename", value_member_text(part, "name"));
        request_data_url(b, file ? "file_data" : "url", part);
        buf_add(b, STR("}}"));
    }
    buf_clear(&line);
}

static void write_parts(Buf *b, const MediaRule *rule, uint32_t at, const List *parts) {
    request_key(b, "content");
    buf_add_char(b, '[');
    for (uint32_t i = 0; i < parts->n; i++) {
        if (parts_is_media(parts->at[i])) write_media_part(b, rule, at, parts->at[i]);
        else if (parts_is(parts->at[i], "text")) write_text_part(b, value_member_text(parts->at[i], "text"));
    }
    buf_add_char(b, ']');
}

/* Tool results are text on this wire: their images and files follow the results as a user message. */
static void write_result_media(Buf *b, const MediaRule *rule, const List *messages, uint32_t from, uint32_t to) {
    bool any = false;
    for (uint32_t i = from; i < to; i++) {
        const List *parts = request_list(messages->at[i], "parts");
        if (!request_has_media(messages->at[i])) continue;
        if (!any) buf_add(b, STR(",{\"role\":\"user\",\"content\":["));
        any = true;
        Buf line = { 0 };
        buf_add_fmt(&line, "[from the result of call " STR_FMT "]", STR_ARG(value_member_text(messages->at[i], "tool_call_id")));
        write_text_part(b, buf_str(&line));
        buf_clear(&line);
        for (uint32_t k = 0; k < parts->n; k++)
            if (parts_is_media(parts->at[k])) write_media_part(b, rule, i, parts->at[k]);
    }
    if (any) buf_add(b, STR("]}"));
}

static void write_message(Buf *b, const ItemsMatch *match, const MediaRule *rule, uint32_t at, bool signature, Value message) {
    const List *calls = request_list(message, "tool_calls");
    Str text = value_member_text(message, "content");
    buf_add_char(b, '{');
    request_string(b, "role", value_member_text(message, "role"));
    if (request_role(message) == ROLE_USER && request_has_media(message)) {
        write_parts(b, rule, at, request_list(message, "parts"));
    } else if (text.n == 0 && calls && calls->n) {
        request_key(b, "content");
        buf_add(b, STR("null"));
    } else {
        request_string(b, "content", text);
    }
    if (calls && calls->n) write_calls(b, calls, signature);
    Str call = value_member_text(message, "tool_call_id");
    if (call.n) request_string(b, "tool_call_id", items_own_id(match, call));
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

bool openai_reasons(Str model) {
    static const char *const plain[] = { "gpt-3", "gpt-4", "chatgpt-" };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (str_starts(model, str_from(plain[i]))) return false;
    return true;
}

/* OpenAI's reasoning models refuse max_tokens and know only the newer name. */
static const char *limit_name(Str model) {
    bool reasoning = (model.n > 1 && model.at[0] == 'o' && model.at[1] >= '1' && model.at[1] <= '9')
                  || (str_starts(model, STR("gpt-")) && openai_reasons(model));
    return reasoning ? "max_completion_tokens" : "max_tokens";
}

static void write_messages(Buf *b, const Model *m, const ModelRequest *r) {
    const List *messages = value_list(r->messages);
    MediaRule rule = request_media_rule(m->takes, messages);
    ItemsMatch match;
    items_match(r->items, m->origin, messages, &match);
    request_key(b, "messages");
    buf_add_char(b, '[');
    for (uint32_t i = 0, results = 0; i < messages->n; i++) {
        if (i) buf_add_char(b, ',');
        if (match.of[i]) buf_add(b, str_sub(match.of[i]->list, 1, match.of[i]->list.n - 1));
        else write_message(b, &match, &rule, i, needs_signature(m->def.name), messages->at[i]);
        bool result = request_role(messages->at[i]) == ROLE_TOOL, last = i + 1 == messages->n || request_role(messages->at[i + 1]) != ROLE_TOOL;
        if (!result) results = i + 1;
        else if (last) write_result_media(b, &rule, messages, results, i + 1);
    }
    buf_add_char(b, ']');
    items_match_clear(&match);
}

static bool write_request(const Model *m, const ModelRequest *r, Heap *scratch, Buf *b, Error *err) {
    (void)scratch;
    int64_t limit = r->max_tokens ? r->max_tokens : m->def.max_tokens;
    Str effort = model_effort(m, r);
    buf_add_char(b, '{');
    request_string(b, "model", m->def.name);
    write_messages(b, m, r);
    if (effort.n) request_string(b, "reasoning_effort", effort);
    if (value_is_list(r->tools) && value_list(r->tools)->n && !write_tools(b, value_list(r->tools), err)) return false;
    if (r->output_schema) {
        buf_add(b, STR(",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"answer\""));
        if (!request_value(b, "schema", *r->output_schema, err)) return false;
        buf_add(b, STR("}}"));
    }
    if (limit) {
        request_key(b, limit_name(m->def.name));
        buf_add_fmt(b, "%lld", (long long)limit);
    }
    if (!value_is_gone(m->def.temperature) && !request_value(b, "temperature", m->def.temperature, err)) return false;
    if (!value_is_gone(m->def.top_p) && !request_value(b, "top_p", m->def.top_p, err)) return false;
    buf_add(b, STR(",\"stream\":true,\"stream_options\":{\"include_usage\":true}}"));
    return true;
}

/* ---- reply ---- */

static void read_usage(ModelUsage *u, Value usage) {
    if (!value_is_dict(usage)) return;
    u->input = request_int(usage, "prompt_tokens");
    u->output = request_int(usage, "completion_tokens");
    u->cached = request_int(value_member(usage, "prompt_tokens_details"), "cached_tokens");
    u->reasoning = request_int(value_member(usage, "completion_tokens_details"), "reasoning_tokens");
}

/* Some servers send arguments as an object, not as text. */
static bool add_arguments(Buf *out, Value arguments, Error *err) {
    if (value_is_string(arguments)) buf_add(out, value_str(arguments));
    else if (value_is_dict(arguments)) return json_write(out, arguments, NULL, err);
    return true;
}

/* Some servers send no index: then a new id starts a new call, and any other piece belongs to the last call. */
static int64_t call_index(HttpTurn *x, Value piece) {
    Value index = value_member(piece, "index");
    if (value_is_small(index)) return x->last = value_small(index);
    Str id = value_member_text(piece, "id");
    if (x->draft.n == 0 || (id.n && !str_eq(id, buf_str(&x->draft.calls[x->draft.n - 1].id)))) return x->last = (int64_t)x->draft.n;
    return x->last;
}

/* Collects the members that the wire format does not define, the first value of each: ,"name":value. */
static bool keep_extra(Buf *extra, Value piece, const char *const *named, Error *err) {
    Entry *e;
    for (uint32_t i = 0; value_is_dict(piece) && dict_next(value_dict(piece), &i, &e);) {
        Str name = value_str(e->key);
        bool known = value_is_none(e->value);
        for (size_t k = 0; named[k] && !known; k++) known = str_eq(name, str_from(named[k]));
        if (known) continue;
        size_t before = extra->n;
        buf_add_char(extra, ',');
        json_write_string(extra, name, false);
        buf_add_char(extra, ':');
        bool twice = str_find(str_sub(buf_str(extra), 0, before), str_sub(buf_str(extra), before, extra->n)) >= 0;
        if (twice) extra->n = before;
        else if (!json_write(extra, e->value, NULL, err)) return false;
    }
    return true;
}

static bool read_call(HttpTurn *x, Value piece, Error *err) {
    static const char *const named[] = { "index", "id", "type", "function", NULL };
    ProviderCall *c = http_turn_call(x, call_index(x, piece), err);
    if (!c) return false;
    Value function = value_member(piece, "function");
    if (c->id.n == 0) buf_add(&c->id, value_member_text(piece, "id"));
    Str name = value_member_text(function, "name");
    if (!str_eq(buf_str(&c->name), name)) buf_add(&c->name, name);    /* some servers repeat it in every piece */
    return keep_extra(&c->extra, piece, named, err) && add_arguments(&c->arguments, value_member(function, "arguments"), err);
}

/* Two names of the same member; only reasoning_content is sent back. */
static void read_reasoning(HttpTurn *x, Value delta) {
    Str content = value_member_text(delta, "reasoning_content");
    if (content.n) x->reasoning_back = true;
    http_turn_reasoning(x, content.n ? content : value_member_text(delta, "reasoning"));
}

static bool read_choice(HttpTurn *x, Value choice, const char *part, Error *err) {
    Value delta = value_member(choice, part);
    Str reason = value_member_text(choice, "finish_reason");
    const List *calls = request_list(delta, "tool_calls");
    Value signature = value_member(delta, "extra_content");
    read_reasoning(x, delta);
    if (value_is_dict(signature) && x->extra.n == 0) {
        buf_add(&x->extra, STR(",\"extra_content\":"));
        if (!json_write(&x->extra, signature, NULL, err)) return false;
    }
    http_turn_text(x, value_member_text(delta, "content"));
    http_turn_text(x, value_member_text(delta, "refusal"));
    for (uint32_t i = 0; calls && i < calls->n; i++)
        if (!read_call(x, calls->at[i], err)) return false;
    http_turn_finish(x, str_eq(reason, STR("function_call")) ? STR("tool_calls") : reason);
    return true;
}

/* An error inside a stream has no HTTP status; its code or type tells whether it is transient. */
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

static bool has_extra(const HttpTurn *x) {
    bool found = x->extra.n > 0 || x->reasoning_back;
    for (size_t i = 0; i < x->draft.n; i++) found = found || x->draft.calls[i].extra.n > 0;
    return found;
}

/* The whole message, if it has more than its neutral form. */
static bool on_end(HttpTurn *x, Error *err) {
    (void)err;
    const ModelReply *r = x->draft.reply;
    Buf *b = &x->draft.reply->items;
    if (!has_extra(x)) return true;
    b->limit = PROVIDER_REPLY_MAX;
    buf_add(b, STR("[{\"role\":\"assistant\""));
    if (r->text.n || x->draft.n == 0) request_string(b, "content", buf_str(&r->text));
    else buf_add(b, STR(",\"content\":null"));
    if (x->reasoning_back) request_string(b, "reasoning_content", buf_str(&r->reasoning));
    for (size_t i = 0; i < x->draft.n; i++) {
        const ProviderCall *c = &x->draft.calls[i];
        buf_add(b, i ? STR(",") : STR(",\"tool_calls\":["));
        write_call(b, buf_str(&c->id), buf_str(&c->name), str_trim(buf_str(&c->arguments)), buf_str(&c->extra));
    }
    if (x->draft.n) buf_add_char(b, ']');
    buf_add(b, buf_str(&x->extra));
    buf_add(b, STR("}]"));
    return true;
}

const HttpTurnWire openai_chat_wire = { write_request, on_event, on_whole, on_end };

/* ---- the provider ---- */

/* OpenAI's own address uses Responses; for any other address only the profile can tell. */
static bool is_responses(const ModelDef *def) {
    ModelRoute r = { 0 };
    if (def->wire.n) return str_eq(def->wire, STR("responses"));
    provider_route(def, &r);
    return def->provider == PROVIDER_OPENAI && str_eq(r.base, str_from(project_provider_url(PROVIDER_OPENAI)));
}

static void route(const ModelDef *def, ModelRoute *out) {
    bool responses = is_responses(def);
    provider_route(def, out);
    out->wire = responses ? "responses" : "chat";
    out->path = responses ? "/responses" : "/chat/completions";
}

static bool complete(Model *m, const ModelRequest *request, Cancel *cancel, ModelReply *out, bool *retry, int64_t *wait_ms, Error *err) {
    return http_turn_run(m, m->wire, request, cancel, out, retry, wait_ms, err);
}

static bool open(Model *m, const Project *p, Error *err) {
    (void)p;
    bool copilot = m->def.provider == PROVIDER_COPILOT;
    m->wire = is_responses(&m->def) ? &openai_responses_wire : &openai_chat_wire;
    if (!http_turn_open(m, err)) return false;
    m->headers[m->n_headers++] = (ClientHeader){ STR("Content-Type"), STR("application/json") };
    m->headers[m->n_headers++] = (ClientHeader){ STR("Accept"), STR("text/event-stream") };
    if (copilot) m->headers[m->n_headers++] = (ClientHeader){ STR("Copilot-Integration-Id"), STR("vscode-chat") };
    if (m->key.n)
        m->headers[m->n_headers++] =
            (ClientHeader){ STR("Authorization"), str_from(arena_fmt(&m->arena, "Bearer " STR_FMT, STR_ARG(m->key))) };
    return true;
}

const Provider provider_openai = { "openai", open, route, complete, NULL };
