#include "model/tape.h"
#include "model/request.h"

static bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* True if the text starts with the given form: 'h' is a hex digit, 'd' a digit, anything else literal. */
static bool has_shape(Str s, const char *shape) {
    size_t n = strlen(shape);
    if (s.n < n) return false;
    for (size_t i = 0; i < n; i++) {
        char want = shape[i], got = s.at[i];
        if (want == 'h' ? !is_hex(got) : want == 'd' ? !is_digit(got) : got != want) return false;
    }
    return true;
}

static size_t time_length(Str s) {
    if (!has_shape(s, "dddd-dd-ddTdd:dd:dd")) return 0;
    size_t n = 19;
    if (n < s.n && s.at[n] == '.')
        for (n++; n < s.n && is_digit(s.at[n]); n++) {}
    if (n < s.n && s.at[n] == 'Z') n++;
    return n;
}

void tape_neutral(Buf *text) {
    Buf out = { 0 };
    Str all = buf_str(text);
    for (size_t i = 0; i < all.n;) {
        Str rest = str_sub(all, i, all.n);
        size_t time = time_length(rest);
        if (has_shape(rest, "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh")) {
            buf_add(&out, STR("<uuid>"));
            i += 36;
        } else if (time) {
            buf_add(&out, STR("<time>"));
            i += time;
        } else {
            buf_add_char(&out, all.at[i++]);
        }
    }
    buf_clear(text);
    *text = out;
}

static void write_calls(Buf *b, const List *calls) {
    request_key(b, "tool_calls");
    buf_add_char(b, '[');
    for (uint32_t i = 0; i < calls->n; i++) {
        buf_add(b, i ? STR(",{") : STR("{"));
        request_string(b, "name", value_member_text(calls->at[i], "name"));
        request_string(b, "arguments", value_member_text(calls->at[i], "arguments"));
        buf_add_char(b, '}');
    }
    buf_add_char(b, ']');
}

/* Media by their hash, so that a recording need not contain the data. */
static void write_media(Buf *b, const List *parts) {
    uint32_t n = 0;
    request_key(b, "media");
    buf_add_char(b, '[');
    for (uint32_t i = 0; i < parts->n; i++) {
        if (!parts_is_media(parts->at[i])) continue;
        buf_add(b, n++ ? STR(",{") : STR("{"));
        request_string(b, "mime", value_member_text(parts->at[i], "mime"));
        request_string(b, "sha256", value_member_text(parts->at[i], "sha256"));
        buf_add_char(b, '}');
    }
    buf_add_char(b, ']');
}

void tape_request(const ModelRequest *r, Buf *out) {
    const List *messages = value_list(r->messages), *tools = value_is_list(r->tools) ? value_list(r->tools) : NULL;
    size_t start = out->n;
    buf_add(out, STR("{\"messages\":["));
    for (uint32_t i = 0; i < messages->n; i++) {
        const List *calls = request_list(messages->at[i], "tool_calls");
        buf_add(out, i ? STR(",{") : STR("{"));
        request_string(out, "role", value_member_text(messages->at[i], "role"));
        request_string(out, "content", value_member_text(messages->at[i], "content"));
        if (calls && calls->n) write_calls(out, calls);
        if (request_has_media(messages->at[i])) write_media(out, request_list(messages->at[i], "parts"));
        buf_add_char(out, '}');
    }
    buf_add(out, STR("],\"tools\":["));
    for (uint32_t i = 0; tools && i < tools->n; i++) {
        if (i) buf_add_char(out, ',');
        json_write_string(out, value_member_text(tools->at[i], "name"), false);
    }
    buf_add(out, STR("]}"));
    Buf neutral = { 0 };
    buf_add(&neutral, str_sub(buf_str(out), start, out->n));
    tape_neutral(&neutral);
    out->n = start;
    buf_add(out, buf_str(&neutral));
    buf_clear(&neutral);
}

bool tape_reply(const ModelReply *r, Buf *out, Error *err) {
    buf_add_char(out, '{');
    request_string(out, "text", buf_str(&r->text));
    if (!request_value(out, "tool_calls", r->tool_calls, err)) return false;
    request_string(out, "finish_reason", str_from(r->finish_reason));
    if (r->reasoning.n) request_string(out, "reasoning", buf_str(&r->reasoning));
    Heap *heap = heap_new(0);
    List *parts;
    bool ok = model_reply_parts(r, heap, &parts, err);
    if (ok && !parts_are_plain(parts)) {
        request_key(out, "parts");
        parts_write_order(out, parts);
    }
    heap_free(heap);
    if (!ok) return false;
    if (r->items.n) {
        request_key(out, "items");
        buf_add(out, buf_str(&r->items));
    }
    buf_add_fmt(out, ",\"usage\":{\"input\":%lld,\"output\":%lld,\"cached\":%lld,\"written\":%lld,\"reasoning\":%lld}}", (long long)r->usage.input,
                (long long)r->usage.output, (long long)r->usage.cached, (long long)r->usage.written, (long long)r->usage.reasoning);
    return true;
}
