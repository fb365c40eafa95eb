#include "starlark/vm/format.h"

#include <ctype.h>
#include <math.h>
#include "base/number.h"
#include "base/utf8.h"
#include "starlark/vm/repr.h"
#include "starlark/vm/search.h"
#include "value/int.h"

enum { ROOM_AT_FIRST = 64 };

/* A template being expanded: the part still to read, and the output so far. */
typedef struct { Work work; Str rest; Buf out; } Template;

static void begin(Template *t, Vm *vm, String *format) {
    *t = (Template){ .work = { .vm = vm }, .rest = string_str(format) };
    buf_room(&t->out, (format->n < WORK_CHUNK ? format->n : 0) + ROOM_AT_FIRST);
}

static bool add(Template *t, Str s, Error *err) {
    if (!work_room(&t->work, &t->out, s.n, err)) return false;
    for (; s.n > WORK_CHUNK; s = str_sub(s, WORK_CHUNK, s.n)) {
        buf_add(&t->out, (Str){ s.at, WORK_CHUNK });
        if (!work_add(&t->work, WORK_CHUNK / 32, err)) return false;
    }
    buf_add(&t->out, s);
    return work_add(&t->work, 2 + s.n / 64, err);
}

/* Offset of the first c in s, or -1. */
static inline bool find(Template *t, Str s, char c, ptrdiff_t *at, Error *err) {
    if (s.n > WORK_CHUNK) return search_first(&t->work, s, (Str){ &c, 1 }, at, err);
    return *at = str_find_char(s, c), true;
}

static bool add_str(Template *t, Value v, Error *err) {
    char text[NUMBER_TEXT_SIZE];
    if (value_is_string(v)) return add(t, value_str(v), err);
    if (value_is_small(v)) return add(t, (Str){ text, number_write_i64(value_small(v), text) }, err);
    return work_room(&t->work, &t->out, 0, err) && repr_str(t->work.vm, &t->out, v, err);
}

static bool add_repr(Template *t, Value v, Error *err) {
    return work_room(&t->work, &t->out, 0, err) && work_add(&t->work, 2, err) && repr_value(t->work.vm, &t->out, v, err);
}

static bool finish(Template *t, bool ok, Value *out, Error *err) {
    ok = ok && work_string(&t->work, buf_str(&t->out), out, err);
    buf_clear(&t->out);
    return ok;
}

/* ---- the % operator ---- */

static bool whole_number(Template *t, Value v, char verb, Value *out, Error *err) {
    if (value_is_int(v)) return *out = v, true;
    if (!value_is_float(v))
        return error_set(err, ERR_SCRIPT, "%%%c format requires integer: cannot convert %s to int", verb, value_type_name(v));
    double d = value_float(v);
    if (!isfinite(d))
        return error_set(err, ERR_SCRIPT, "%%%c format requires integer: cannot convert float %s to integer", verb,
                         isnan(d) ? "NaN" : "infinity");
    return int_from_double(vm_heap(t->work.vm), d, out, err);
}

static bool add_int(Template *t, Value v, char verb, Error *err) {
    Value number;
    if (!whole_number(t, v, verb, &number, err)) return false;
    char text[NUMBER_TEXT_SIZE];
    bool decimal = verb == 'd' || verb == 'i';
    if (decimal && value_is_small(number)) return add(t, (Str){ text, number_write_i64(value_small(number), text) }, err);
    size_t from = t->out.n, bits = int_bits(number);
    if (!work_room(&t->work, &t->out, bits / 3 + 2, err) || !work_add(&t->work, 4 + bits / 16, err)) return false;
    int_text(&t->out, number, decimal ? 10 : verb == 'o' ? 8 : 16);
    if (verb == 'X')
        for (size_t i = from; i < t->out.n; i++) t->out.at[i] = (char)toupper((unsigned char)t->out.at[i]);
    return true;
}

static bool add_float(Template *t, Value v, char verb, Error *err) {
    if (!value_is_float(v) && !value_is_int(v))
        return error_set(err, ERR_SCRIPT, "%%%c format requires float, not %s", verb, value_type_name(v));
    repr_format_float(&t->out, verb, value_is_float(v) ? value_float(v) : int_to_double(v));
    return work_room(&t->work, &t->out, 0, err) && work_add(&t->work, 10, err);
}

static bool bad_codepoint(Value v, Error *err) {
    Buf text = { 0 };
    int_text(&text, v, 10);
    error_set(err, ERR_SCRIPT, "%%c format requires a valid Unicode code point, got " STR_FMT, STR_ARG(buf_str(&text)));
    buf_clear(&text);
    return false;
}

static bool add_character(Template *t, Value v, Error *err) {
    char text[4];
    uint32_t c;
    if (value_is_int(v)) {
        int64_t i;
        if (!int_to_i64(v, &i) || i < 0 || i > 0x10ffff) return bad_codepoint(v, err);
        c = i >= 0xd800 && i < 0xe000 ? 0xfffd : (uint32_t)i;
    } else if (value_is_string(v)) {
        Str s = value_str(v);
        size_t length = 0;
        c = s.n ? utf8_decode(s, &length) : 0;
        if (s.n == 0 || length != s.n) return error_set(err, ERR_SCRIPT, "%%c format requires a single-character string");
    } else {
        return error_set(err, ERR_SCRIPT, "%%c format requires int or single-character string, not %s", value_type_name(v));
    }
    return add(t, (Str){ text, utf8_encode(c, text) }, err);
}

static bool add_converted(Template *t, Value v, unsigned char verb, Error *err) {
    char text[5] = { 0 };
    switch (verb) {
    case 's': return add_str(t, v, err);
    case 'r': return add_repr(t, v, err);
    case 'd': case 'i': case 'o': case 'x': case 'X': return add_int(t, v, (char)verb, err);
    case 'e': case 'f': case 'g': case 'E': case 'F': case 'G': return add_float(t, v, (char)verb, err);
    case 'c': return add_character(t, v, err);
    case '%': return add(t, STR("%"), err);
    default:
        utf8_encode(verb, text);
        return error_set(err, ERR_SCRIPT, "unknown conversion %%%s", text);
    }
}

/* The arguments of one % expression: the items of a tuple in order, or a single value. */
typedef struct { Value given; const Value *at; size_t n, used; } Percent;

static bool keyed_argument(Template *t, const Percent *p, Value *out, Error *err) {
    ptrdiff_t end;
    if (!find(t, t->rest, ')', &end, err)) return false;
    if (end < 0) return error_set(err, ERR_SCRIPT, "incomplete format key");
    Str key = { t->rest.at, (size_t)end };
    if (!value_is_dict(p->given)) return error_set(err, ERR_SCRIPT, "format requires a mapping");
    Value *found = dict_find_str(value_dict(p->given), key);
    if (!found) return error_set(err, ERR_SCRIPT, "key not found: " STR_FMT, STR_ARG(key));
    t->rest = str_sub(t->rest, key.n + 1, t->rest.n);
    return *out = *found, true;
}

static bool next_argument(Template *t, Percent *p, Value *out, Error *err) {
    if (t->rest.n && t->rest.at[0] == '(') {
        t->rest = str_sub(t->rest, 1, t->rest.n);
        return keyed_argument(t, p, out, err);
    }
    if (p->used >= p->n) return error_set(err, ERR_SCRIPT, "not enough arguments for format string");
    return *out = p->at[p->used], true;
}

static bool fill_percent(Template *t, Percent *p, Error *err) {
    for (;;) {
        ptrdiff_t at;
        if (!find(t, t->rest, '%', &at, err)) return false;
        Str plain = { t->rest.at, at < 0 ? t->rest.n : (size_t)at };
        if (plain.n && !add(t, plain, err)) return false;
        if (at < 0) return true;
        t->rest = str_sub(t->rest, plain.n + 1, t->rest.n);
        Value v = VALUE_NONE;
        bool escaped = t->rest.n && t->rest.at[0] == '%';
        if (!escaped && !next_argument(t, p, &v, err)) return false;
        if (!t->rest.n) return error_set(err, ERR_SCRIPT, "incomplete format");
        if (!add_converted(t, v, (unsigned char)t->rest.at[0], err)) return false;
        t->rest = str_sub(t->rest, 1, t->rest.n);
        if (!escaped) p->used++;
    }
}

bool format_percent(Vm *vm, String *format, Value args, Value *out, Error *err) {
    Percent p = { .given = args, .at = &args, .n = 1 };
    if (value_is_tuple(args)) p.at = value_tuple(args)->at, p.n = value_tuple(args)->n;
    Template t;
    begin(&t, vm, format);
    bool ok = fill_percent(&t, &p, err);
    if (ok && p.used < p.n && !value_is_dict(args))
        ok = error_set(err, ERR_SCRIPT, "too many arguments for format string");
    return finish(&t, ok, out, err);
}

/* ---- str.format ---- */

/* One replacement field, "name!conversion:spec". */
typedef struct { Str name, conversion, spec; } Field;
typedef struct { const NativeArgs *a; size_t next; bool numbered, automatic; } Slots;

static Str cut(Str *s, char at) {                     /* cuts s at the first `at` and returns the text after it */
    ptrdiff_t i = str_find_char(*s, at);
    if (i < 0) return (Str){ NULL, 0 };
    Str tail = str_sub(*s, (size_t)i + 1, s->n);
    s->n = (size_t)i;
    return tail;
}

static Field parse_field(Str s) {
    Field f = { .name = s, .conversion = STR("s") };
    Str tail = cut(&f.name, '!');
    if (tail.at) { f.conversion = tail; f.spec = cut(&f.conversion, ':'); }
    else f.spec = cut(&f.name, ':');
    return f;
}

static bool as_index(Str s, size_t *out) {
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.at[i] < '0' || s.at[i] > '9' || n > (size_t)INT64_MAX / 16) return false;
        n = n * 10 + (size_t)(s.at[i] - '0');
    }
    return *out = n, true;
}

static bool named_slot(const Slots *slots, Str name, Value *out, Error *err) {
    for (uint32_t i = 0; i < slots->a->n_named; i++)
        if (str_eq(string_str(slots->a->named[i].name), name)) return *out = slots->a->named[i].value, true;
    if (str_find_char(name, '.') >= 0)
        return error_set(err, ERR_SCRIPT, "attribute syntax x.y is not supported in replacement fields: " STR_FMT, STR_ARG(name));
    if (str_find_char(name, '[') >= 0)
        return error_set(err, ERR_SCRIPT, "element syntax a[i] is not supported in replacement fields: " STR_FMT, STR_ARG(name));
    if (str_find_char(name, '{') >= 0) return error_set(err, ERR_SCRIPT, "nested replacement fields not supported");
    return error_set(err, ERR_SCRIPT, "keyword " STR_FMT " not found", STR_ARG(name));
}

static bool find_slot(Slots *slots, Str name, Value *out, Error *err) {
    size_t i;
    if (name.n == 0) {
        if (slots->numbered)
            return error_set(err, ERR_SCRIPT, "cannot switch from manual field specification to automatic field numbering");
        slots->automatic = true;
        i = slots->next++;
    } else if (as_index(name, &i)) {
        if (slots->automatic)
            return error_set(err, ERR_SCRIPT, "cannot switch from automatic field numbering to manual field specification");
        slots->numbered = true;
    } else {
        return named_slot(slots, name, out, err);
    }
    if (i >= slots->a->n) return error_set(err, ERR_SCRIPT, "tuple index out of range");
    return *out = slots->a->at[i], true;
}

static bool unknown_conversion(Str conversion, Error *err) {
    Buf quoted = { 0 };
    repr_string(&quoted, str_sub(conversion, 0, 200));
    error_set(err, ERR_SCRIPT, "unknown conversion " STR_FMT, STR_ARG(buf_str(&quoted)));
    buf_clear(&quoted);
    return false;
}

static bool add_field(Template *t, Slots *slots, Str text, Error *err) {
    Field f = parse_field(text);
    Value v;
    if (!find_slot(slots, f.name, &v, err)) return false;
    if (f.spec.n)
        return error_set(err, ERR_SCRIPT, "format spec features not supported in replacement fields: " STR_FMT, STR_ARG(f.spec));
    if (str_eq(f.conversion, STR("s"))) return add_str(t, v, err);
    if (str_eq(f.conversion, STR("r"))) return add_repr(t, v, err);
    return unknown_conversion(f.conversion, err);
}

/* Literal text outside of fields, where "}}" means '}'. */
static bool add_plain(Template *t, Str s, Error *err) {
    for (ptrdiff_t at;;) {
        if (!find(t, s, '}', &at, err)) return false;
        if (at < 0) return s.n == 0 || add(t, s, err);
        size_t end = (size_t)at + 1;
        if (end == s.n || s.at[end] != '}') return error_set(err, ERR_SCRIPT, "single '}' in format");
        if (!add(t, (Str){ s.at, end }, err)) return false;
        s = str_sub(s, end + 1, s.n);
    }
}

static bool fill_fields(Template *t, Slots *slots, Error *err) {
    for (;;) {
        ptrdiff_t at, end;
        if (!find(t, t->rest, '{', &at, err)) return false;
        size_t plain = at < 0 ? t->rest.n : (size_t)at;
        if (!add_plain(t, (Str){ t->rest.at, plain }, err)) return false;
        if (at < 0) return true;
        t->rest = str_sub(t->rest, plain + 1, t->rest.n);
        if (t->rest.n && t->rest.at[0] == '{') {
            if (!add(t, STR("{"), err)) return false;
            t->rest = str_sub(t->rest, 1, t->rest.n);
            continue;
        }
        if (!find(t, t->rest, '}', &end, err)) return false;
        if (end < 0) return error_set(err, ERR_SCRIPT, "unmatched '{' in format");
        if (!add_field(t, slots, (Str){ t->rest.at, (size_t)end }, err)) return false;
        t->rest = str_sub(t->rest, (size_t)end + 1, t->rest.n);
    }
}

bool format_method(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Slots slots = { .a = a };
    Template t;
    begin(&t, vm, value_string(a->self));
    return finish(&t, fill_fields(&t, &slots, err), out, err);
}
