#include "starlark/vm/repr.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/number.h"
#include "base/unicode.h"
#include "base/utf8.h"
#include "starlark/vm/view.h"
#include "starlark/vm/work.h"
#include "value/int.h"
#include "value/range.h"

enum { DEPTH_MAX = 10000, QUOTE_CHUNK = 1 << 16 };

/* ---- strings ---- */

static bool is_plain(unsigned char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; }

static void add_escaped(Buf *out, uint32_t c) {
    static const char letters[] = "abtnvfr";              /* for '\a' … '\r' */
    if (c == '"' || c == '\\') buf_add(out, (Str){ (char[]){ '\\', (char)c }, 2 });
    else if (c >= '\a' && c <= '\r') buf_add(out, (Str){ (char[]){ '\\', letters[c - '\a'] }, 2 });
    else if (c < 0x80) buf_add_fmt(out, "\\x%02x", (unsigned)c);
    else buf_add_fmt(out, c < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)c);
}

/* Quotes s from offset i to at least offset `until`; returns the offset where it stopped. */
static size_t quote_part(Buf *out, Str s, size_t i, size_t until) {
    while (i < until) {
        size_t from = i, length;
        while (i < until && is_plain((unsigned char)s.at[i])) i++;
        if (i > from) buf_add(out, (Str){ s.at + from, i - from });
        if (i == until) break;
        uint32_t c = utf8_decode((Str){ s.at + i, s.n - i }, &length);
        if (c == 0xfffd && length == 1) buf_add_fmt(out, "\\x%02x", (unsigned)(unsigned char)s.at[i]);
        else if (c >= 0x80 && unicode_is_printable(c)) buf_add(out, (Str){ s.at + i, length });
        else add_escaped(out, c);
        i += length;
    }
    return i;
}

static void quote(Buf *out, Str s) {
    buf_add_char(out, '"');
    quote_part(out, s, 0, s.n);
    buf_add_char(out, '"');
}

void repr_string(Buf *out, Str s) { quote(out, s); }
void repr_bytes(Buf *out, Str s) { buf_add_char(out, 'b'); quote(out, s); }

/* ---- floats ---- */

static bool add_not_finite(Buf *out, double d) {
    if (isfinite(d)) return false;
    buf_add(out, isnan(d) ? STR("nan") : d > 0 ? STR("+inf") : STR("-inf"));
    return true;
}

/* The shortest digits that read back exactly: without exponent from 1e-4 up to 1e6, else with one.
 * Always has a '.' or an exponent, to differ from an int. */
static void add_shortest(Buf *out, double d, char e) {
    char digits[NUMBER_TEXT_SIZE], text[2 * NUMBER_TEXT_SIZE], *p = text;
    int point, n = (int)number_digits(fabs(d), digits, &point);
    if (signbit(d)) *p++ = '-';
    if (d != 0 && (point < -3 || point > 6)) {
        int exponent = point - 1;
        *p++ = digits[0];
        if (n > 1) { *p++ = '.'; memcpy(p, digits + 1, (size_t)n - 1); p += n - 1; }
        p += snprintf(p, 8, "%c%c%02d", e, exponent < 0 ? '-' : '+', abs(exponent));
    } else if (point <= 0) {
        memcpy(p, "0.0000", 6);
        p += 2 - point;
        memcpy(p, digits, (size_t)n);
        p += n;
    } else {
        for (int i = 0; i < point; i++) *p++ = i < n ? digits[i] : '0';
        *p++ = '.';
        if (n <= point) *p++ = '0';
        else { memcpy(p, digits + point, (size_t)(n - point)); p += n - point; }
    }
    buf_add(out, (Str){ text, (size_t)(p - text) });
}

/* Writes d with six decimals, exactly rounded, if it fits in 2^64 millionths; d = m × 2^e. */
static bool add_fixed(Buf *out, double d) {
    int e;
    double fraction = frexp(fabs(d), &e);
    unsigned __int128 scaled = (unsigned __int128)(uint64_t)ldexp(fraction, 53) * 1000000u;
    e -= 53;
    if (e < -120 || e > 0) return false;
    if (e < 0) {
        unsigned __int128 rest = scaled & (((unsigned __int128)1 << -e) - 1), half = (unsigned __int128)1 << (-e - 1);
        scaled >>= -e;
        scaled += rest > half || (rest == half && (scaled & 1));
    }
    if (scaled >> 64) return false;
    char text[NUMBER_TEXT_SIZE];
    uint64_t whole = (uint64_t)scaled / 1000000, part = (uint64_t)scaled % 1000000;
    size_t n = number_write_i64((int64_t)whole, text);
    text[n] = '.';
    for (size_t i = n + 6; i > n; i--, part /= 10) text[i] = (char)('0' + part % 10);
    if (signbit(d)) buf_add_char(out, '-');
    buf_add(out, (Str){ text, n + 7 });
    return true;
}

bool repr_format_float(Buf *out, char verb, double d) {
    if (!strchr("eEfFgG", verb) || !verb) return false;
    if (add_not_finite(out, d)) return true;
    if (verb == 'g' || verb == 'G') add_shortest(out, d, verb == 'g' ? 'e' : 'E');
    else if (verb == 'e') buf_add_fmt(out, "%.6e", d);
    else if (verb == 'E') buf_add_fmt(out, "%.6E", d);
    else if (!add_fixed(out, d)) buf_add_fmt(out, "%.6f", d);
    return true;
}

void repr_float(Buf *out, double d) { repr_format_float(out, 'g', d); }

/* ---- any value ---- */

/* The containers being written, outermost first, on an explicit stack instead of the C stack. `i`
 * counts the items written; in a dict it indexes entries, and `value` means that the key has been
 * written and the value is next. */
typedef struct { Object *of; uint32_t i; bool value, some; } Level;
typedef struct { Work work; Buf *out; Level *level, first[8]; size_t n, cap; } Printer;

static bool add_quoted(Printer *p, String *s, Error *err) {
    if (s->obj.type == OBJECT_BYTES) buf_add_char(p->out, 'b');
    buf_add_char(p->out, '"');
    for (size_t i = 0; i < s->n;) {
        size_t until = s->n - i < QUOTE_CHUNK ? s->n : i + QUOTE_CHUNK;
        if (!work_room(&p->work, p->out, until - i, err) || !work_add(&p->work, (until - i) / 8, err)) return false;
        i = quote_part(p->out, string_str(s), i, until);
    }
    buf_add_char(p->out, '"');
    return true;
}

/* Only lists and dicts can contain themselves; other containers only through one of those. */
static bool is_open(Printer *p, const Object *o) {
    for (size_t i = p->n; i-- > 0;)
        if (p->level[i].of == o) return true;
    return false;
}

static bool push(Printer *p, Object *o, Error *err) {
    if (p->n == DEPTH_MAX) return error_set(err, ERR_LIMIT, "value nested too deeply");
    if (p->n == p->cap) {
        size_t cap = p->cap * 2;
        Level *grown = mem_alloc(cap * sizeof *grown);
        memcpy(grown, p->level, p->n * sizeof *grown);
        if (p->level != p->first) free(p->level);
        p->level = grown;
        p->cap = cap;
    }
    p->level[p->n++] = (Level){ .of = o };
    return work_add(&p->work, 1 + p->n / 16, err);        /* the cost of is_open() */
}

static bool open_container(Printer *p, Object *o, Error *err) {
    switch (o->type) {
    case OBJECT_LIST:
        if (is_open(p, o)) return buf_add(p->out, STR("[...]")), true;
        buf_add_char(p->out, '[');
        break;
    case OBJECT_DICT:
        if (is_open(p, o)) return buf_add(p->out, STR("{...}")), true;
        buf_add_char(p->out, '{');
        break;
    case OBJECT_SET: buf_add(p->out, STR("set([")); break;
    default: buf_add_char(p->out, '('); break;
    }
    return push(p, o, err);
}

static void add_range(Buf *out, const Range *r) {
    long long start = r->start, stop = r->stop, step = r->step;
    if (step != 1) buf_add_fmt(out, "range(%lld, %lld, %lld)", start, stop, step);
    else if (start != 0) buf_add_fmt(out, "range(%lld, %lld)", start, stop);
    else buf_add_fmt(out, "range(%lld)", stop);
}

static void add_native(Buf *out, const Native *n) {
    if (value_is_gone(n->self)) buf_add_fmt(out, "<built-in function %s>", n->def->name);
    else buf_add_fmt(out, "<built-in method %s of %s value>", n->def->name, value_type_name(n->self));
}

static bool add_by_class(Printer *p, Value v, Error *err) {
    const NativeClass *cls = (const NativeClass *)((Classed *)value_object(v))->cls;
    if (!cls->repr) return buf_add_fmt(p->out, "<%s>", cls->base.name), true;
    cls->repr(p->out, v);
    return work_room(&p->work, p->out, 0, err);
}

static bool add_object(Printer *p, Value v, Error *err) {
    Object *o = value_object(v);
    Str suffix;
    String *viewed;
    switch (o->type) {
    case OBJECT_INT: int_text(p->out, v, 10); return work_add(&p->work, int_bits(v) / 16, err);
    case OBJECT_STRING: case OBJECT_BYTES: return add_quoted(p, value_string(v), err);
    case OBJECT_LIST: case OBJECT_TUPLE: case OBJECT_DICT: case OBJECT_SET: return open_container(p, o, err);
    case OBJECT_RANGE: add_range(p->out, value_range(v)); return true;
    case OBJECT_NATIVE: case OBJECT_BOUND: add_native(p->out, (Native *)o); return true;
    case OBJECT_MODULE:
        buf_add(p->out, STR("<module "));
        quote(p->out, string_str(((NativeModule *)o)->name));
        buf_add_char(p->out, '>');
        return true;
    case OBJECT_CELL: buf_add(p->out, STR("<cell>")); return true;
    default:
        viewed = view_of(v, &suffix);
        if (!viewed) return add_by_class(p, v, err);
        if (!add_quoted(p, viewed, err)) return false;
        buf_add(p->out, suffix);
        return true;
    }
}

static bool add_value(Printer *p, Value v, Error *err) {
    if (value_is_object(v)) return add_object(p, v, err);
    if (value_is_small(v)) number_add_i64(p->out, value_small(v));
    else if (value_is_float(v)) repr_float(p->out, value_float(v));
    else if (value_is_bool(v)) buf_add(p->out, value_bool(v) ? STR("True") : STR("False"));
    else buf_add(p->out, value_is_gone(v) ? STR("<none>") : STR("None"));
    return true;
}

/* Writes the separator and returns the next item of the innermost container; false at its end. */
static bool next_item(Buf *out, Level *l, Value *item) {
    if (l->of->type == OBJECT_DICT && l->value) {
        buf_add(out, STR(": "));
        l->value = false;
        return *item = ((Dict *)l->of)->entry[l->i - 1].value, true;
    }
    Entry *e;
    switch (l->of->type) {
    case OBJECT_LIST:
        if (l->i >= ((List *)l->of)->n) return false;
        *item = ((List *)l->of)->at[l->i++];
        break;
    case OBJECT_TUPLE:
        if (l->i >= ((Tuple *)l->of)->n) return false;
        *item = ((Tuple *)l->of)->at[l->i++];
        break;
    default:
        if (!dict_next((Dict *)l->of, &l->i, &e)) return false;
        *item = e->key;
        l->value = true;
    }
    if (l->some) buf_add(out, STR(", "));
    l->some = true;
    return true;
}

static void close_container(Buf *out, const Object *o) {
    switch (o->type) {
    case OBJECT_LIST: buf_add_char(out, ']'); break;
    case OBJECT_DICT: buf_add_char(out, '}'); break;
    case OBJECT_SET: buf_add(out, STR("])")); break;
    default: buf_add(out, ((const Tuple *)o)->n == 1 ? STR(",)") : STR(")"));
    }
}

static bool print_all(Printer *p, Value v, Error *err) {
    if (!add_value(p, v, err)) return false;
    while (p->n) {
        Level *l = &p->level[p->n - 1];
        Value item;
        if (!next_item(p->out, l, &item)) {
            close_container(p->out, l->of);
            p->n--;
            continue;
        }
        if (!add_value(p, item, err) || !work_add(&p->work, 4, err) || !work_room(&p->work, p->out, 0, err)) return false;
    }
    return true;
}

bool repr_value(Vm *vm, Buf *out, Value v, Error *err) {
    Printer p = { .work = { .vm = vm }, .out = out, .cap = sizeof p.first / sizeof *p.first };
    p.level = p.first;
    bool ok = print_all(&p, v, err);
    if (p.level != p.first) free(p.level);
    return ok;
}

bool repr_str(Vm *vm, Buf *out, Value v, Error *err) {
    if (!value_is_string(v)) return repr_value(vm, out, v, err);
    Work w = { .vm = vm };
    Str s = value_str(v);
    if (!work_room(&w, out, s.n, err)) return false;
    char *at = buf_room(out, s.n);
    if (!at) return error_set(err, ERR_LIMIT, "text too long");
    if (!work_copy(&w, at, s, err)) return false;
    return buf_commit(out, s.n), true;
}
