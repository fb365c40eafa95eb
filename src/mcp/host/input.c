#include "mcp/host/input.h"
#include <stdlib.h>
#include "base/mem.h"
#include "schema/schema.h"
#include "value/json.h"
#include "value/list.h"

static bool is_text(Value v, const char *text) { return value_is_string(v) && str_eq(value_str(v), str_from(text)); }

/* ---- questions ---- */

const char *input_method(InputKind kind) {
    static const char *const names[] = { [INPUT_ELICIT] = "elicitation/create", [INPUT_SAMPLE] = "sampling/createMessage", [INPUT_ROOTS] = "roots/list" };
    return names[kind];
}

bool input_offered(Value client, McpVersion version, InputKind kind) {
    static const char *const names[] = { [INPUT_ELICIT] = "elicitation", [INPUT_SAMPLE] = "sampling", [INPUT_ROOTS] = "roots" };
    Value has = value_member(client, names[kind]);
    if (!value_is_dict(has) || (kind == INPUT_ELICIT && version < MCP_2025_06_18)) return false;
    /* An empty elicitation capability means forms; one that names other modes only has no forms. */
    return kind != INPUT_ELICIT || value_dict(has)->n == 0 || value_is_gone(value_member(has, "url")) || value_is_dict(value_member(has, "form"));
}

static bool form_schema(Heap *h, Value given, Value *out, Error *err) {
    Dict *d = NULL, *none = dict_new(h, 0, err);
    if (!none || (value_is_dict(given) ? !dict_copy(h, value_dict(given), &d, err) : !(d = dict_new(h, 2, err)))) return false;
    if (value_is_gone(value_member(given, "type")) && !dict_put_text(h, d, "type", STR("object"), err)) return false;
    if (value_is_gone(value_member(given, "properties")) && !dict_put_str(h, d, STR("properties"), value_from_object(none), err)) return false;
    if (!is_text(value_member(value_from_object(d), "type"), "object")) return error_set(err, ERR_SCRIPT, "the schema of a question must be that of an object");
    return *out = value_from_object(d), true;
}

static bool content_of(Heap *h, Value content, Value *out, Error *err) {
    if (!value_is_string(content)) return value_copy_all_into(h, content, out, err);     /* typed blocks, unchanged */
    Dict *d = dict_new(h, 2, err);
    if (!d || !dict_put_text(h, d, "type", STR("text"), err) || !dict_put_text(h, d, "text", value_str(content), err)) return false;
    return *out = value_from_object(d), true;
}

/* System messages go into systemPrompt; roles other than user become assistant. */
static bool sample_params(Heap *h, const HostAsk *ask, Dict *d, Error *err) {
    List *out = list_new(h, value_list(ask->messages)->n, err);
    if (!out || !dict_put_str(h, d, STR("messages"), value_from_object(out), err)) return false;
    for (uint32_t i = 0; i < value_list(ask->messages)->n; i++) {
        Value m = value_list(ask->messages)->at[i], role = value_member(m, "role"), content = value_member(m, "content"), block;
        if (!value_is_string(content) && !value_is_dict(content) && !value_is_list(content))
            return error_set(err, ERR_SCRIPT, "messages[%u] has no content", i);
        if (is_text(role, "system") && value_is_string(content)) {
            if (!dict_put_text(h, d, "systemPrompt", value_str(content), err)) return false;
            continue;
        }
        Dict *one = dict_new(h, 2, err);
        if (!one || !dict_put_text(h, one, "role", is_text(role, "assistant") ? STR("assistant") : STR("user"), err) || !content_of(h, content, &block, err) ||
            !dict_put_str(h, one, STR("content"), block, err) || !list_push(h, out, value_from_object(one), err)) return false;
    }
    return dict_put_str(h, d, STR("maxTokens"), value_from_small(ask->max_tokens), err);
}

/* The parameters of a question, in `h`. Adds type: object to a form's schema that lacks a type. */
static bool params_of(Heap *h, const HostAsk *ask, Value *out, Error *err) {
    Dict *d = dict_new(h, 3, err);
    Value schema;
    if (!d) return false;
    *out = value_from_object(d);
    if (ask->kind == HOST_ASK_ROOTS) return true;
    if (ask->kind == HOST_ASK_SAMPLE) return sample_params(h, ask, d, err);
    Value copy = VALUE_NONE;
    return (value_is_none(ask->schema) || value_copy_all_into(h, ask->schema, &copy, err)) && form_schema(h, copy, &schema, err) &&
           dict_put_text(h, d, "message", ask->message, err) && dict_put_str(h, d, STR("requestedSchema"), schema, err);
}

bool input_requests(Heap *h, const InputAsk *asks, size_t n, Value *out, Error *err) {
    Dict *all = dict_new(h, n, err);
    for (size_t i = 0; all && i < n; i++) {
        if (!value_is_gone(asks[i].answer)) continue;
        Dict *d = dict_new(h, 2, err);
        String *key = d ? string_new(h, asks[i].key, err) : NULL;
        if (!key || !dict_put_text(h, d, "method", str_from(input_method(asks[i].kind)), err) ||
            !dict_put_str(h, d, STR("params"), asks[i].params, err) || !dict_put(h, all, value_from_object(key), value_from_object(d), err)) return false;
    }
    if (all) *out = value_from_object(all);
    return all != NULL;
}

static bool is_taken(const InputAsk *asks, size_t n, Str key) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(asks[i].key, key)) return true;
    return false;
}

bool input_name(Heap *h, InputAsk *asks, size_t n, unsigned *counter, Error *err) {
    for (size_t i = 0; i < n; i++) {
        if (asks[i].key.n) continue;
        String *s;
        do s = string_fmt(h, err, "input-%u", ++*counter);
        while (s && is_taken(asks, n, string_str(s)));
        if (!s) return false;
        asks[i].key = string_str(s);
    }
    return true;
}

/* ---- answers ---- */

static bool form_fits(Value schema, Value content, Error *err) {
    Schema *compiled;
    SchemaProblems problems = { .limit = 1 };
    if (!schema_compile(&(SchemaInput){ .root = schema }, &compiled, err)) return error_wrap(err, "the schema of a question");
    bool ok = schema_validate(compiled, content, &problems);
    if (!ok) error_set(err, ERR_PROTOCOL, "content" STR_FMT ": " STR_FMT, STR_ARG(problems.at[0].path), STR_ARG(problems.at[0].message));
    schema_problems_clear(&problems);
    schema_free(compiled);
    return ok;
}

static bool elicit_fits(const InputAsk *ask, Value answer, Error *err) {
    Value action = value_member(answer, "action"), content = value_member(answer, "content");
    if (is_text(action, "decline") || is_text(action, "cancel")) return true;
    if (!is_text(action, "accept")) return error_set(err, ERR_PROTOCOL, "action must be accept, decline or cancel");
    if (!value_is_dict(content)) return error_set(err, ERR_PROTOCOL, "content must be an object when the action is accept");
    return form_fits(value_member(ask->params, "requestedSchema"), content, err);
}

static Value text_block(Value content) {
    if (value_is_list(content) && value_list(content)->n) content = value_list(content)->at[0];
    return is_text(value_member(content, "type"), "text") ? value_member(content, "text") : VALUE_GONE;
}

bool input_fits(const InputAsk *ask, Value answer, Error *err) {
    if (!value_is_dict(answer)) return error_set(err, ERR_PROTOCOL, "an answer must be an object");
    if (ask->kind == INPUT_ELICIT) return elicit_fits(ask, answer, err);
    if (ask->kind == INPUT_SAMPLE)
        return value_is_string(text_block(value_member(answer, "content"))) || error_set(err, ERR_PROTOCOL, "content must be a string");
    Value roots = value_member(answer, "roots");
    if (!value_is_list(roots)) return error_set(err, ERR_PROTOCOL, "roots must be a list");
    for (uint32_t i = 0; i < value_list(roots)->n; i++)
        if (!value_is_string(value_member(value_list(roots)->at[i], "uri"))) return error_set(err, ERR_PROTOCOL, "roots[%u] must have a uri", i);
    return true;
}

static bool root_list(Heap *h, const List *roots, Value *out, Error *err) {
    List *l = list_new(h, roots->n, err);
    for (uint32_t i = 0; l && i < roots->n; i++) {
        Value name = value_member(roots->at[i], "name");
        Dict *d = dict_new(h, 2, err);
        if (!d || !dict_put_text(h, d, "uri", value_str(value_member(roots->at[i], "uri")), err) ||
            !dict_put_text(h, d, "name", value_is_string(name) ? value_str(name) : STR(""), err) || !list_push(h, l, value_from_object(d), err)) return false;
    }
    if (l) *out = value_from_object(l);
    return l != NULL;
}

/* What the script receives: {action, content}, a string, or a list of {uri, name}. */
static bool answer_of(Heap *h, HostAskKind kind, Value answer, Value *out, Error *err) {
    if (kind == HOST_ASK_ROOTS) return root_list(h, value_list(value_member(answer, "roots")), out, err);
    if (kind == HOST_ASK_SAMPLE) return value_copy_all_into(h, text_block(value_member(answer, "content")), out, err);
    Value action = value_member(answer, "action"), content = value_member(answer, "content"), copy;
    Dict *d = dict_new(h, 2, err);
    if (!d || !dict_put_text(h, d, "action", value_str(action), err)) return false;
    if (is_text(action, "accept") && (!value_copy_all_into(h, content, &copy, err) || !dict_put_str(h, d, STR("content"), copy, err))) return false;
    return *out = value_from_object(d), true;
}

/* ---- callbacks of Person ---- */

static InputKind kind_of(HostAskKind k) { return k == HOST_ASK_FORM ? INPUT_ELICIT : k == HOST_ASK_SAMPLE ? INPUT_SAMPLE : INPUT_ROOTS; }

bool input_inquire(InputWay *w, HostAsk *asks, size_t n, Heap *heap, Cancel *cancel, Error *err) {
    Heap *h = heap_new(0);
    InputAsk *out = mem_zero(n, sizeof *out);
    size_t *of = mem_zero(n, sizeof *of), put = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        if (!w->offered(w, kind_of(asks[i].kind))) continue;
        out[put] = (InputAsk){ .kind = kind_of(asks[i].kind), .key = asks[i].key };
        of[put] = i;
        ok = params_of(h, &asks[i], &out[put++].params, err);
    }
    ok = ok && (put == 0 || w->ask(w, out, put, h, cancel, err));
    for (size_t i = 0; ok && i < put; i++)
        if (!value_is_gone(out[i].answer)) ok = answer_of(heap, asks[of[i]].kind, out[i].answer, &asks[of[i]].answer, err);
    free(out);
    free(of);
    heap_free(h);
    return ok;
}

/* The terminal's choice as a form. Answers given before the question are ignored: clients cannot confirm in
 * advance. */
static const char confirm_form[] =
    "{\"type\":\"object\",\"properties\":{\"answer\":{\"type\":\"string\",\"title\":\"Run it?\",\"description\":"
    "\"yes: this once; always: with these arguments, from now on; tool: this tool, from now on\",\"enum\":[\"yes\",\"always\",\"tool\",\"no\"]}},"
    "\"required\":[\"answer\"]}";

static ConfirmAnswer confirm(InputWay *w, const ConfirmQuestion *question, Heap *h, Cancel *cancel) {
    Error err = { 0 };
    Value schema;
    Dict *params = dict_new(h, 2, &err);
    Buf message = { 0 };
    buf_add_fmt(&message, "allow " STR_FMT "? (" STR_FMT ")\n" STR_FMT, STR_ARG(question->tool), STR_ARG(question->why), STR_ARG(question->shown));
    bool ok = params && json_read(h, STR(confirm_form), &(JsonRead){ 0 }, &schema, &err) &&
              dict_put_text(h, params, "message", buf_str(&message), &err) && dict_put_str(h, params, STR("requestedSchema"), schema, &err);
    InputAsk ask = { .kind = INPUT_ELICIT, .params = value_from_object(params), .fresh = true };
    buf_clear(&message);
    if (!ok || !w->ask(w, &ask, 1, h, cancel, &err) || value_is_gone(ask.answer) || !is_text(value_member(ask.answer, "action"), "accept")) return CONFIRM_NO;
    Value answer = value_member(value_member(ask.answer, "content"), "answer");
    return is_text(answer, "yes") ? CONFIRM_ONCE : is_text(answer, "always") ? CONFIRM_THESE : is_text(answer, "tool") ? CONFIRM_TOOL : CONFIRM_NO;
}

ConfirmAnswer input_confirm(InputWay *w, const ConfirmQuestion *question, Cancel *cancel) {
    Heap *h = heap_new(0);
    ConfirmAnswer answer = confirm(w, question, h, cancel);
    heap_free(h);
    return answer;
}
