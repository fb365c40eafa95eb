#include "mcp/wire/uri_template.h"
#include "base/utf8.h"

bool uri_template_next(Str pattern, size_t *at, Str *name) {
    ptrdiff_t open = str_find_char(str_sub(pattern, *at, pattern.n), '{');
    if (open < 0) return false;
    size_t from = *at + (size_t)open + 1;
    ptrdiff_t close = str_find_char(str_sub(pattern, from, pattern.n), '}');
    if (close < 0) return false;
    *name = str_sub(pattern, from, from + (size_t)close);
    *at = from + (size_t)close + 1;
    return true;
}

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_unreserved(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~' || (c & 0x80);
}

/* Percent-decodes; false if an expansion could not have produced the text. */
static bool decode(Str text, Buf *out) {
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] != '%') {
            if (!is_unreserved(text.at[i])) return false;
            buf_add_char(out, text.at[i]);
            continue;
        }
        int high = i + 2 < text.n ? hex(text.at[i + 1]) : -1, low = i + 2 < text.n ? hex(text.at[i + 2]) : -1;
        if (high < 0 || low < 0 || high + low == 0) return false;
        buf_add_char(out, (char)(high * 16 + low));
        i += 2;
    }
    return out->n > 0 && utf8_valid(buf_str(out));
}

static bool take(Heap *h, Dict *vars, Str name, Str text, bool *matched, Error *err) {
    Buf value = { 0 };
    Value *seen = dict_find_str(vars, name);
    *matched = decode(text, &value) && (!seen || str_eq(value_str(*seen), buf_str(&value)));
    String *key = *matched ? string_new(h, name, err) : NULL, *s = key ? string_new(h, buf_str(&value), err) : NULL;
    bool ok = !*matched || (s && dict_put(h, vars, value_from_object(key), value_from_object(s), err));
    buf_clear(&value);
    return ok;
}

/* Finds where the literal after a variable starts: the last literal must end the URI; another one matches at the first
 * position that leaves the variable at least one character. */
static bool find_next(Str literal, bool last, Str rest, size_t *at) {
    if (last) {
        if (rest.n <= literal.n || !str_ends(rest, literal)) return false;
        return *at = rest.n - literal.n, true;
    }
    ptrdiff_t found = rest.n ? str_find(str_sub(rest, 1, rest.n), literal) : -1;
    if (found < 0) return false;
    return *at = (size_t)found + 1, true;
}

bool uri_template_match(Str pattern, Str uri, Heap *h, Value *vars, Error *err) {
    if (uri.n > URI_TEMPLATE_MAX) return false;
    Dict *d = dict_new(h, 2, err);
    size_t at = 0, next;
    Str name;
    if (!d) return false;
    ptrdiff_t open = str_find_char(pattern, '{');
    Str literal = open < 0 ? pattern : str_sub(pattern, 0, (size_t)open);
    if (open < 0 ? !str_eq(literal, uri) : !str_starts(uri, literal)) return false;
    Str rest = str_sub(uri, literal.n, uri.n);
    while (uri_template_next(pattern, &at, &name)) {
        open = str_find_char(str_sub(pattern, at, pattern.n), '{');
        literal = open < 0 ? str_sub(pattern, at, pattern.n) : str_sub(pattern, at, at + (size_t)open);
        bool matched;
        if (!find_next(literal, open < 0, rest, &next)) return false;
        if (!take(h, d, name, str_sub(rest, 0, next), &matched, err) || !matched) return false;
        rest = str_sub(rest, next + literal.n, rest.n);
    }
    return *vars = value_from_object(d), true;
}

void uri_template_file(Buf *out, Str absolute) {
    buf_add(out, STR("file://"));
    for (size_t i = 0; i < absolute.n; i++) {
        char c = absolute.at[i];
        if ((is_unreserved(c) && !(c & 0x80)) || c == '/') buf_add_char(out, c);
        else buf_add_fmt(out, "%%%02X", (unsigned char)c);
    }
}
