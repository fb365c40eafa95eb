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
