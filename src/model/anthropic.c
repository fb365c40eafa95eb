/* Anthropic's Messages. Blocks of thinking carry signatures and go back in order, before the calls that followed them. */
#include <stdio.h>
#include <stdlib.h>
#include "model/http_turn.h"
#include "model/request.h"

enum { DEFAULT_MAX_TOKENS = 8192, BUDGET_LEAST = 1024 };
#define CACHE_MARK ",\"cache_control\":{\"type\":\"ephemeral\"}"

/* ---- request ---- */

/* A call's input must be an object. Arguments written by a model may not even be JSON; those are sent back as text. */
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

static void close_block(Buf *b, bool mark) {
    if (mark) buf_add(b, STR(CACHE_MARK));
    buf_add_char(b, '}');
}

static void write_text_block(Buf *b, Str text, bool mark) {
    open_block(b, "text");
    request_string(b, "text", text);
    close_block(b, mark);
}

static bool write_assistant(Buf *b, Heap *scratch, Value message, Error *err) {
    const List *calls = request_list(message, "tool_calls"), *parts;
    Str text = value_member_text(message, "content");
    List *own;
    if (!parts_of(scratch, message, &own, err)) return false;
    parts = own;
    for (uint32_t i = 0; i < parts->n; i++) {
        Str piece = value_member_text(parts->at[i], "text");
        if (parts_is(parts->at[i], "text") && str_trim(piece).n) write_text_block(b, piece, false);
        if (!parts_is(parts->at[i], "call")) continue;
        open_block(b, "tool_use");
        request_string(b, "id", value_member_text(parts->at[i], "id"));
        request_string(b, "name", value_member_text(parts->at[i], "name"));
        if (!write_input(b, scratch, value_member_text(parts->at[i], "arguments"), err)) return false;
        buf_add_char(b, '}');
    }
    if (str_trim(text).n == 0 && (!calls || calls->n == 0)) write_text_block(b, STR("(no answer)"), false);   /* empty is refused */
    return true;
}

static void write_media(Buf *b, const MediaRule *rule, uint32_t at, Value part, bool mark) {
    Buf line = { 0 };
    if (!request_sends_media(rule, at, part, &line)) {
        write_text_block(b, buf_str(&line), mark);
    } else {
        open_block(b, parts_is(part, "file") ? "document" : "image");
        buf_add(b, STR(",\"source\":{\"type\":\"base64\""));
        request_string(b, "media_type", value_member_text(part, "mime"));
        buf_add(b, STR(",\"data\":\""));
        buf_add(b, value_member_text(part, "data"));
        buf_add(b, STR("\"}"));
        close_block(b, mark);
    }
    buf_clear(&line);
}

/* Text and media in their order; `mark` is added to the last one. */
static void write_parts(Buf *b, const MediaRule *rule, uint32_t at, const List *parts, bool mark) {
    for (uint32_t i = 0; i < parts->n; i++) {
        Str text = value_member_text(parts->at[i], "text");
        bool last = mark && i + 1 == parts->n;
        if (parts_is_media(parts->at[i])) write_media(b, rule, at, parts->at[i], last);
        else if (str_trim(text).n) write_text_block(b, text, last);
    }
}

static void write_tool_result(Buf *b, const ItemsMatch *match, const MediaRule *rule, uint32_t at, Value message, bool mark) {
    Str text = value_member_text(message, "content");
    open_block(b, "tool_result");
    request_string(b, "tool_use_id", items_own_id(match, value_member_text(message, "tool_call_id")));
    if (request_has_media(message)) {
        request_key(b, "content");
        buf_add_char(b, '[');
        write_parts(b, rule, at, request_list(message, "parts"), false);
        buf_add_char(b, ']');
    } else if (text.n) {
        request_string(b, "content", text);
    }
    Value is_error = value_member(message, "is_error");
    if (value_is_bool(is_error) && value_bool(is_error)) buf_add(b, STR(",\"is_error\":true"));
    close_block(b, mark);
}

static void write_own_blocks(Buf *b, Str list) {
    if (b->n && b->at[b->n - 1] == '}') buf_add_char(b, ',');
    buf_add(b, str_sub(list, 1, list.n - 1));
}

typedef struct Writer { Buf *b; Heap *scratch; const List *messages; ItemsMatch match; MediaRule rule; uint32_t marks[2]; } Writer;

static bool is_role(const Writer *w, uint32_t i, Role role) { return request_role(w->messages->at[i]) == role; }

static bool write_blocks(Writer *w, uint32_t i, bool mark, Error *err) {
    Value message = w->messages->at[i];
    Str text = value_member_text(message, "content");
    if (w->match.of[i]) write_own_blocks(w->b, w->match.of[i]->list);
    else if (is_role(w, i, ROLE_ASSISTANT)) return write_assistant(w->b, w->scratch, message, err);
    else if (is_role(w, i, ROLE_TOOL)) write_tool_result(w->b, &w->match, &w->rule, i, message, mark);
    else if (request_has_media(message)) write_parts(w->b, &w->rule, i, request_list(message, "parts"), mark);
    else write_text_block(w->b, str_trim(text).n ? text : STR("(empty)"), mark);
    return true;
}

/* Cache breakpoints are at the two newest user messages. The older one is already in the cache and is read; the newer one is written. */
static void choose_marks(Writer *w) {
    size_t n = 0;
    bool user = false;
    w->marks[0] = w->marks[1] = UINT32_MAX;
    for (uint32_t i = w->messages->n; i-- > 0 && n < 2;) {
        if (is_role(w, i, ROLE_SYSTEM)) continue;
        bool now = !is_role(w, i, ROLE_ASSISTANT);
        if (now && !user) w->marks[n++] = i;
        user = now;
    }
}

/* Roles must alternate: tool results and user text between two replies form one user message. */
static bool write_messages(Writer *w, Error *err) {
    const char *open = NULL;
    request_key(w->b, "messages");
    buf_add_char(w->b, '[');
    for (uint32_t i = 0; i < w->messages->n; i++) {
        if (is_role(w, i, ROLE_SYSTEM)) continue;
        const char *side = is_role(w, i, ROLE_ASSISTANT) ? "assistant" : "user";
        if (!open || strcmp(side, open) != 0) {
            buf_add_fmt(w->b, "%s{\"role\":\"%s\",\"content\":[", open ? "]}," : "", side);
            open = side;
        }
        if (!write_blocks(w, i, i == w->marks[0] || i == w->marks[1], err)) return false;
    }
    buf_add(w->b, open ? STR("]}]") : STR("]"));
    return true;
}

static void write_system(Buf *b, const List *messages) {
    Buf text = { 0 };
    request_system(messages, &text);
    if (text.n) {
        buf_add(b, STR(",\"system\":[{\"type\":\"text\",\"text\":"));
        json_write_string(b, buf_str(&text), false);
        buf_add(b, STR(CACHE_MARK "}]"));
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

/* Tools and prompt do not change between requests: a cache mark on the last of them makes them cheap to resend. */
static bool write_tools(Buf *b, const List *tools, Error *err) {
    request_key(b, "tools");
    if (!provider_anthropic_tools(tools, b, err)) return false;
    b->n -= strlen("}]");
    buf_add(b, STR(CACHE_MARK "}]"));
    return true;
}

/* ---- thinking ---- */

/* The version in a model's name: claude-3-…, claude-opus-4-1, claude-sonnet-4-20250514. False: it has none. */
static bool version_of(Str name, int *major, int *minor) {
    size_t i = 0;
    while (i < name.n && (name.at[i] < '0' || name.at[i] > '9')) i++;
    if (i == name.n) return false;
    *major = name.at[i] - '0';
    *minor = 0;
    if (i + 1 < name.n && name.at[i + 1] >= '0' && name.at[i + 1] <= '9') *major = 10 * *major + name.at[++i] - '0';
    Str rest = str_sub(name, i + 1, name.n);
    bool has_minor = rest.n > 1 && rest.at[0] == '-' && rest.at[1] >= '0' && rest.at[1] <= '9' && (rest.n == 2 || rest.at[2] == '-');
    if (has_minor) *minor = rest.at[1] - '0';
    return true;
}

/* Models up to version 4.5 take a budget, later ones an effort. */
static bool takes_budget(Str name) {
    int major, minor;
    return version_of(name, &major, &minor) && (major < 4 || (major == 4 && minor <= 5));
}

/* Models from version 4.5 on follow a schema. */
static bool takes_schema(const Model *m, const Value *schema) {
    int major, minor;
    return schema && version_of(m->def.name, &major, &minor) && (major > 4 || (major == 4 && minor >= 5)) && provider_anthropic_expresses(*schema);
}

static int64_t budget_of(Str effort) {
    static const struct { const char *effort; int64_t tokens; } rows[] = { { "minimal", 1024 }, { "low", 2048 }, { "medium", 8192 }, { "high", 24576 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (str_eq(effort, str_from(rows[i].effort))) return rows[i].tokens;
    return 0;
}

/* A round without thinking (by another model, or changed since) does not start with a thinking block, and the server refuses to start thinking in
 * the middle of a round. So thinking starts again with the next user message. */
static bool may_think(const Writer *w) {
    for (uint32_t i = w->messages->n; i-- > 0;) {
        if (is_role(w, i, ROLE_USER)) return true;
        const List *calls = request_list(w->messages->at[i], "tool_calls");
        if (is_role(w, i, ROLE_ASSISTANT) && calls && calls->n && !w->match.of[i]) return false;
    }
    return true;
}

/* Also writes max_tokens, because the budget is part of it. */
static void write_thinking(Buf *b, const Model *m, Str effort, bool thinking, int64_t limit) {
    int64_t budget = m->def.thinking_budget ? m->def.thinking_budget : takes_budget(m->def.name) ? budget_of(effort) : 0;
    if (budget && budget < BUDGET_LEAST) budget = BUDGET_LEAST;
    if (thinking && budget && limit <= budget) limit += budget;
    request_key(b, "max_tokens");
    buf_add_fmt(b, "%lld", (long long)limit);
    if (!thinking) return;
    if (budget) {
        buf_add_fmt(b, ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":%lld}", (long long)budget);
        return;
    }
    buf_add(b, STR(",\"thinking\":{\"type\":\"adaptive\",\"display\":\"summarized\"}"));
}

/* The effort, for models without a budget, and the output format. */
static bool write_output(Buf *b, const Model *m, const ModelRequest *r, Str effort, bool thinking, Error *err) {
    bool by_effort = thinking && !m->def.thinking_budget && !(takes_budget(m->def.name) && budget_of(effort)), schema = takes_schema(m, r->output_schema);
    if (!by_effort && !schema) return true;
    buf_add(b, STR(",\"output_config\":{"));
    if (by_effort) request_string(b, "effort", str_eq(effort, STR("minimal")) ? STR("low") : effort);
    if (schema) {
        request_key(b, "format");
        buf_add(b, STR("{\"type\":\"json_schema\""));
        if (!request_value(b, "schema", *r->output_schema, err)) return false;
        buf_add_char(b, '}');
    }
    buf_add_char(b, '}');
    return true;
}

static bool write_request(const Model *m, const ModelRequest *r, Heap *scratch, Buf *b, Error *err) {
    int64_t limit = r->max_tokens ? r->max_tokens : m->def.max_tokens ? m->def.max_tokens : DEFAULT_MAX_TOKENS;
    Str effort = model_effort(m, r);
    Writer w = { .b = b, .scratch = scratch, .messages = value_list(r->messages), .rule = request_media_rule(m->takes, value_list(r->messages)) };
    items_match(r->items, m->origin, w.messages, &w.match);
    bool wanted = effort.n ? !str_eq(effort, STR("none")) : m->def.thinking_budget > 0;
    bool thinking = wanted && may_think(&w);
    if (!thinking) items_match_none(&w.match, w.messages->n);
    choose_marks(&w);
    buf_add_char(b, '{');
    request_string(b, "model", m->def.name);
    write_thinking(b, m, effort, thinking, limit);
    bool ok = write_output(b, m, r, effort, thinking, err);
    ok = ok && (!value_is_list(r->tools) || value_list(r->tools)->n == 0 || write_tools(b, value_list(r->tools), err));
    write_system(b, w.messages);
    ok = ok && write_messages(&w, err);
    if (ok && !thinking) {                                 /* thinking fixes both */
        ok = (value_is_gone(m->def.temperature) || request_value(b, "temperature", m->def.temperature, err))
          && (value_is_gone(m->def.top_p) || request_value(b, "top_p", m->def.top_p, err));
    }
    buf_add(b, STR(",\"stream\":true}"));
    items_match_clear(&w.match);
    return ok;
}

/* ---- reply ---- */

static void read_usage(ModelUsage *u, Value usage) {
    int64_t cached = request_int(usage, "cache_read_input_tokens");
    int64_t written = request_int(usage, "cache_creation_input_tokens"), input = request_int(usage, "input_tokens") + cached + written;
    if (input) {
        u->input = input;
        u->cached = cached;
        u->written = written;
    }
    if (request_int(usage, "output_tokens")) u->output = request_int(usage, "output_tokens");
    int64_t thinking = request_int(value_member(usage, "output_tokens_details"), "thinking_tokens");
    if (thinking) u->reasoning = thinking;
}

static void read_stop(HttpTurn *x, Str reason) {
    static const char *const words[][2] = { { "end_turn", "stop" }, { "stop_sequence", "stop" }, { "tool_use", "tool_calls" },
                                            { "max_tokens", "length" }, { "refusal", "content_filter" } };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_eq(reason, str_from(words[i][0]))) reason = str_from(words[i][1]);
    http_turn_finish(x, reason);
}

static bool is_block(const HttpBlock *b, const char *type) { return str_eq(buf_str(&b->type), str_from(type)); }

static bool is_thinking(const HttpBlock *b) { return is_block(b, "thinking") || is_block(b, "redacted_thinking"); }

static bool is_known(const HttpBlock *b) { return is_thinking(b) || is_block(b, "text") || is_block(b, "tool_use"); }

static bool read_block(HttpTurn *x, int64_t index, Value block, Error *err) {
    Str type = value_member_text(block, "type"), text = value_member_text(block, "text"), thought = value_member_text(block, "thinking");
    HttpBlock *own = http_turn_block(x, index, type.n ? type : STR("text"));
    if (!own) return error_set(err, ERR_PROVIDER, "too many blocks in one reply");
    if (!is_known(own)) {
        buf_reset(&own->text);
        return json_write(&own->text, block, NULL, err);
    }
    http_turn_text(x, text);
    http_turn_reasoning(x, thought);
    buf_add(&own->text, text.n ? text : thought.n ? thought : is_block(own, "redacted_thinking") ? value_member_text(block, "data") : STR(""));
    buf_add(&own->signature, value_member_text(block, "signature"));
    if (!str_eq(type, STR("tool_use"))) return true;
    ProviderCall *c = http_turn_call(x, index, err);
    if (!c) return false;
    if (c->id.n == 0) buf_add(&c->id, value_member_text(block, "id"));
    if (c->name.n == 0) buf_add(&c->name, value_member_text(block, "name"));
    Value input = value_member(block, "input");
    c->object = value_is_dict(input);                        /* complete unless deltas follow */
    return !value_is_dict(input) || value_dict(input)->n == 0 || json_write(&c->arguments, input, NULL, err);
}

static bool read_delta(HttpTurn *x, int64_t index, Value delta, Error *err) {
    Str type = value_member_text(delta, "type"), text = value_member_text(delta, "text"), thought = value_member_text(delta, "thinking");
    bool is_text = str_eq(type, STR("text_delta")), is_thought = str_eq(type, STR("thinking_delta"));
    HttpBlock *own = http_turn_block(x, index, is_text ? STR("text") : is_thought ? STR("thinking") : STR(""));
    if (is_text) http_turn_text(x, text);
    if (is_thought) http_turn_reasoning(x, thought);
    if (own && !is_known(own)) own->partial = true;
    else if (own && is_block(own, is_text ? "text" : "thinking")) buf_add(&own->text, is_text ? text : is_thought ? thought : STR(""));
    if (own && str_eq(type, STR("signature_delta"))) buf_add(&own->signature, value_member_text(delta, "signature"));
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

static bool write_call_block(const HttpTurn *x, const HttpBlock *own, Buf *b, Error *err) {
    for (size_t i = 0; i < x->draft.n; i++) {
        const ProviderCall *c = &x->draft.calls[i];
        if (c->index != own->index) continue;
        request_string(b, "id", buf_str(&c->id));
        request_string(b, "name", buf_str(&c->name));
        return write_input(b, x->heap, str_trim(buf_str(&c->arguments)), err);
    }
    return true;
}

static bool write_block(const HttpTurn *x, const HttpBlock *own, Buf *b, Error *err) {
    if (!is_known(own)) {
        if (b->at[b->n - 1] == '}') buf_add_char(b, ',');
        buf_add(b, buf_str(&own->text));
        return true;
    }
    char *type = str_dup(buf_str(&own->type));
    open_block(b, type);
    free(type);
    bool ok = true;
    if (is_block(own, "text")) request_string(b, "text", buf_str(&own->text));
    if (is_block(own, "redacted_thinking")) request_string(b, "data", buf_str(&own->text));
    if (is_block(own, "thinking")) {
        request_string(b, "thinking", buf_str(&own->text));
        request_string(b, "signature", buf_str(&own->signature));
    }
    if (is_block(own, "tool_use")) ok = write_call_block(x, own, b, err);
    buf_add_char(b, '}');
    return ok;
}

/* All blocks in order, if some of them have no neutral form. A block of an unknown type that arrived in pieces cannot be reassembled. */
static bool on_end(HttpTurn *x, Error *err) {
    bool own = false, partial = false, ok = true;
    for (size_t i = 0; i < x->blocks.n; i++) {
        own = own || is_thinking(&x->blocks.at[i]) || !is_known(&x->blocks.at[i]);
        partial = partial || x->blocks.at[i].partial;
    }
    if (!own || partial) return true;
    Buf *b = &x->draft.reply->items;
    b->limit = PROVIDER_REPLY_MAX;
    buf_add_char(b, '[');
    for (size_t i = 0; ok && i < x->blocks.n; i++) {
        const HttpBlock *one = &x->blocks.at[i];
        if (is_block(one, "text") && str_trim(buf_str(&one->text)).n == 0) continue;        /* empty text is refused */
        ok = write_block(x, one, b, err);
    }
    buf_add_char(b, ']');
    return ok;
}

static const HttpTurnWire messages_wire = { write_request, on_event, on_whole, on_end };

static bool complete(Model *m, const ModelRequest *request, Cancel *cancel, ModelReply *out, bool *retry, int64_t *wait_ms, Error *err) {
    return http_turn_run(m, m->wire, request, cancel, out, retry, wait_ms, err);
}

static void route(const ModelDef *def, ModelRoute *out) {
    provider_route(def, out);
    out->wire = "anthropic";
    out->path = str_ends(out->base, STR("/v1")) ? "/messages" : "/v1/messages";         /* both spellings are common */
}

static bool open(Model *m, const Project *p, Error *err) {
    (void)p;
    m->wire = &messages_wire;
    if (!http_turn_open(m, err)) return false;
    m->headers[m->n_headers++] = (ClientHeader){ STR("Content-Type"), STR("application/json") };
    m->headers[m->n_headers++] = (ClientHeader){ STR("anthropic-version"), STR("2023-06-01") };
    if (m->key.n) m->headers[m->n_headers++] = (ClientHeader){ STR("x-api-key"), m->key };
    return true;
}

const Provider provider_anthropic = { "anthropic", open, route, complete, NULL };
