#include "model/request.h"

int64_t request_int(Value dict, const char *key) {
    Value v = value_member(dict, key);
    return value_is_small(v) ? value_small(v) : 0;
}

List *request_list(Value dict, const char *key) {
    Value v = value_member(dict, key);
    return value_is_list(v) ? value_list(v) : NULL;
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
