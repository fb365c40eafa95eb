#include "script/parts.h"
#include <stdio.h>
#include "value/json.h"

bool parts_is(Value part, const char *type) { return str_eq(value_member_text(part, "type"), str_from(type)); }

bool parts_is_media(Value part) { return parts_is(part, "image") || parts_is(part, "file"); }

bool parts_are_plain(const List *parts) {
    bool called = false;
    for (uint32_t i = 0; i < parts->n; i++) {
        if (parts_is(parts->at[i], "call")) called = true;
        else if (!parts_is(parts->at[i], "text") && !parts_is(parts->at[i], "result")) return false;
        else if (i > 0 || called) return false;
    }
    return true;
}

/* ---- making parts ---- */

static bool push_text(Heap *heap, List *out, const char *type, Value text, Error *err) {
    Dict *d = dict_new(heap, 2, err);
    return d && dict_put_text(heap, d, "type", str_from(type), err) && dict_put_str(heap, d, STR("text"), text, err)
        && list_push(heap, out, value_from_object(d), err);
}

static bool push_str(Heap *heap, List *out, const char *type, Str text, Error *err) {
    String *s = text.n ? string_new(heap, text, err) : NULL;
    return text.n == 0 || (s && push_text(heap, out, type, value_from_object(s), err));
}

static bool push_call(Heap *heap, List *out, Value call, Error *err) {
    static const char *const keys[] = { "id", "name", "arguments" };
    Dict *d = dict_new(heap, 4, err);
    bool ok = d && dict_put_text(heap, d, "type", STR("call"), err);
    for (size_t i = 0; ok && i < sizeof keys / sizeof *keys; i++) {
        Value v = value_member(call, keys[i]);
        ok = value_is_string(v) ? dict_put_str(heap, d, str_from(keys[i]), v, err) : dict_put_text(heap, d, keys[i], STR(""), err);
    }
    return ok && list_push(heap, out, value_from_object(d), err);
}

static bool push_calls(Heap *heap, List *out, Value calls, Error *err) {
    for (uint32_t i = 0; value_is_list(calls) && i < value_list(calls)->n; i++)
        if (!push_call(heap, out, value_list(calls)->at[i], err)) return false;
    return true;
}

static bool is_tool(Value message) { return str_eq(value_member_text(message, "role"), STR("tool")); }

static bool push_result(Heap *heap, List *out, Value message, Error *err) {
    Value flag = value_member(message, "is_error");
    Dict *d = dict_new(heap, 4, err);
    return d && dict_put_text(heap, d, "type", STR("result"), err) && dict_put_text(heap, d, "id", value_member_text(message, "tool_call_id"), err)
        && dict_put_text(heap, d, "text", value_member_text(message, "content"), err)
        && dict_put_str(heap, d, STR("is_error"), value_from_bool(value_is_bool(flag) && value_bool(flag)), err)
        && list_push(heap, out, value_from_object(d), err);
}

bool parts_usual(Heap *heap, Str reasoning, Str text, Value calls, List **out, Error *err) {
    *out = list_new(heap, 4, err);
    return *out && push_str(heap, *out, "reasoning", reasoning, err) && push_str(heap, *out, "text", text, err) && push_calls(heap, *out, calls, err);
}

bool parts_of(Heap *heap, Value message, List **out, Error *err) {
    Value parts = value_member(message, "parts"), content = value_member(message, "content");
    if (value_is_list(parts)) return *out = value_list(parts), true;
    if (!(*out = list_new(heap, 2, err))) return false;
    if (is_tool(message)) return push_result(heap, *out, message, err);
    if (value_is_string(content) && value_str(content).n && !push_text(heap, *out, "text", content, err)) return false;
    return push_calls(heap, *out, value_member(message, "tool_calls"), err);
}

/* ---- showing them ---- */

static bool without_data(Heap *heap, const List *parts, List **out, Error *err) {
    *out = list_new(heap, parts->n, err);
    for (uint32_t i = 0; *out && i < parts->n; i++) {
        Value part = parts->at[i], gone;
        Dict *d;
        String *key;
        if (parts_is_media(part)) {
            if (!dict_copy(heap, value_dict(part), &d, err) || !(key = string_new(heap, STR("data"), err)) ||
                !dict_remove(d, value_from_object(key), &gone, err)) return false;
            part = value_from_object(d);
        }
        if (!list_push(heap, *out, part, err)) return false;
    }
    return *out != NULL;
}

static bool show_one(Heap *heap, Value message, Value *out, Error *err) {
    List *parts, *shown;
    Dict *d;
    if (!value_is_dict(message)) return *out = message, true;
    if (!parts_of(heap, message, &parts, err) || !without_data(heap, parts, &shown, err) || !dict_copy(heap, value_dict(message), &d, err)) return false;
    return *out = value_from_object(d), dict_put_str(heap, d, STR("parts"), value_from_object(shown), err);
}

bool parts_show(Heap *heap, const List *messages, List **out, Error *err) {
    *out = list_new(heap, messages->n, err);
    for (uint32_t i = 0; *out && i < messages->n; i++) {
        Value one;
        if (!show_one(heap, messages->at[i], &one, err) || !list_push(heap, *out, one, err)) return false;
    }
    return *out != NULL;
}

/* ---- the journal's form ---- */

void parts_write_order(Buf *out, const List *parts) {
    buf_add_char(out, '[');
    for (uint32_t i = 0; i < parts->n; i++) {
        Value part = parts->at[i];
        if (i) buf_add_char(out, ',');
        buf_add(out, STR("{\"type\":"));
        json_write_string(out, value_member_text(part, "type"), false);
        if (parts_is(part, "call")) {
            buf_add(out, STR(",\"id\":"));
            json_write_string(out, value_member_text(part, "id"), false);
        } else {
            buf_add_fmt(out, ",\"bytes\":%zu", value_member_text(part, "text").n);
        }
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

/* Takes n bytes of *rest, at a character's boundary. */
static bool cut(Str *rest, Value n, Str *out) {
    int64_t size = value_is_small(n) ? value_small(n) : -1;
    if (size < 0 || (uint64_t)size > rest->n || ((size_t)size < rest->n && ((unsigned char)rest->at[size] & 0xc0) == 0x80)) return false;
    *out = str_sub(*rest, 0, (size_t)size);
    *rest = str_sub(*rest, (size_t)size, rest->n);
    return true;
}

/* *fits false: the order is not that of these texts. */
static bool by_order(Heap *heap, const List *order, Str reasoning, Str text, const List *calls, List *out, bool *fits, Error *err) {
    uint32_t called = 0;
    *fits = true;
    for (uint32_t i = 0; *fits && i < order->n; i++) {
        Value one = order->at[i];
        bool is_text = parts_is(one, "text"), is_call = parts_is(one, "call");
        Str piece = { 0 };
        if (is_call) {
            *fits = calls && called < calls->n;
            if (*fits && !push_call(heap, out, calls->at[called++], err)) return false;
        } else {
            *fits = (is_text || parts_is(one, "reasoning")) && cut(is_text ? &text : &reasoning, value_member(one, "bytes"), &piece);
            if (*fits && !push_str(heap, out, is_text ? "text" : "reasoning", piece, err)) return false;
        }
    }
    *fits = *fits && text.n == 0 && reasoning.n == 0 && called == (calls ? calls->n : 0);
    return true;
}

bool parts_read_order(Heap *heap, Value order, Str reasoning, Str text, Value calls, List **out, Error *err) {
    bool fits = false;
    *out = list_new(heap, 4, err);
    if (!*out) return false;
    if (value_is_list(order) && !by_order(heap, value_list(order), reasoning, text, value_is_list(calls) ? value_list(calls) : NULL, *out,
        &fits, err)) return false;
    return fits || parts_usual(heap, reasoning, text, calls, out, err);
}
