/* json.encode. Open containers are on an explicit stack, so nesting uses no C stack. The stack is
 * searched for cycles only when it gets deep. */
#include <math.h>
#include <stdlib.h>
#include "base/number.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "starlark/vm/iter.h"
#include "starlark/library/lib_json.h"
#include "starlark/vm/repr.h"
#include "value/int.h"

typedef enum { WALK_ITEMS, WALK_KEYS, WALK_FIELDS } Walk;

/* An open container. Its keys and fields are in `pairs`, sorted, starting at `base`. */
typedef struct { Value of; Walk walk; Iter it; size_t base; uint32_t at, n; } Frame;

typedef struct Writer {
    Vm *vm;
    Buf *out;
    VEC(Frame) frames;
    VEC(Entry) pairs;
    size_t next_check;
    uint32_t ticks;
    Error *err;
} Writer;

/* ---- strings ---- */

static void add_escaped(Buf *out, Str s) {              /* printable ASCII */
    for (size_t i = 0; i < s.n; i++) {
        if (s.at[i] == '"' || s.at[i] == '\\') buf_add_char(out, '\\');
        buf_add_char(out, s.at[i]);
    }
}

static void add_control(Buf *out, unsigned char c) {
    switch (c) {
    case '\b': buf_add(out, STR("\\b")); break;
    case '\f': buf_add(out, STR("\\f")); break;
    case '\n': buf_add(out, STR("\\n")); break;
    case '\r': buf_add(out, STR("\\r")); break;
    case '\t': buf_add(out, STR("\\t")); break;
    default: buf_add_fmt(out, "\\u%04x", c);
    }
}

/* Like Go's json.Marshal, also escapes characters that HTML or JavaScript could misinterpret. */
static void add_careful(Buf *out, Str s) {
    for (size_t i = 0, n = 1; i < s.n; i += n) {
        unsigned char c = (unsigned char)s.at[i];
        n = 1;
        if (c < 0x20) add_control(out, c);
        else if (c == '"' || c == '\\') buf_add(out, (Str){ (char[]){ '\\', (char)c }, 2 });
        else if (c == '<' || c == '>' || c == '&') buf_add_fmt(out, "\\u%04x", c);
        else if (c < 0x80) buf_add_char(out, (char)c);
        else {
            uint32_t point = utf8_decode((Str){ s.at + i, s.n - i }, &n);
            if (n == 1) buf_add(out, STR("\\ufffd"));
            else if (point == 0x2028 || point == 0x2029) buf_add_fmt(out, "\\u%04x", point);
            else buf_add(out, (Str){ s.at + i, n });
        }
    }
}

typedef enum { TEXT_PLAIN, TEXT_QUOTES, TEXT_OTHER } TextKind;

static TextKind kind_of(Str s) {
    size_t i = 0;
    for (uint64_t w; i + 8 <= s.n; i += 8) {
        memcpy(&w, s.at + i, 8);
        if (lib_json_special(w)) break;
    }
    TextKind kind = TEXT_PLAIN;
    for (; i < s.n; i++) {
        unsigned char c = (unsigned char)s.at[i];
        if (c < 0x20 || c >= 0x80) return TEXT_OTHER;
        if (c == '"' || c == '\\') kind = TEXT_QUOTES;
    }
    return kind;
}

static void add_plain(Buf *out, Str s) {
    char *room = buf_room(out, s.n + 2);
    if (!room) return;
    room[0] = '"';
    memcpy(room + 1, s.at, s.n);
    room[s.n + 1] = '"';
    buf_commit(out, s.n + 2);
}

enum { PIECE = 1 << 16 };        /* bytes of a long string between two checks of the limits */

/* The first piece of s, cut between characters. */
static Str first_piece(Str s) {
    size_t n = s.n < PIECE ? s.n : PIECE;
    for (int back = 0; n < s.n && back < 3 && ((unsigned char)s.at[n] & 0xC0) == 0x80; back++) n--;
    return (Str){ s.at, n };
}

static bool add_long(Writer *w, Str s, TextKind kind) {
    while (s.n) {
        Str piece = first_piece(s);
        if (!heap_can_take(vm_heap(w->vm), w->out->n + piece.n, w->err) || !vm_work(w->vm, piece.n, w->err)) return false;
        if (kind == TEXT_PLAIN) buf_add(w->out, piece);
        else if (kind == TEXT_QUOTES) add_escaped(w->out, piece);
        else add_careful(w->out, piece);
        s = str_sub(s, piece.n, s.n);
    }
    return true;
}

static bool add_string(Writer *w, Str s) {
    TextKind kind = kind_of(s);
    if (kind == TEXT_PLAIN && s.n < PIECE) return add_plain(w->out, s), s.n < 4096 || vm_work(w->vm, s.n / 64, w->err);
    buf_add_char(w->out, '"');
    if (!add_long(w, s, kind)) return false;
    buf_add_char(w->out, '"');
    return true;
}

/* ---- opening containers ---- */

static int compare_keys(const void *a, const void *b) {
    return str_cmp(value_str(((const Entry *)a)->key), value_str(((const Entry *)b)->key));
}

static void sort_pairs(Entry *e, size_t n) {
    if (n > 32) {
        qsort(e, n, sizeof *e, compare_keys);
        return;
    }
    for (size_t i = 1; i < n; i++) {                    /* insertion sort: most are short, and many sorted already */
        Entry x = e[i];
        size_t j = i;
        for (; j && compare_keys(&x, &e[j - 1]) < 0; j--) e[j] = e[j - 1];
        e[j] = x;
    }
}

static void open_pairs(Writer *w, Value of, Walk walk, size_t base) {
    Frame f = { .of = of, .walk = walk, .base = base, .n = (uint32_t)(w->pairs.n - base) };
    if (f.n > 1) sort_pairs(w->pairs.at + base, f.n);
    VEC_PUSH(&w->frames, f);
    buf_add_char(w->out, '{');
}

static bool open_dict(Writer *w, Value v) {
    const Dict *d = value_dict(v);
    size_t base = w->pairs.n;
    Entry *e;
    for (uint32_t i = 0; dict_next(d, &i, &e);) {
        if (!value_is_string(e->key))
            return error_set(w->err, ERR_SCRIPT, "dict has %s key, want string", value_type_name(e->key));
        VEC_PUSH(&w->pairs, *e);
    }
    if (d->n > 256 && !vm_work(w->vm, (size_t)d->n * 8, w->err)) return false;
    open_pairs(w, v, WALK_KEYS, base);
    return true;
}

static bool open_items(Writer *w, Value v) {
    Frame f = { .of = v, .walk = WALK_ITEMS };
    if (!iter_begin(w->vm, &f.it, v, w->err)) return false;
    VEC_PUSH(&w->frames, f);
    buf_add_char(w->out, '[');
    return true;
}

typedef struct { Writer *w; bool ok; } NameCollector;

static void collect_name(void *ctx, Str name) {
    NameCollector *c = ctx;
    String *s = c->ok ? string_new(vm_heap(c->w->vm), name, c->w->err) : NULL;
    c->ok = s != NULL;
    if (s) VEC_PUSH(&c->w->pairs, (Entry){ value_from_object(s), VALUE_NONE });
}

/* Writes a host value that has attributes but no items as an object of its attributes. */
static bool open_fields(Writer *w, Value v, const NativeClass *cls) {
    size_t base = w->pairs.n;
    NameCollector c = { w, true };
    cls->attr_names(v, collect_name, &c);
    for (size_t i = base; c.ok && i < w->pairs.n; i++) {
        Entry *e = &w->pairs.at[i];
        Value field = VALUE_GONE;
        c.ok = cls->attr(w->vm, v, value_string(e->key), &field, w->err);
        Str name = value_str(e->key);
        if (c.ok && value_is_gone(field))
            c.ok = error_set(w->err, ERR_SCRIPT, "missing attribute %s." STR_FMT, value_type_name(v), STR_ARG(name));
        w->pairs.at[i].value = field;
    }
    if (c.ok) open_pairs(w, v, WALK_FIELDS, base);
    return c.ok;
}

/* ---- cycles ---- */

/* If a container is on the stack twice, closes everything from its second occurrence on. */
static bool cut_cycle(Writer *w) {
    for (size_t j = 1; j < w->frames.n; j++)
        for (size_t i = 0; i < j; i++)
            if (value_same(w->frames.at[i].of, w->frames.at[j].of)) {
                while (w->frames.n > j) {
                    Frame *f = &w->frames.at[--w->frames.n];
                    if (f->walk == WALK_ITEMS) iter_end(&f->it);
                }
                return true;
            }
    return false;
}

static bool check_depth(Writer *w) {
    size_t depth = w->frames.n;
    if (depth < 64 || (depth & (depth - 1))) {           /* check at depth 64, 128, 256 … */
        if (depth <= LIB_JSON_DEPTH) return true;
    }
    if (cut_cycle(w)) return error_set(w->err, ERR_SCRIPT, "cycle in JSON structure");
    return depth <= LIB_JSON_DEPTH || error_set(w->err, ERR_SCRIPT, "nested too deeply (limit %d)", LIB_JSON_DEPTH);
}

/* ---- values ---- */

static bool no_form(Writer *w, Value v) {
    return error_set(w->err, ERR_SCRIPT, "cannot encode %s as JSON", value_type_name(v));
}

static bool add_object(Writer *w, Value v) {
    switch ((ObjectType)value_object(v)->type) {
    case OBJECT_STRING: return add_string(w, value_str(v));
    case OBJECT_INT: return int_text(w->out, v, 10), vm_work(w->vm, int_bits(v) / 4, w->err);
    case OBJECT_DICT: return open_dict(w, v) && check_depth(w);
    case OBJECT_LIST: case OBJECT_TUPLE: case OBJECT_SET: case OBJECT_RANGE: return open_items(w, v) && check_depth(w);
    case OBJECT_CLASSED: case OBJECT_MODULE: {
        const NativeClass *cls = (const NativeClass *)((const Classed *)value_object(v))->cls;
        if (cls->items) return open_items(w, v) && check_depth(w);
        if (cls->attr && cls->attr_names) return open_fields(w, v, cls) && check_depth(w);
        return no_form(w, v);
    }
    default: return no_form(w, v);
    }
}

static bool add_value(Writer *w, Value v) {
    if (value_is_object(v)) return add_object(w, v);
    if (value_is_small(v)) number_add_i64(w->out, value_small(v));
    else if (value_is_float(v)) {
        double d = value_float(v);
        if (!isfinite(d)) {
            Buf b = { 0 };
            repr_float(&b, d);
            error_set(w->err, ERR_SCRIPT, "cannot encode non-finite float %s", b.at);
            return buf_clear(&b), false;
        }
        repr_float(w->out, d);
    } else buf_add(w->out, value_is_none(v) ? STR("null") : value_bool(v) ? STR("true") : STR("false"));
    return true;
}

/* Writes up to the next value of the innermost container. At the end, writes the closing bracket and sets
 * *more to false. */
static bool next_value(Writer *w, Value *v, bool *more) {
    Frame *f = &w->frames.at[w->frames.n - 1];
    if (f->walk == WALK_ITEMS) {
        *more = iter_next(&f->it, v);
        if (!*more) {
            bool ok = iter_end(&f->it);
            w->frames.n--;
            return buf_add_char(w->out, ']'), ok;
        }
        if (f->at++) buf_add_char(w->out, ',');
        return true;
    }
    *more = f->at < f->n;
    if (!*more) {
        w->pairs.n = f->base;
        w->frames.n--;
        return buf_add_char(w->out, '}'), true;
    }
    Entry e = w->pairs.at[f->base + f->at];
    if (f->at++) buf_add_char(w->out, ',');
    if (!add_string(w, value_str(e.key))) return false;
    buf_add_char(w->out, ':');
    return *v = e.value, true;
}

static bool tick(Writer *w) {
    return (++w->ticks & 511 ? true : vm_work(w->vm, 2048, w->err)) && lib_json_room(w->vm, w->out, &w->next_check, w->err);
}

static bool write_all(Writer *w, Value v) {
    if (!add_value(w, v)) return false;
    while (w->frames.n) {
        bool more;
        if (!next_value(w, &v, &more) || (more && !add_value(w, v)) || !tick(w)) return false;
    }
    return true;
}

/* Adds the path of the failing value to the error, from the inside out. */
static void explain(Writer *w) {
    for (size_t i = w->frames.n; i-- > 0;) {
        const Frame *f = &w->frames.at[i];
        if (f->at == 0) continue;                       /* opened, but no item begun */
        if (f->walk == WALK_ITEMS) {
            error_wrap(w->err, "at %s index %u", value_type_name(f->of), f->at - 1);
            continue;
        }
        Str key = value_str(w->pairs.at[f->base + f->at - 1].key);
        Buf b = { 0 };
        if (f->walk == WALK_KEYS) repr_string(&b, str_sub(key, 0, ERROR_MSG_MAX));
        if (f->walk == WALK_KEYS) error_wrap(w->err, "in dict key %s", b.at);
        else error_wrap(w->err, "in field ." STR_FMT, STR_ARG(key));
        buf_clear(&b);
    }
}

bool lib_json_write(Vm *vm, Buf *out, Value v, Error *err) {
    Writer w = { .vm = vm, .out = out, .err = err, .next_check = 64 << 10 };
    bool ok = write_all(&w, v);
    if (!ok && err && err->kind == ERR_SCRIPT) explain(&w);
    while (w.frames.n) {
        Frame *f = &w.frames.at[--w.frames.n];
        if (f->walk == WALK_ITEMS) iter_end(&f->it);
    }
    VEC_CLEAR(&w.frames);
    VEC_CLEAR(&w.pairs);
    return ok;
}
