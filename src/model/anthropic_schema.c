/* Checks whether Anthropic's structured outputs accept an output schema: a subset of JSON Schema without references and without limits on numbers
 * and lengths; every object is closed. Any other schema is not sent, because the server would refuse the request. Replies are validated here in
 * any case. */
#include "model/provider.h"
#include "model/request.h"

enum { DEPTH_MAX = 32 };

static bool among(Str s, const char *const *list) {
    while (*list && !str_eq(s, str_from(*list))) list++;
    return *list != NULL;
}

static bool expresses(Value schema, int depth);

static bool each(Value v, int depth) {
    Entry *e;
    for (uint32_t i = 0; value_is_list(v) && i < value_list(v)->n; i++)
        if (!expresses(value_list(v)->at[i], depth)) return false;
    for (uint32_t i = 0; value_is_dict(v) && dict_next(value_dict(v), &i, &e);)
        if (!expresses(e->value, depth)) return false;
    return true;
}

static bool is_object(Value schema) {
    return str_eq(value_member_text(schema, "type"), STR("object")) || !value_is_gone(value_member(schema, "properties"));
}

static bool keyword(Str name, Value v, int depth) {
    static const char *const plain[] = { "type", "required", "enum", "const", "description", "title", "default", NULL };
    static const char *const formats[] = { "date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid", NULL };
    if (among(name, plain)) return true;
    if (str_eq(name, STR("items"))) return expresses(v, depth);
    if (str_eq(name, STR("properties")) || str_eq(name, STR("anyOf")) || str_eq(name, STR("allOf"))) return each(v, depth);
    if (str_eq(name, STR("additionalProperties"))) return value_is_bool(v) && !value_bool(v);
    if (str_eq(name, STR("format"))) return value_is_string(v) && among(value_str(v), formats);
    return str_eq(name, STR("minItems")) && value_is_small(v) && value_small(v) <= 1;
}

static bool expresses(Value schema, int depth) {
    Entry *e;
    if (!value_is_dict(schema) || depth > DEPTH_MAX) return false;
    if (is_object(schema) && value_is_gone(value_member(schema, "additionalProperties"))) return false;
    for (uint32_t i = 0; dict_next(value_dict(schema), &i, &e);)
        if (!keyword(value_str(e->key), e->value, depth + 1)) return false;
    return true;
}

bool provider_anthropic_expresses(Value schema) { return expresses(schema, 0); }
