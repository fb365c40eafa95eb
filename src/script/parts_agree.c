/* A hook or script may change a message by its content, its calls or its parts: the others follow. */
#include "script/parts.h"

/* ---- the shape ---- */

static bool wrong(Error *err, uint32_t i, const char *what) { return error_set(err, ERR_SCRIPT, "part %u %s", i + 1, what); }

static bool has_text(Value part, const char *key) { return value_is_string(value_member(part, key)); }

static bool check_media(Value part, uint32_t i, Error *err) {
    if (!has_text(part, "mime")) return wrong(err, i, "needs a mime type");
    return has_text(part, "data") || has_text(part, "sha256") || wrong(err, i, "needs data (base64), or the sha256 of stored data");
}

static bool check_part(Value part, Str role, uint32_t i, Error *err) {
    bool assistant = str_eq(role, STR("assistant")), tool = str_eq(role, STR("tool")), system = str_eq(role, STR("system"));
    if (!value_is_dict(part)) return wrong(err, i, "is not a dict");
    if (parts_is(part, "result"))
        return tool && i == 0 ? (has_text(part, "id") && has_text(part, "text")) || wrong(err, i, "needs an id and a text")
                              : wrong(err, i, "is a result: a message of role tool has exactly one, as its first part");
    if (tool && i == 0) return wrong(err, i, "must be the result: a message of role tool begins with it");
    if (parts_is(part, "text")) {
        if (tool) return wrong(err, i, "is text: a result has its text itself");
        return has_text(part, "text") || wrong(err, i, "needs a text");
    }
    if (parts_is(part, "reasoning"))
        return assistant ? has_text(part, "text") || wrong(err, i, "needs a text") : wrong(err, i, "is reasoning, which only an assistant has");
    if (parts_is(part, "call"))
        return assistant ? (has_text(part, "id") && has_text(part, "name") && has_text(part, "arguments"))
            || wrong(err, i, "needs an id, a name and arguments as JSON text")
                         : wrong(err, i, "is a call, which only an assistant makes");
    if (parts_is_media(part)) return !assistant
        && !system ? check_media(part, i, err) : wrong(err, i, "is an image or file, which only user and tool messages have");
    return wrong(err, i, "has an unknown type: text, reasoning, call, result, image and file are known");
}

static bool check_parts(const List *parts, Str role, Error *err) {
    for (uint32_t i = 0; i < parts->n; i++)
        if (!check_part(parts->at[i], role, i, err)) return false;
    return parts->n || !str_eq(role, STR("tool")) || error_set(err, ERR_SCRIPT, "a message of role tool needs a result among its parts");
}

static bool check_message(Value message, Error *err) {
    static const char *const roles[] = { "system", "user", "assistant", "tool" };
    Str role = value_member_text(message, "role");
    bool known = false;
    if (!value_is_dict(message)) return error_set(err, ERR_SCRIPT, "is not a dict");
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) known = known || str_eq(role, str_from(roles[i]));
    Value parts = value_member(message, "parts"), content = value_member(message, "content"), calls = value_member(message, "tool_calls");
    if (!known) return error_set(err, ERR_SCRIPT, "has no known role: system, user, assistant or tool");
    if (!value_is_gone(content) && !value_is_string(content)) return error_set(err, ERR_SCRIPT, "content must be a string, not %s", value_type_name(content));
    if (!value_is_gone(calls) && !value_is_list(calls)) return error_set(err, ERR_SCRIPT, "tool_calls must be a list, not %s", value_type_name(calls));
    if (value_is_gone(parts)) return true;
    if (!value_is_list(parts)) return error_set(err, ERR_SCRIPT, "parts must be a list, not %s", value_type_name(parts));
    return check_parts(value_list(parts), role, err);
}

/* ---- what parts say ---- */

static void text_of(const List *parts, Buf *out) {
    for (uint32_t i = 0; i < parts->n; i++)
        if (parts_is(parts->at[i], "text") || parts_is(parts->at[i], "result")) buf_add(out, value_member_text(parts->at[i], "text"));
}

static bool calls_of(Heap *heap, const List *parts, List **out, Error *err) {
    static const char *const keys[] = { "id", "name", "arguments" };
    *out = list_new(heap, 2, err);
    for (uint32_t i = 0; *out && i < parts->n; i++) {
        if (!parts_is(parts->at[i], "call")) continue;
        Dict *d = dict_new(heap, 3, err);
        for (size_t k = 0; d && k < 3; k++)
            if (!dict_put_str(heap, d, str_from(keys[k]), value_member(parts->at[i], keys[k]), err)) return false;
        if (!d || !list_push(heap, *out, value_from_object(d), err)) return false;
    }
    return *out != NULL;
}

static bool same_calls(const List *a, Value calls) {
    static const char *const keys[] = { "id", "name", "arguments" };
    const List *b = value_is_list(calls) ? value_list(calls) : NULL;
    if (a->n != (b ? b->n : 0)) return false;
    for (uint32_t i = 0; i < a->n; i++)
        for (size_t k = 0; k < 3; k++)
            if (!str_eq(value_member_text(a->at[i], keys[k]), value_member_text(b->at[i], keys[k]))) return false;
    return true;
}

static bool is_true(Value v) { return value_is_bool(v) && value_bool(v); }

static bool same_result(const List *parts, Value message) {
    if (parts->n == 0 || !parts_is(parts->at[0], "result")) return true;
    return str_eq(value_member_text(parts->at[0], "id"), value_member_text(message, "tool_call_id"))
        && is_true(value_member(parts->at[0], "is_error")) == is_true(value_member(message, "is_error"));
}

/* True if the parts agree with content and calls. */
static bool agrees(const List *parts, const List *calls, Value message) {
    Buf text = { 0 };
    text_of(parts, &text);
    bool same = str_eq(buf_str(&text), value_member_text(message, "content")) && same_calls(calls, value_member(message, "tool_calls"))
        && same_result(parts, message);
    buf_clear(&text);
    return same;
}

/* ---- what changed ---- */

typedef enum { CHANGED_BOTH, CHANGED_REST, CHANGED_PARTS } Changed;

static bool equal(Value a, Value b) {
    bool same;
    if (value_is_gone(a) || value_is_gone(b)) return value_is_gone(a) && value_is_gone(b);
    return value_equal(a, b, &same, NULL) && same;
}

/* Finds the original of a message by comparison, since a hook may have moved it. */
static Changed what_changed(const List *before, Value message) {
    Value parts = value_member(message, "parts");
    bool rest = value_is_gone(value_member(message, "content")) && value_is_gone(value_member(message, "tool_calls"));
    for (uint32_t i = 0; before && i < before->n; i++) {
        Value old = before->at[i];
        if (!str_eq(value_member_text(old, "role"), value_member_text(message, "role"))) continue;
        if (equal(value_member(old, "parts"), parts)) return CHANGED_REST;
        rest = rest || (equal(value_member(old, "content"), value_member(message, "content"))
                        && equal(value_member(old, "tool_calls"), value_member(message, "tool_calls"))
                        && equal(value_member(old, "tool_call_id"), value_member(message, "tool_call_id"))
                        && equal(value_member(old, "is_error"), value_member(message, "is_error")));
    }
    return rest ? CHANGED_PARTS : CHANGED_BOTH;
}

static bool drop(Heap *heap, Dict *d, const char *key, Error *err) {
    Value gone;
    String *s = string_new(heap, str_from(key), err);
    return s && dict_remove(d, value_from_object(s), &gone, err);
}

static bool follow_parts(Heap *heap, const List *parts, List *calls, Dict *d, Error *err) {
    Buf text = { 0 };
    text_of(parts, &text);
    bool ok = dict_put_text(heap, d, "content", buf_str(&text), err)
           && (calls->n ? dict_put_str(heap, d, STR("tool_calls"), value_from_object(calls), err) : drop(heap, d, "tool_calls", err));
    buf_clear(&text);
    if (!ok || parts->n == 0 || !parts_is(parts->at[0], "result")) return ok;
    return dict_put_str(heap, d, STR("tool_call_id"), value_member(parts->at[0], "id"), err)
        && (is_true(value_member(parts->at[0], "is_error")) ? dict_put_str(heap, d, STR("is_error"), VALUE_TRUE, err) : drop(heap, d, "is_error", err));
}

/* Reasoning first, then the current content and calls, then media. If only calls were removed, the others keep their places. */
static bool follow_rest(Heap *heap, const List *parts, Dict *d, Error *err) {
    List *list = list_new(heap, parts->n + 1, err), *plain;
    for (uint32_t i = 0; list && i < parts->n; i++)
        if (parts_is(parts->at[i], "reasoning") && !list_push(heap, list, parts->at[i], err)) return false;
    if (!list || !drop(heap, d, "parts", err) || !parts_of(heap, value_from_object(d), &plain, err)) return false;
    for (uint32_t i = 0; i < plain->n; i++)
        if (!list_push(heap, list, plain->at[i], err)) return false;
    for (uint32_t i = 0; i < parts->n; i++)
        if (parts_is_media(parts->at[i]) && !list_push(heap, list, parts->at[i], err)) return false;
    return dict_put_str(heap, d, STR("parts"), value_from_object(list), err);
}

static bool has_call(const List *calls, Value part) {
    for (uint32_t i = 0; i < calls->n; i++)
        if (str_eq(value_member_text(calls->at[i], "id"), value_member_text(part, "id"))
            && str_eq(value_member_text(calls->at[i], "name"), value_member_text(part, "name"))
            && str_eq(value_member_text(calls->at[i], "arguments"), value_member_text(part, "arguments"))) return true;
    return false;
}

/* The parts without the calls that are gone; *out NULL: more than that has changed. */
static bool without_calls(Heap *heap, const List *parts, Value message, List **out, Error *err) {
    static const List none = { 0 };
    Value calls = value_member(message, "tool_calls");
    List *list = list_new(heap, parts->n, err), *left;
    *out = NULL;
    for (uint32_t i = 0; list && i < parts->n; i++)
        if ((!parts_is(parts->at[i], "call") || has_call(value_is_list(calls) ? value_list(calls) : &none, parts->at[i]))
            && !list_push(heap, list, parts->at[i], err)) return false;
    if (!list || !calls_of(heap, list, &left, err)) return false;
    if (agrees(list, left, message)) *out = list;
    return true;
}

static bool add_parts(Heap *heap, Value message, Value *out, Error *err) {
    List *parts;
    Dict *d;
    if (!parts_of(heap, message, &parts, err) || !dict_copy(heap, value_dict(message), &d, err)) return false;
    return *out = value_from_object(d), dict_put_str(heap, d, STR("parts"), value_from_object(parts), err);
}

static bool agree_one(Heap *heap, const List *before, Value message, Value *out, Error *err) {
    List *calls, *kept;
    Dict *d;
    *out = message;
    if (!check_message(message, err)) return false;
    Value given = value_member(message, "parts");
    if (value_is_gone(given)) return add_parts(heap, message, out, err);
    const List *parts = value_list(given);
    if (!calls_of(heap, parts, &calls, err)) return false;
    if (agrees(parts, calls, message)) return true;
    Changed changed = what_changed(before, message);
    if (changed == CHANGED_BOTH) return error_set(err, ERR_SCRIPT, "content and parts disagree: change one of them");
    if (!dict_copy(heap, value_dict(message), &d, err)) return false;
    *out = value_from_object(d);
    if (changed == CHANGED_PARTS) return follow_parts(heap, parts, calls, d, err);
    if (!without_calls(heap, parts, message, &kept, err)) return false;
    return kept ? dict_put_str(heap, d, STR("parts"), value_from_object(kept), err) : follow_rest(heap, parts, d, err);
}

bool parts_agree(Heap *heap, const List *before, const List *after, List **out, Error *err) {
    *out = list_new(heap, after->n, err);
    for (uint32_t i = 0; *out && i < after->n; i++) {
        Value one;
        if (!agree_one(heap, before, after->at[i], &one, err)) return error_wrap(err, "message %u", i + 1);
        if (!list_push(heap, *out, one, err)) return false;
    }
    return *out != NULL;
}
