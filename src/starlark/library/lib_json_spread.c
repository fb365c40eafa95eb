/* json.indent: validates a JSON text strictly and copies it indented. The messages are those of Go's
 * encoding/json, which starlark-go uses here. */
#include "base/vec.h"
#include "starlark/library/lib_json.h"

typedef struct Spread {
    Vm *vm;
    Buf *out;
    const char *at, *end;
    Str prefix, indent;
    VEC(char) open;              /* '[' or '{' of each open container */
    size_t next_check;
    Error *err;
} Spread;

static bool bad(Spread *s, const char *where) {
    char quoted[LIB_JSON_QUOTED];
    if (s->at >= s->end) return error_set(s->err, ERR_SCRIPT, "unexpected end of JSON input");
    lib_json_quote(quoted, *s->at);
    return error_set(s->err, ERR_SCRIPT, "invalid character %s %s", quoted, where);
}

static bool is_digit(const Spread *s) { return s->at < s->end && *s->at >= '0' && *s->at <= '9'; }
static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
static bool at_char(const Spread *s, char c) { return s->at < s->end && *s->at == c; }

static void skip_space(Spread *s) {
    while (s->at < s->end && is_space(*s->at)) s->at++;
}

static bool new_line(Spread *s) {
    size_t need = s->prefix.n + s->open.n * s->indent.n;
    if (need > 4096 && !heap_can_take(vm_heap(s->vm), s->out->n + need, s->err)) return false;   /* an indent may be long */
    buf_add_char(s->out, '\n');
    buf_add(s->out, s->prefix);
    for (size_t i = 0; i < s->open.n; i++) buf_add(s->out, s->indent);
    return lib_json_room(s->vm, s->out, &s->next_check, s->err);
}

/* ---- scalars: validate, then copy unchanged ---- */

static bool skip_escape(Spread *s) {
    s->at++;
    if (s->at >= s->end || !*s->at || !strchr("\"\\/bfnrtu", *s->at)) return bad(s, "in string escape code");
    if (*s->at++ != 'u') return true;
    for (int i = 0; i < 4; i++, s->at++)
        if (s->at >= s->end || !((*s->at >= '0' && *s->at <= '9') || ((*s->at | 0x20) >= 'a' && (*s->at | 0x20) <= 'f')))
            return bad(s, "in \\u hexadecimal character escape");
    return true;
}

static bool skip_string(Spread *s) {
    for (s->at++; !at_char(s, '"');) {
        if (s->at >= s->end || (unsigned char)*s->at < 0x20) return bad(s, "in string literal");
        if (*s->at == '\\') {
            if (!skip_escape(s)) return false;
        } else s->at++;
    }
    return s->at++, true;
}

static bool skip_digits(Spread *s, const char *where) {
    if (!is_digit(s)) return bad(s, where);
    while (is_digit(s)) s->at++;
    return true;
}

static bool skip_number(Spread *s) {
    if (*s->at == '-') s->at++;
    if (at_char(s, '0')) s->at++;                       /* no digit may follow a leading zero */
    else if (!skip_digits(s, "in numeric literal")) return false;
    if (at_char(s, '.')) {
        s->at++;
        if (!skip_digits(s, "after decimal point in numeric literal")) return false;
    }
    if (at_char(s, 'e') || at_char(s, 'E')) {
        s->at++;
        if (at_char(s, '+') || at_char(s, '-')) s->at++;
        if (!skip_digits(s, "in exponent of numeric literal")) return false;
    }
    return true;
}

static bool skip_word(Spread *s, const char *word) {
    s->at++;
    for (size_t i = 1; word[i]; i++, s->at++) {
        char where[48];
        if (at_char(s, word[i])) continue;
        memcpy(where, "in literal ", 11);
        size_t n = strlen(word);
        memcpy(where + 11, word, n);
        memcpy(where + 11 + n, " (expecting 'x')", 17);
        where[11 + n + 13] = word[i];
        return bad(s, where);
    }
    return true;
}

static bool copy_scalar(Spread *s) {
    const char *start = s->at;
    bool ok;
    switch (*s->at) {
    case '"': ok = skip_string(s); break;
    case 't': ok = skip_word(s, "true"); break;
    case 'f': ok = skip_word(s, "false"); break;
    case 'n': ok = skip_word(s, "null"); break;
    default:
        if (*s->at != '-' && !is_digit(s)) return bad(s, "looking for beginning of value");
        ok = skip_number(s);
    }
    if (ok) buf_add(s->out, (Str){ start, (size_t)(s->at - start) });
    return ok;
}

/* ---- containers ---- */

/* Copies a key and its colon, if the innermost container is an object. */
static bool copy_key(Spread *s) {
    if (s->open.n == 0 || VEC_LAST(&s->open) != '{') return true;
    skip_space(s);
    if (!at_char(s, '"')) return bad(s, "looking for beginning of object key string");
    if (!copy_scalar(s)) return false;
    skip_space(s);
    if (!at_char(s, ':')) return bad(s, "after object key");
    s->at++;
    buf_add(s->out, STR(": "));
    return true;
}

static bool close_container(Spread *s) {
    char c = *s->at++;
    (void)VEC_POP(&s->open);
    return buf_add_char(s->out, c), true;
}

/* Consumes "[" or "{"; sets *complete if the container is empty. */
static bool open_container(Spread *s, bool *complete) {
    char c = *s->at++;
    if (s->open.n == LIB_JSON_DEPTH) return error_set(s->err, ERR_SCRIPT, "exceeded max depth");
    buf_add_char(s->out, c);
    VEC_PUSH(&s->open, c);
    skip_space(s);
    *complete = at_char(s, c == '{' ? '}' : ']');
    return *complete ? close_container(s) : new_line(s) && copy_key(s);
}

/* Reads what follows a value in a container; *more is true if another value must follow. */
static bool after_value(Spread *s, bool *more) {
    bool object = VEC_LAST(&s->open) == '{';
    skip_space(s);
    *more = at_char(s, ',');
    if (*more) {
        s->at++;
        buf_add_char(s->out, ',');
        return new_line(s) && copy_key(s);
    }
    if (!at_char(s, object ? '}' : ']')) return bad(s, object ? "after object key:value pair" : "after array element");
    s->open.n--;                                        /* the closing bracket is indented one level less */
    bool ok = new_line(s);
    buf_add_char(s->out, *s->at++);
    return ok;
}

static bool copy_all(Spread *s) {
    for (;;) {
        bool complete = true, more = false;
        skip_space(s);
        if (s->at >= s->end) return bad(s, "");
        if (*s->at == '[' || *s->at == '{') {
            if (!open_container(s, &complete)) return false;
            if (!complete) continue;
        } else if (!copy_scalar(s)) return false;
        while (s->open.n && !more)
            if (!after_value(s, &more)) return false;
        if (!more) break;
    }
    const char *rest = s->at;
    skip_space(s);
    if (s->at < s->end) return bad(s, "after top-level value");
    buf_add(s->out, (Str){ rest, (size_t)(s->at - rest) });   /* keeps trailing space, as Go does */
    return true;
}

bool lib_json_spread(Vm *vm, Buf *out, Str text, Str prefix, Str indent, Error *err) {
    Spread s = { .vm = vm, .out = out, .at = text.at, .end = text.at + text.n, .prefix = prefix, .indent = indent, .err = err };
    bool ok = vm_work(vm, text.n / 2, err) && copy_all(&s);
    VEC_CLEAR(&s.open);
    return ok;
}
