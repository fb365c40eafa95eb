#include "tool/laid_out.h"
#include "value/dict.h"
#include "value/json.h"

static bool has_lines(Value v) { return value_is_string(v) && str_find_char(value_str(v), '\n') >= 0; }

static bool any_lines(Value args) {
    Entry *e;
    for (uint32_t i = 0; dict_next(value_dict(args), &i, &e);)
        if (has_lines(e->value)) return true;
    return false;
}

static void add_json(Buf *out, Value v) {
    Error ignored;
    if (!json_write(out, v, &(JsonWrite){ .indent = 2 }, &ignored)) buf_add_char(out, '?');
}

/* The bar separates the text from the JSON around it. A line break at the end of the text shows as an empty line. */
static void add_lines(Buf *out, Str text) {
    for (;;) {
        ptrdiff_t end = str_find_char(text, '\n');
        buf_add(out, STR("\n    │ "));
        buf_add(out, str_sub(text, 0, end < 0 ? text.n : (size_t)end));
        if (end < 0) return;
        text = str_sub(text, (size_t)end + 1, text.n);
    }
}

/* Lines of nested values keep their indent below the member. */
static void add_nested(Buf *out, Value v) {
    Buf json = { 0 };
    add_json(&json, v);
    for (size_t i = 0; i < json.n; i++) {
        buf_add_char(out, json.at[i]);
        if (json.at[i] == '\n') buf_add(out, STR("  "));
    }
    buf_clear(&json);
}

/* No comma behind lines of text: it would look like a part of them. */
static void add_member(Buf *out, const Entry *e, bool last) {
    buf_add(out, STR("  "));
    add_json(out, e->key);
    buf_add_char(out, ':');
    if (has_lines(e->value)) {
        add_lines(out, value_str(e->value));
        return;
    }
    buf_add_char(out, ' ');
    add_nested(out, e->value);
    if (!last) buf_add_char(out, ',');
}

void laid_out_add(Buf *out, Value args) {
    if (!value_is_dict(args) || !any_lines(args)) {
        add_json(out, args);
        return;
    }
    Entry *e;
    uint32_t n = 0;
    buf_add_char(out, '{');
    for (uint32_t i = 0; dict_next(value_dict(args), &i, &e);) {
        buf_add_char(out, '\n');
        add_member(out, e, ++n == value_dict(args)->n);
    }
    buf_add(out, STR("\n}"));
}
