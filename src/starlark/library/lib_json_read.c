/* json.decode. Accepts what starlark-go accepts, which is slightly more than RFC 8259 (control
 * characters in strings, "1."), and reports errors with the same messages.
 *
 * Complete values wait on a stack until their container closes; the list or dict is then created at
 * its final size. Open containers are on a stack too, so nesting uses no C stack. */
#include <math.h>
#include "base/number.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "starlark/library/lib_json.h"
#include "value/int.h"

enum { KEYS = 256 };             /* cache of recent keys, so that equal keys share one String */

typedef struct { bool is_dict; size_t base; } Open;

typedef struct Reader {
    Vm *vm;
    Heap *heap;
    const char *text, *at, *end;
    VEC(Value) values;
    VEC(Open) open;
    String *keys[KEYS];
    uint32_t ticks;
    bool malformed;
    Error *err;
} Reader;

static bool __attribute__((format(printf, 2, 3))) bad(Reader *r, const char *fmt, ...) {
    Buf b = { .limit = ERROR_MSG_MAX * 4 };
    va_list ap;
    va_start(ap, fmt);
    buf_add_vfmt(&b, fmt, ap);
    va_end(ap);
    r->malformed = true;
    error_set(r->err, ERR_SCRIPT, "at offset %td, %s", r->at - r->text, buf_str(&b).at);
    buf_clear(&b);
    return false;
}

static bool bad_char(Reader *r, const char *before, char c, const char *behind) {
    char quoted[LIB_JSON_QUOTED];
    lib_json_quote(quoted, c);
    return bad(r, "%s%s%s", before, quoted, behind);
}

static inline void skip_space(Reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r')) r->at++;
}

/* Returns the next character that is not a space, without consuming it. */
static inline bool peek(Reader *r, char *c) {
    skip_space(r);
    if (r->at == r->end) return bad(r, "unexpected end of file");
    return *c = *r->at, true;
}

/* ---- strings ---- */

static int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads four hexadecimal digits. On failure *wrong is the first character that is not one. */
static bool hex4(const char *at, uint32_t *out, char *wrong) {
    *out = 0;
    for (int i = 0; i < 4; i++) {
        int d = hex_value(at[i]);                       /* the closing quote stops this before the end of the text */
        if (d < 0) return *wrong = at[i], false;
        *out = *out << 4 | (uint32_t)d;
    }
    return true;
}

/* Decodes \uXXXX at `at`, or a surrogate pair of them. A lone surrogate becomes U+FFFD. */
static bool unescape_u(Reader *r, const char **at, const char *end, Buf *b) {
    uint32_t c, low;
    char wrong;
    if (!hex4(*at + 2, &c, &wrong)) return bad_char(r, "invalid character ", wrong, " in \\u hexadecimal character escape");
    *at += 6;
    if (c >= 0xd800 && c < 0xdc00 && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u' && hex4(*at + 2, &low, &wrong) &&
        low >= 0xdc00 && low < 0xe000) {
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        *at += 6;
    }
    buf_add_utf8(b, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
    return true;
}

static bool unescape(Reader *r, const char **at, const char *end, Buf *b) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = (*at)[1];
    if (c == 'u') return unescape_u(r, at, end, b);
    const char *found = c ? strchr(from, c) : NULL;
    if (!found) return bad_char(r, "invalid character ", c, " in string escape code");
    buf_add_char(b, to[found - from]);
    *at += 2;
    return true;
}

/* Decodes the text between the quotes: escapes, possibly invalid UTF-8. */
static bool add_unescaped(Reader *r, const char *at, const char *end, Buf *b) {
    while (at < end) {
        unsigned char c = (unsigned char)*at;
        size_t n = 1;
        if (c == '\\') {
            if (!unescape(r, &at, end, b)) return false;
            continue;
        }
        if (c < 0x20) return bad_char(r, "invalid character ", (char)c, " in string literal");
        if (c >= 0x80 && utf8_decode((Str){ at, (size_t)(end - at) }, &n) == 0xfffd && n == 1) buf_add(b, STR("\xef\xbf\xbd"));
        else buf_add(b, (Str){ at, n });
        at += n;
    }
    return true;
}

/* Finds the closing quote; *plain is true if nothing before it needs decoding. */
static const char *find_quote(const char *at, const char *end, bool *plain) {
    *plain = true;
    for (;;) {
        for (uint64_t w; end - at >= 8; at += 8) {
            memcpy(&w, at, 8);
            if (lib_json_special(w)) break;
        }
        for (int i = 0; i < 8 || end - at < 8; i++) {    /* the next eight by byte, then by word again */
            if (at >= end) return NULL;
            if (*at == '"') return at;
            if (*at == '\\') { *plain = false; at++; if (at >= end) return NULL; }
            else if ((signed char)*at < 0) *plain = false;
            at++;
        }
    }
}

static String *read_key(Reader *r, Str s) {
    if (s.n > 64) return string_new(r->heap, s, r->err);
    uint32_t mix = (uint32_t)s.n * 31;
    if (s.n) mix += (uint8_t)s.at[0] * 7u + (uint8_t)s.at[s.n - 1] * 13u + (uint8_t)s.at[s.n / 2] * 29u;
    String **slot = &r->keys[mix % KEYS];
    if (*slot && str_eq(string_str(*slot), s)) return *slot;
    return *slot = string_new(r->heap, s, r->err);
}

static bool read_string(Reader *r, bool is_key, Value *out) {
    const char *start = r->at + 1;
    bool plain;
    const char *quote = find_quote(start, r->end, &plain);
    if (!quote) return bad(r, "unclosed string literal");
    r->at = quote + 1;
    Str s = { start, (size_t)(quote - start) };
    Buf b = { 0 };
    if (s.n > 4096 && !vm_work(r->vm, s.n / 8, r->err)) return false;
    if (!plain) {
        if (!add_unescaped(r, start, quote, &b)) return buf_clear(&b), false;
        s = buf_str(&b);
    }
    String *text = is_key ? read_key(r, s) : string_new(r->heap, s, r->err);
    buf_clear(&b);
    return text && (*out = value_from_object(text), true);
}

/* ---- numbers ---- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool bad_number(Reader *r, Str s) {
    s = str_sub(s, 0, ERROR_MSG_MAX);
    return bad(r, "invalid number: " STR_FMT, STR_ARG(s));
}

/* Checks for digits [. digits] [e [sign] digits] with at least one digit before the exponent. */
static bool float_shape(Str s) {
    size_t i = s.at[0] == '-', digits = 0;
    for (; i < s.n && is_digit(s.at[i]); i++) digits++;
    if (i < s.n && s.at[i] == '.')
        for (i++; i < s.n && is_digit(s.at[i]); i++) digits++;
    if (i == s.n || digits == 0) return digits > 0;
    if ((s.at[i] | 0x20) != 'e') return false;
    i++;
    if (i < s.n && (s.at[i] == '+' || s.at[i] == '-')) i++;
    if (i == s.n) return false;
    while (i < s.n && is_digit(s.at[i])) i++;
    return i == s.n;
}

static bool read_float(Reader *r, Str s, Value *out) {
    double d = float_shape(s) ? number_read_double(s) : (double)INFINITY;
    if (isinf(d)) return bad_number(r, s);
    return *out = value_from_float(d), true;
}

static bool read_int(Reader *r, Str s, Value *out) {
    size_t i = s.at[0] == '-';
    if (s.n - i <= 14) {                                /* 14 digits fit the small ints */
        int64_t n = 0;
        for (size_t k = i; k < s.n; k++) n = n * 10 + (s.at[k] - '0');
        return *out = value_from_small(i ? -n : n), true;
    }
    return int_parse(r->heap, s, 10, out, r->err) && vm_work(r->vm, s.n / 2, r->err);
}

static bool read_number(Reader *r, Value *out) {
    const char *start = r->at, *at = start + 1;
    bool is_float = false;
    for (; at < r->end; at++)
        if (*at == '.' || *at == 'e' || *at == 'E' || *at == '+' || *at == '-') is_float = true;
        else if (!is_digit(*at)) break;
    r->at = at;
    Str s = { start, (size_t)(at - start) };
    const char *digits = start + (*start == '-');
    if (digits == at || (*digits == '0' && at - digits > 1 && is_digit(digits[1]))) return bad_number(r, s);
    return is_float ? read_float(r, s, out) : read_int(r, s, out);
}

/* ---- values ---- */

static bool read_word(Reader *r, Str word, Value v, Value *out) {
    if ((size_t)(r->end - r->at) < word.n || memcmp(r->at, word.at, word.n) != 0)
        return bad_char(r, "unexpected character ", *r->at, "");
    r->at += word.n;
    return *out = v, true;
}

static bool in_key_place(const Reader *r) {
    if (r->open.n == 0) return false;
    Open o = r->open.at[r->open.n - 1];
    return o.is_dict && (r->values.n - o.base) % 2 == 0;
}

static bool read_scalar(Reader *r, char c, Value *out) {
    switch (c) {
    case '"': return read_string(r, in_key_place(r), out);
    case 'n': return read_word(r, STR("null"), VALUE_NONE, out);
    case 't': return read_word(r, STR("true"), VALUE_TRUE, out);
    case 'f': return read_word(r, STR("false"), VALUE_FALSE, out);
    default: break;
    }
    if (is_digit(c) || c == '-') return read_number(r, out);
    return bad_char(r, "unexpected character ", c, "");
}

/* ---- containers ---- */

/* Closes the innermost container: pops its values off the stack and pushes the container. */
static bool close_container(Reader *r) {
    Open o = VEC_POP(&r->open);
    size_t n = r->values.n - o.base;
    const Value *v = n ? r->values.at + o.base : NULL;
    Value made;
    if (o.is_dict) {
        Dict *d = dict_new(r->heap, n / 2, r->err);
        for (size_t i = 0; d && i < n; i += 2)
            if (!dict_put(r->heap, d, v[i], v[i + 1], r->err)) d = NULL;
        if (!d) return false;
        made = value_from_object(d);
    } else {
        List *l = list_from(r->heap, v, n, r->err);
        if (!l) return false;
        made = value_from_object(l);
    }
    if (n > 64 && !vm_work(r->vm, n, r->err)) return false;
    r->values.n = o.base;
    VEC_PUSH(&r->values, made);
    r->at++;
    return true;
}

/* Consumes "[" or "{". Closes an empty container at once: *complete. */
static bool open_container(Reader *r, char c, bool *complete) {
    if (r->open.n == LIB_JSON_DEPTH) return bad(r, "nested too deeply (limit %d)", LIB_JSON_DEPTH);
    VEC_PUSH(&r->open, (Open){ c == '{', r->values.n });
    r->at++;
    char next;
    if (!peek(r, &next)) return false;
    *complete = next == (c == '{' ? '}' : ']');
    return !*complete || close_container(r);
}

/* Reads what follows a value in a container. *more is true if another value must follow. */
static bool after_value(Reader *r, bool *more) {
    Open o = r->open.at[r->open.n - 1];
    bool is_key = o.is_dict && (r->values.n - o.base) % 2 == 1;
    Value last = VEC_LAST(&r->values);
    char c;
    if (is_key && !value_is_string(last)) return bad(r, "got %s for object key, want string", value_type_name(last));
    if (!peek(r, &c)) return false;
    if (is_key && c != ':') return bad_char(r, "after object key, got ", c, ", want ':' ");
    *more = is_key || c == ',';
    if (*more) return r->at++, true;
    if (o.is_dict && c != '}') return bad_char(r, "in object, got ", c, ", want ',' or '}'");
    if (!o.is_dict && c != ']') return bad_char(r, "got ", c, ", want ',' or ']'");
    return close_container(r);
}

static bool tick(Reader *r) {
    if (++r->ticks & 511) return true;
    return vm_work(r->vm, 2048, r->err) && heap_can_take(r->heap, r->values.n * sizeof(Value), r->err);
}

static bool read_all(Reader *r) {
    for (;;) {
        char c;
        bool complete = true, more = false;
        if (!tick(r) || !peek(r, &c)) return false;
        if (c == '[' || c == '{') {
            if (!open_container(r, c, &complete)) return false;
            if (!complete) continue;
        } else {
            Value v;
            if (!read_scalar(r, c, &v)) return false;
            VEC_PUSH(&r->values, v);
        }
        while (r->open.n && !more)
            if (!after_value(r, &more)) return false;
        if (!more) break;
    }
    skip_space(r);
    return r->at == r->end || bad_char(r, "unexpected character ", *r->at, " after value");
}

bool lib_json_read(Vm *vm, Str text, Value *out, bool *malformed, Error *err) {
    Reader r = { .vm = vm, .heap = vm_heap(vm), .text = text.at, .at = text.at, .end = text.at + text.n, .err = err };
    bool ok = read_all(&r);
    if (ok) *out = r.values.at[0];
    *malformed = r.malformed;
    VEC_CLEAR(&r.values);
    VEC_CLEAR(&r.open);
    return ok;
}
