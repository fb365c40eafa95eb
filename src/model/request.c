#include "model/request.h"

static const char *const role_names[] = {
#define ROLE(id, name) [ROLE_##id] = name,
#include "model/roles.def"
#undef ROLE
};
const char *request_role_name(Role r) { return role_names[r]; }

Role request_role(Value message) {
    Str role = value_member_text(message, "role");
    for (size_t r = 0; r < sizeof role_names / sizeof *role_names; r++)
        if (str_eq(role, str_from(role_names[r]))) return (Role)r;
    return ROLE_USER;
}

int64_t request_int(Value dict, const char *key) {
    Value v = value_member(dict, key);
    return value_is_small(v) ? value_small(v) : 0;
}

List *request_list(Value dict, const char *key) {
    Value v = value_member(dict, key);
    return value_is_list(v) ? value_list(v) : NULL;
}

/* ---- images and PDFs ---- */

#define MEDIA_REQUEST_MAX ((size_t)28 << 20)    /* bytes of base64 in one request: servers take 32 MB in all */

bool request_has_media(Value message) {
    const List *parts = request_list(message, "parts");
    for (uint32_t i = 0; parts && i < parts->n; i++)
        if (parts_is_media(parts->at[i])) return true;
    return false;
}

static size_t media_bytes(Value message) {
    const List *parts = request_list(message, "parts");
    size_t n = 0;
    for (uint32_t i = 0; parts && i < parts->n; i++)
        if (parts_is_media(parts->at[i])) n += value_member_text(parts->at[i], "data").n;
    return n;
}

MediaRule request_media_rule(unsigned takes, const List *messages) {
    size_t total = 0;
    uint32_t i = messages->n;
    while (i > 0 && (total += media_bytes(messages->at[i - 1])) <= MEDIA_REQUEST_MAX) i--;
    return (MediaRule){ takes, i };
}

bool request_sends_media(const MediaRule *rule, uint32_t i, Value part, Buf *line) {
    bool file = parts_is(part, "file"), taken = rule->takes & (file ? MEDIA_PDF : MEDIA_IMAGE);
    if (taken && i >= rule->from) return true;
    buf_add_fmt(line, "[" STR_FMT ", %lld bytes, not sent: %s]", STR_ARG(value_member_text(part, "mime")), (long long)request_int(part, "bytes"),
                taken ? "the request would be too large" : file ? "this model takes no PDFs" : "this model takes no images");
    return false;
}

void request_data_url(Buf *b, const char *key, Value part) {
    request_key(b, key);
    buf_add_fmt(b, "\"data:" STR_FMT ";base64,", STR_ARG(value_member_text(part, "mime")));
    buf_add(b, value_member_text(part, "data"));             /* base64 needs no escapes */
    buf_add_char(b, '"');
}

void request_system(const List *messages, Buf *out) {
    for (uint32_t i = 0; i < messages->n; i++) {
        if (request_role(messages->at[i]) != ROLE_SYSTEM) continue;
        if (out->n) buf_add(out, STR("\n\n"));
        buf_add(out, value_member_text(messages->at[i], "content"));
    }
    if (str_trim(buf_str(out)).n == 0) buf_reset(out);
}

void request_key(Buf *b, const char *key) {
    if (b->n && b->at[b->n - 1] != '{' && b->at[b->n - 1] != '[') buf_add_char(b, ',');
    buf_add_fmt(b, "\"%s\":", key);
}

void request_string(Buf *b, const char *key, Str text) {
    request_key(b, key);
    json_write_string(b, text, false);
}

bool request_value(Buf *b, const char *key, Value v, Error *err) {
    request_key(b, key);
    return json_write(b, v, NULL, err);
}
