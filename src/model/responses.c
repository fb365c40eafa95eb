/* OpenAI's Responses API, stateless: the server stores nothing (`store: false`), so the reasoning of earlier replies is sent back in encrypted
 * form. Requests to any Open Responses server are the same. */
#include <stdio.h>
#include "model/http_turn.h"
#include "model/openai.h"
#include "model/request.h"

/* ---- the request ---- */

static void separate(Buf *b) {
    if (b->n && b->at[b->n - 1] != '[') buf_add_char(b, ',');
}

static void write_message(Buf *b, Str role, Str text) {
    separate(b);
    buf_add(b, STR("{\"type\":\"message\""));
    request_string(b, "role", role);
    request_string(b, "content", text);
    buf_add_char(b, '}');
}

static void write_call(Buf *b, Value call) {
    Str arguments = value_member_text(call, "arguments");
    separate(b);
    buf_add(b, STR("{\"type\":\"function_call\""));
    request_string(b, "call_id", value_member_text(call, "id"));
    request_string(b, "name", value_member_text(call, "name"));
    request_string(b, "arguments", arguments.n ? arguments : STR("{}"));
    buf_add_char(b, '}');
}

/* Text and calls in their order; reasoning without its item is useless to the server. */
static void write_answer(Buf *b, Value message) {
    const List *calls = request_list(message, "tool_calls"), *parts = request_list(message, "parts");
    Str text = value_member_text(message, "content");
    for (uint32_t i = 0; parts && i < parts->n; i++) {
        if (parts_is(parts->at[i], "text")) write_message(b, STR("assistant"), value_member_text(parts->at[i], "text"));
        if (parts_is(parts->at[i], "call")) write_call(b, parts->at[i]);
    }
    if ((text.n && !parts) || (text.n == 0 && (!calls || calls->n == 0))) write_message(b, STR("assistant"), text);
    for (uint32_t i = 0; !parts && calls && i < calls->n; i++) write_call(b, calls->at[i]);
}

static void write_input_text(Buf *b, Str text) {
    separate(b);
    buf_add(b, STR("{\"type\":\"input_text\""));
    request_string(b, "text", text);
    buf_add_char(b, '}');
}

static void write_media(Buf *b, const MediaRule *rule, uint32_t at, Value part) {
    Buf line = { 0 };
    if (!request_sends_media(rule, at, part, &line)) {
        write_input_text(b, buf_str(&line));
    } else if (parts_is(part, "file")) {
        separate(b);
        buf_add(b, STR("{\"type\":\"input_file\""));
        request_string(b, "filename", value_member_text(part, "name"));
        request_data_url(b, "file_data", part);
        buf_add_char(b, '}');
    } else {
        separate(b);
        buf_add(b, STR("{\"type\":\"input_image\",\"detail\":\"auto\""));
        request_data_url(b, "image_url", part);
        buf_add_char(b, '}');
    }
    buf_clear(&line);
}

/* The text itself, or a list of typed parts. */
static void write_content(Buf *b, const char *key, const MediaRule *rule, uint32_t at, Value message) {
    const List *parts = request_list(message, "parts");
    if (!request_has_media(message)) {
        request_string(b, key, value_member_text(message, "content"));
        return;
    }
    request_key(b, key);
    buf_add_char(b, '[');
    for (uint32_t i = 0; i < parts->n; i++) {
        if (parts_is_media(parts->at[i])) write_media(b, rule, at, parts->at[i]);
        else if (value_member_text(parts->at[i], "text").n) write_input_text(b, value_member_text(parts->at[i], "text"));
    }
    buf_add_char(b, ']');
}

static void write_user(Buf *b, const MediaRule *rule, uint32_t at, Value message) {
    separate(b);
    buf_add(b, STR("{\"type\":\"message\",\"role\":\"user\""));
    write_content(b, "content", rule, at, message);
    buf_add_char(b, '}');
}

static void write_result(Buf *b, const ItemsMatch *match, const MediaRule *rule, uint32_t at, Value message) {
    separate(b);
    buf_add(b, STR("{\"type\":\"function_call_output\""));
    request_string(b, "call_id", items_own_id(match, value_member_text(message, "tool_call_id")));
    write_content(b, "output", rule, at, message);
    buf_add_char(b, '}');
}

static void write_items(Buf *b, Str list) {
    if (list.n <= 2) return;
    separate(b);
    buf_add(b, str_sub(list, 1, list.n - 1));
}

static void write_input(Buf *b, const List *messages, unsigned takes, const ItemsMatch *match) {
    MediaRule rule = request_media_rule(takes, messages);
    request_key(b, "input");
    buf_add_char(b, '[');
    for (uint32_t i = 0; i < messages->n; i++) {
        Value message = messages->at[i];
        Role role = request_role(message);
        if (role == ROLE_SYSTEM) continue;
        if (match->of[i]) write_items(b, match->of[i]->list);
        else if (role == ROLE_ASSISTANT) write_answer(b, message);
        else if (role == ROLE_TOOL) write_result(b, match, &rule, i, message);
        else write_user(b, &rule, i, message);
    }
    buf_add_char(b, ']');
}

static void write_instructions(Buf *b, const List *messages) {
    Buf text = { 0 };
    request_system(messages, &text);
    if (text.n) request_string(b, "instructions", buf_str(&text));
    buf_clear(&text);
}

/* `strict` is on by default, and refuses schemas with optional parameters. */
static bool write_tools(Buf *b, const List *tools, Error *err) {
    request_key(b, "tools");
    buf_add_char(b, '[');
    for (uint32_t i = 0; i < tools->n; i++) {
        separate(b);
        buf_add(b, STR("{\"type\":\"function\""));
        request_string(b, "name", value_member_text(tools->at[i], "name"));
        request_string(b, "description", value_member_text(tools->at[i], "description"));
        if (!request_value(b, "parameters", value_member(tools->at[i], "parameters"), err)) return false;
        buf_add(b, STR(",\"strict\":false}"));
    }
    buf_add(b, STR("],\"parallel_tool_calls\":true"));
    return true;
}

/* Models that do not reason refuse both members. */
static void write_reasoning(Buf *b, const Model *m, const ModelRequest *r) {
    Str effort = model_effort(m, r);
    if (!openai_reasons(m->def.name)) return;
    buf_add(b, STR(",\"include\":[\"reasoning.encrypted_content\"]"));
    buf_add(b, STR(",\"reasoning\":{\"summary\":\"auto\""));
    if (effort.n) request_string(b, "effort", effort);
    buf_add_char(b, '}');
}

static bool write_request(const Model *m, const ModelRequest *r, Heap *scratch, Buf *b, Error *err) {
    (void)scratch;
    int64_t limit = r->max_tokens ? r->max_tokens : m->def.max_tokens;
    const List *messages = value_list(r->messages);
    ItemsMatch match;
    buf_add_char(b, '{');
    request_string(b, "model", m->def.name);
    write_instructions(b, messages);
    if (value_is_list(r->tools) && value_list(r->tools)->n && !write_tools(b, value_list(r->tools), err)) return false;
    items_match(r->items, m->origin, messages, &match);
    write_input(b, messages, m->takes, &match);
    items_match_clear(&match);
    write_reasoning(b, m, r);
    if (r->output_schema) {
        buf_add(b, STR(",\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"answer\""));
        if (!request_value(b, "schema", *r->output_schema, err)) return false;
        buf_add(b, STR(",\"strict\":false}}"));
    }
    if (limit) {
        request_key(b, "max_output_tokens");
        buf_add_fmt(b, "%lld", (long long)limit);
    }
    if (!value_is_gone(m->def.temperature) && !request_value(b, "temperature", m->def.temperature, err)) return false;
    if (!value_is_gone(m->def.top_p) && !request_value(b, "top_p", m->def.top_p, err)) return false;
    if (r->cache_key.n) request_string(b, "prompt_cache_key", r->cache_key);
    buf_add(b, STR(",\"store\":false,\"stream\":true}"));
    return true;
}

/* ---- the reply ---- */

static void read_usage(ModelUsage *u, Value usage) {
    if (!value_is_dict(usage)) return;
    u->input = request_int(usage, "input_tokens");
    u->output = request_int(usage, "output_tokens");
    u->cached = request_int(value_member(usage, "input_tokens_details"), "cached_tokens");
    u->reasoning = request_int(value_member(usage, "output_tokens_details"), "reasoning_tokens");
}

static bool is_type(Value v, const char *type) { return str_eq(value_member_text(v, "type"), str_from(type)); }

/* Texts of a message or a summary, for servers that send an item in one piece. */
static void read_texts(HttpTurn *x, Value item, const char *key, void (*add)(HttpTurn *x, Str piece)) {
    const List *content = request_list(item, key);
    for (uint32_t i = 0; content && i < content->n; i++) {
        add(x, value_member_text(content->at[i], "text"));
        add(x, value_member_text(content->at[i], "refusal"));
    }
}

static bool read_call(HttpTurn *x, int64_t index, Value item, Error *err) {
    ProviderCall *c = http_turn_call(x, index, err);
    if (!c) return false;
    Str id = value_member_text(item, "call_id"), arguments = value_member_text(item, "arguments");
    if (c->id.n == 0) buf_add(&c->id, id);
    if (c->name.n == 0) buf_add(&c->name, value_member_text(item, "name"));
    if (arguments.n) {                                       /* all of them: they replace the pieces received before */
        buf_reset(&c->arguments);
        buf_add(&c->arguments, arguments);
    }
    return true;
}

/* A complete item. Its text was received in pieces, or is only here. */
static bool read_item(HttpTurn *x, int64_t index, Value item, Error *err) {
    bool told = http_turn_told(x, index);
    if (is_type(item, "message") && !told) read_texts(x, item, "content", http_turn_text);
    if (is_type(item, "reasoning") && !told) {
        read_texts(x, item, "summary", http_turn_reasoning);
        read_texts(x, item, "content", http_turn_reasoning);
    }
    if (is_type(item, "function_call") && !read_call(x, index, item, err)) return false;
    return http_turn_item(x, item, err);
}

static bool read_error(HttpTurn *x, Value error, Error *err) {
    Str code = value_member_text(error, "code"), words = value_member_text(error, "message");
    bool transient = str_eq(code, STR("server_error")) || str_eq(code, STR("rate_limit_exceeded")) || str_eq(code, STR("vector_store_timeout"))
                  || request_int(error, "code") == 429 || request_int(error, "code") >= 500;
    return http_turn_refused(x, words.n ? words : code, transient, err);
}

static bool read_end(HttpTurn *x, Value response, Error *err) {
    Value error = value_member(response, "error");
    Str status = value_member_text(response, "status"), why = value_member_text(value_member(response, "incomplete_details"), "reason");
    read_usage(&x->draft.reply->usage, value_member(response, "usage"));
    if (str_eq(status, STR("failed")) || value_is_dict(error)) return read_error(x, error, err);
    if (str_eq(status, STR("incomplete"))) http_turn_finish(x, str_eq(why, STR("content_filter")) ? why : STR("length"));
    else http_turn_finish(x, x->draft.n ? STR("tool_calls") : STR("stop"));
    return x->done = true;
}

/* Reads what only the closing event contains, for servers that send no events for items. */
static bool read_output(HttpTurn *x, Value response, Error *err) {
    const List *output = request_list(response, "output");
    if (x->n_items) return true;
    for (uint32_t i = 0; output && i < output->n; i++)
        if (!read_item(x, i, output->at[i], err)) return false;
    return true;
}

static bool on_event(HttpTurn *x, Str event, Str data, Error *err) {
    Value root;
    if (str_eq(str_trim(data), STR("[DONE]"))) return x->done = true;
    if (!http_turn_document(x, data, &root, err)) return false;
    Str type = value_member_text(root, "type").n ? value_member_text(root, "type") : event;
    int64_t index = request_int(root, "output_index");
    Value item = value_member(root, "item"), response = value_member(root, "response");
    if (str_eq(type, STR("error"))) return read_error(x, value_is_dict(value_member(root, "error")) ? value_member(root, "error") : root, err);
    if (str_eq(type, STR("response.output_text.delta")) || str_eq(type, STR("response.refusal.delta"))) {
        http_turn_tell(x, index);
        http_turn_text(x, value_member_text(root, "delta"));
    } else if (str_eq(type, STR("response.reasoning_summary_text.delta")) || str_eq(type, STR("response.reasoning_text.delta"))) {
        http_turn_tell(x, index);
        http_turn_reasoning(x, value_member_text(root, "delta"));
    } else if (str_eq(type, STR("response.output_item.added"))) {
        return !is_type(item, "function_call") || read_call(x, index, item, err);
    } else if (str_eq(type, STR("response.function_call_arguments.delta"))) {
        ProviderCall *c = http_turn_call(x, index, err);
        if (!c) return false;
        buf_add(&c->arguments, value_member_text(root, "delta"));
    } else if (str_eq(type, STR("response.function_call_arguments.done"))) {
        return read_call(x, index, root, err);
    } else if (str_eq(type, STR("response.output_item.done"))) {
        return read_item(x, index, item, err);
    } else if (str_eq(type, STR("response.completed")) || str_eq(type, STR("response.incomplete")) || str_eq(type, STR("response.failed"))) {
        return read_output(x, response, err) && read_end(x, response, err);
    }
    return true;
}

static bool on_whole(HttpTurn *x, Str body, Error *err) {
    Value root;
    if (!http_turn_document(x, body, &root, err)) return false;
    Value error = value_member(root, "error");
    if (value_is_dict(error)) return read_error(x, error, err);
    return read_output(x, root, err) && read_end(x, root, err);
}

const HttpTurnWire openai_responses_wire = { write_request, on_event, on_whole, NULL };
