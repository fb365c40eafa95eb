#include "script/content.h"

#include "value/list.h"

static bool has_text(const Dict *d, const char *key) {
    Value *v = dict_find_str(d, str_from(key));
    return v && value_is_string(*v);
}

static bool is_resource(const Dict *d) {
    Value *v = dict_find_str(d, STR("resource"));
    if (!v || !value_is_dict(*v)) return false;
    return has_text(value_dict(*v), "uri") && (has_text(value_dict(*v), "text") || has_text(value_dict(*v), "blob"));
}

/* The mark alone is not enough: a copy of a block can be modified. */
static bool has_shape(const Dict *d) {
    if (!has_text(d, "type")) return false;
    Str type = value_str(*dict_find_str(d, STR("type")));
    if (str_eq(type, STR("text"))) return has_text(d, "text");
    if (str_eq(type, STR("image")) || str_eq(type, STR("audio"))) return has_text(d, "data") && has_text(d, "mimeType");
    if (str_eq(type, STR("resource"))) return is_resource(d);
    return str_eq(type, STR("resource_link")) && has_text(d, "uri");
}

bool content_is_block(Value v) {
    return value_is_dict(v) && value_object(v)->aux == DICT_BLOCK && has_shape(value_dict(v));
}

static bool all_blocks(const Value *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (!content_is_block(v[i])) return false;
    return n > 0;
}

bool content_is_blocks(Value v) {
    if (value_is_list(v)) return all_blocks(value_list(v)->at, value_list(v)->n);
    if (value_is_tuple(v)) return all_blocks(value_tuple(v)->at, value_tuple(v)->n);
    return content_is_block(v);
}

void content_mark(Dict *block) {
    block->obj.aux = DICT_BLOCK;
    value_freeze(value_from_object(block));
}
