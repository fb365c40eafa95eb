#include "value/json.h"
#include <math.h>
#include <stdlib.h>
#include "base/cancel.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/utf8.h"
#include "value/int.h"
#include "value/json_scan.h"
#include "value/list.h"
#include "value/range.h"

/* No recursion: each open container has a frame, so a cycle ends at the depth limit, and the frames
 * give the path of an error.
 *
 * Bytes are written directly to `at`, after room() reserved the space. While writing, the buffer's
 * own limit is disabled; it is checked, like max_bytes, when the buffer grows. */
typedef struct {
    int64_t i, n;                   /* next item; number of items (for a dict: entries, including removed ones) */
    const Value *items;             /* of a list or tuple */
    const Entry *entries;           /* of a dict */
    const Range *range;             /* its items are not stored as Values */
    const Entry **sorted;           /* a dict's entries sorted by key, if requested */
    const Entry *entry;             /* the dict entry being written */
} Frame;

#ifdef HARNESS_HOSTILE
enum { FRAMES = 1, TICKS = 1, ROOM_MIN = 0 };
#else
enum { FRAMES = 16, TICKS = 4096, ROOM_MIN = 256 };
#endif
enum { PATH_MAX_BYTES = 400, PATH_KEY_MAX = 40, INDENT_MAX = 64, AHEAD = 1024, BLOCK = 16 };

typedef struct Writer {
    Buf *out;
    char *at, *end;
    size_t begin, max;              /* start of this text in the buffer; its limit */
    const JsonWrite *options;
    Frame *frame, *first;           /* the open frames; `first` is preallocated */
    size_t depth, cap;
    unsigned ticks;
    Error *err;
} Writer;

/* ---- output ---- */

static void sync_out(Writer *w) { if (w->out->at) buf_commit(w->out, (size_t)(w->at - w->out->at) - w->out->n); }

static void start_out(Writer *w) {
    w->at = w->end = w->out->at ? w->out->at + w->out->n : NULL;
    if (ROOM_MIN > 0 && w->out->cap) w->end = w->out->at + w->out->cap - 1;                 /* all but the NUL; a hostile build reserves each time */
}

static bool over_limit(Writer *w) { return w->out->n - w->begin > w->max; }

static bool fail_limit(Writer *w) {
    return error_set(w->err, ERR_LIMIT, "json: output is over the limit of %zu bytes", w->max);
}

static __attribute__((noinline)) bool room_grow(Writer *w, size_t n) {
    sync_out(w);
    if (over_limit(w)) return fail_limit(w);
    size_t more = n + ROOM_MIN;
    w->at = buf_room(w->out, more);
    w->end = w->at + more;
    if (w->out->at + w->out->cap > w->end + 1) w->end = w->out->at + w->out->cap - 1;   /* all but the NUL */
    return true;
}

static inline bool room(Writer *w, size_t n) { return (size_t)(w->end - w->at) >= n || room_grow(w, n); }

static inline void put(Writer *w, const char *s, size_t n) {
    memcpy(w->at, s, n);
    w->at += n;
}

static inline void put_char(Writer *w, char c) { *w->at++ = c; }

/* ---- strings ---- */

/* The escape of a byte in a string: 0 none, 'u' a \u00XX, else the letter of its escape. In html
 * mode also < > &; U+2028 and U+2029 start with 0xe2, marked '?'. */
#define CONTROLS \
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'b', 't', 'n', 'u', 'f', 'r', 'u', 'u', \
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u'
static const char escape_plain[256] = { CONTROLS, ['"'] = '"', ['\\'] = '\\' };
static const char escape_html[256] = { CONTROLS, ['"'] = '"', ['\\'] = '\\', ['<'] = 'u', ['>'] = 'u', ['&'] = 'u', [0xe2] = '?' };

static void put_unicode(Writer *w, unsigned c) {
    static const char hex[] = "0123456789abcdef";
    put(w, (char[]){ '\\', 'u', hex[c >> 12 & 15], hex[c >> 8 & 15], hex[c >> 4 & 15], hex[c & 15] }, 6);
}

/* Writes the escaped character at p; returns the position after it. There is room for 6 bytes. */
static const char *put_escape(Writer *w, const char *p, const char *end, bool html) {
    unsigned char c = (unsigned char)*p;
    char how = (html ? escape_html : escape_plain)[c];
    if (how == '?') {
        if (end - p >= 3 && p[1] == '\x80' && (p[2] & '\xfe') == '\xa8') {
            put_unicode(w, 0x2028u | (p[2] & 1));
            return p + 3;
        }
        put_char(w, *p);
    } else if (how == 'u') put_unicode(w, c);
    else put(w, (char[]){ '\\', how }, 2);
    return p + 1;
}

/* Writes without the quotes. Copies whole blocks of 16, so it reserves one block more than needed. */
static bool put_plain_escaped(Writer *w, Str s, bool *high) {
    const char *p = s.at, *end = s.at + s.n;
    if (!room(w, s.n + BLOCK + 8)) return false;
    while (p < end) {
        unsigned n = 0, most = end - p < BLOCK ? (unsigned)(end - p) : BLOCK;
        if (most == BLOCK) n = json_scan_copy16(w->at, p, high);
        else for (; n < most && !escape_plain[(unsigned char)p[n]]; n++) {
            w->at[n] = p[n];
            *high |= p[n] < 0;
        }
        w->at += n;
        p += n;
        if (n == most) continue;
        p = put_escape(w, p, end, false);
        if (!room(w, (size_t)(end - p) + BLOCK + 8)) return false;
    }
    return true;
}

/* Same, byte by byte, for html mode. */
static bool put_html_escaped(Writer *w, Str s) {
    const char *p = s.at, *end = s.at + s.n;
    while (p < end) {
        const char *q = p;
        while (q < end && !escape_html[(unsigned char)*q]) q++;
        if (!room(w, (size_t)(q - p) + 8)) return false;
        put(w, p, (size_t)(q - p));
        p = q < end ? put_escape(w, q, end, true) : q;
    }
    return true;
}

/* Writes valid UTF-8, without the quotes. */
static bool put_escaped(Writer *w, Str s, bool html) {
    bool high = false;
    return html ? put_html_escaped(w, s) : put_plain_escaped(w, s, &high);
}

/* Writes any bytes; each invalid byte becomes U+FFFD. Fails only on the limit. Tries the common case, valid text,
 * first. */
static bool put_any(Writer *w, Str s, bool html) {
    if (!room(w, 8)) return false;
    put_char(w, '"');
    if (!html) {
        size_t start = (size_t)(w->at - w->out->at);
        bool high = false;
        if (!put_plain_escaped(w, s, &high)) return false;
        if (!high || utf8_valid(s)) s.n = 0;
        else w->at = w->out->at + start;
    }
    while (s.n) {
        size_t good = utf8_valid_prefix(s);
        if (!put_escaped(w, (Str){ s.at, good }, html) || !room(w, 8)) return false;
        s = (Str){ s.at + good, s.n - good };
        if (!s.n) break;
        put(w, "\xef\xbf\xbd", 3);
        s = (Str){ s.at + 1, s.n - 1 };
    }
    if (!room(w, 8)) return false;
    put_char(w, '"');
    return true;
}

/* Fast path: a string without escapes. */
static bool write_plain_string(Buf *out, Str s) {
    if (s.n && json_scan(s.at, s.at + s.n, true) != s.at + s.n) return false;
    char *at = buf_room_quick(out, s.n + 2);
    if (!at) return true;
    at[0] = '"';
    if (s.n) memcpy(at + 1, s.at, s.n);
    at[s.n + 1] = '"';
    buf_commit(out, s.n + 2);
    return true;
}

void json_write_string(Buf *out, Str s, bool html_safe) {
    if (out->full || (!html_safe && write_plain_string(out, s))) return;
    size_t before = out->n, limit = out->limit;
    out->limit = 0;
    Writer w = { .out = out, .begin = before, .max = SIZE_MAX };
    start_out(&w);
    put_any(&w, s, html_safe);
    sync_out(&w);
    out->limit = limit;
    if (limit && out->n > limit) {
        out->at[out->n = before] = 0;
        out->full = true;
    }
}

/* ---- errors ---- */

static bool is_name(Str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && !(i > 0 && ((c >= '0' && c <= '9') || c == '-'))) return false;
    }
    return s.n > 0 && s.n <= PATH_KEY_MAX;
}

/* ".name", "[3]" or ["odd key"]. */
static void add_step(Buf *path, const Frame *f) {
    if (!f->entry) {
        buf_add_fmt(path, "[%lld]", (long long)f->i - 1);
        return;
    }
    Str key = value_is_string(f->entry->key) ? value_str(f->entry->key) : STR("");
    if (is_name(key)) {
        buf_add_fmt(path, "." STR_FMT, STR_ARG(key));
        return;
    }
    buf_add_char(path, '[');
    json_write_string(path, key.n > PATH_KEY_MAX ? (Str){ key.at, PATH_KEY_MAX } : key, false);
    buf_add_char(path, ']');
}

/* Writes "at PATH: ", of a deep path only the last steps. Empty at the root. */
static void add_path(Buf *path, const Writer *w, size_t depth) {
    if (depth == 0) return;
    Buf step = { 0 };
    size_t from = depth;
    while (from > 0 && step.n < PATH_MAX_BYTES) add_step(&step, &w->frame[--from]);
    buf_clear(&step);
    buf_add(path, from ? STR("at …") : STR("at "));
    for (; from < depth; from++) add_step(path, &w->frame[from]);
    buf_add(path, STR(": "));
}

__attribute__((cold, format(printf, 3, 4)))
static bool fail(Writer *w, size_t depth, const char *fmt, ...) {
    Buf msg = { 0 };
    va_list ap;
    add_path(&msg, w, depth);
    va_start(ap, fmt);
    buf_add_vfmt(&msg, fmt, ap);
    va_end(ap);
    error_set(w->err, ERR_VALIDATION, "json: %s", msg.at);
    buf_clear(&msg);
    return false;
}

static bool fail_utf8(Writer *w) { return fail(w, w->depth, "a string is not valid UTF-8"); }

static __attribute__((noinline)) bool put_long_string(Writer *w, Str s) {
    bool html = w->options->html_safe, high = html;
    if (!room(w, 8)) return false;
    put_char(w, '"');
    if (!(html ? put_html_escaped(w, s) : put_plain_escaped(w, s, &high))) return false;
    if (high && !utf8_valid(s)) return fail_utf8(w);
    if (!room(w, 8)) return false;
    put_char(w, '"');
    return true;
}

/* Most strings and nearly all keys are short and plain: check and copy them in one step. */
static inline bool put_string(Writer *w, Str s) {
    if (s.n >= BLOCK || w->options->html_safe) return put_long_string(w, s);
    if (!room(w, BLOCK + 8)) return false;
    if (!json_scan_copy_short(w->at + 1, s.at, s.n)) return put_long_string(w, s);
    w->at[0] = '"';
    w->at[s.n + 1] = '"';
    w->at += s.n + 2;
    return true;
}

/* ---- values ---- */

static bool put_int(Writer *w, Value v) {
    int64_t i;
    if (int_to_i64(v, &i)) {
        w->at += number_write_i64(i, w->at);
        return true;
    }
    sync_out(w);
    int_text(w->out, v, 10);
    w->at = w->end = w->out->at + w->out->n;
    return true;
}

static bool put_float(Writer *w, double d) {
    if (isnan(d)) return fail(w, w->depth, "NaN has no JSON form");
    if (isinf(d)) return fail(w, w->depth, "%sinfinity has no JSON form", d < 0 ? "-" : "");
    w->at += number_write_double(d, w->at);
    return true;
}

static bool put_newline(Writer *w) {
    size_t indent = w->options->indent, spaces = w->depth * (indent < INDENT_MAX ? indent : INDENT_MAX);
    if (!room(w, spaces + 8)) return false;
    put_char(w, '\n');
    memset(w->at, ' ', spaces);
    w->at += spaces;
    return true;
}

static int entry_order(const void *a, const void *b) {
    const Entry *x = *(const Entry *const *)a, *y = *(const Entry *const *)b;
    return str_cmp(value_str(x->key), value_str(y->key));
}

static inline bool check_key(Writer *w, const Entry *e) {
    return value_is_string(e->key) || fail(w, w->depth - 1, "a key must be a string, not %s", value_type_name(e->key));
}

static bool sort_frame(Writer *w, Frame *f, const Dict *d) {
    f->sorted = mem_alloc((d->n + (size_t)1) * sizeof *f->sorted);
    f->n = 0;
    Entry *e;
    for (uint32_t i = 0; dict_next(d, &i, &e);) {
        if (!check_key(w, e)) return false;
        f->sorted[f->n++] = e;
    }
    qsort(f->sorted, (size_t)f->n, sizeof *f->sorted, entry_order);
    return true;
}

static __attribute__((noinline)) void frames_grow(Writer *w) {
    size_t cap = w->cap ? w->cap * 2 : FRAMES;
    if (w->frame == w->first) {
        w->frame = mem_alloc(cap * sizeof(Frame));
        memcpy(w->frame, w->first, FRAMES * sizeof *w->first);
    } else w->frame = mem_resize(w->frame, cap, sizeof(Frame));
    w->cap = cap;
}

/* Opens a container of n items, given by one of the three parameters; writes an empty one at once. */
static bool open_frame(Writer *w, int64_t n, const Value *items, const Range *range, const Dict *dict) {
    if (w->depth == JSON_DEPTH_MAX) return fail(w, w->depth, "nested deeper than %d levels, or in a cycle", JSON_DEPTH_MAX);
    put_char(w, dict ? '{' : '[');
    if (n == 0) return put_char(w, dict ? '}' : ']'), true;
    if (w->depth == w->cap) frames_grow(w);
    Frame *f = &w->frame[w->depth++];
    f->i = 0;
    f->n = dict ? dict->used : n;
    f->items = items;
    f->range = range;
    f->entries = dict ? dict->entry : NULL;
    f->entry = NULL;
    f->sorted = NULL;
    return !dict || !w->options->sort_keys || sort_frame(w, f, dict);
}

/* Writes a scalar, or the start of a container. */
static bool put_object(Writer *w, Value v) {
    __builtin_prefetch((const char *)value_object(v) + AHEAD);   /* hides memory latency; objects read in sequence are adjacent */
    switch (value_object(v)->type) {
    case OBJECT_STRING: return put_string(w, value_str(v));
    case OBJECT_INT: return put_int(w, v);
    case OBJECT_LIST: return open_frame(w, value_list(v)->n, value_list(v)->at, NULL, NULL);
    case OBJECT_TUPLE: return open_frame(w, value_tuple(v)->n, value_tuple(v)->at, NULL, NULL);
    case OBJECT_RANGE: return open_frame(w, value_range(v)->n, NULL, value_range(v), NULL);
    case OBJECT_DICT: return open_frame(w, value_dict(v)->n, NULL, NULL, value_dict(v));
    default: return fail(w, w->depth, "%s has no JSON form", value_type_name(v));
    }
}

static inline bool put_value(Writer *w, Value v) {
    if (!room(w, NUMBER_TEXT_SIZE + 8)) return false;
    if (value_is_object(v)) return put_object(w, v);
    if (value_is_small(v)) {
        w->at += number_write_i64(value_small(v), w->at);
        return true;
    }
    if (value_is_float(v)) return put_float(w, value_float(v));
    if (value_is_none(v)) put(w, "null", 4);
    else if (value_is_bool(v) && value_bool(v)) put(w, "true", 4);
    else if (value_is_bool(v)) put(w, "false", 5);
    else return fail(w, w->depth, "no value");
    return true;
}

/* Returns the container's next item (GONE for a range), or false at its end. Sets f->entry in a dict. */
static inline bool next_item(Frame *f, Value *out) {
    if (f->i == f->n) return false;
    int64_t i = f->i++;
    if (!f->entries) return *out = f->items ? f->items[i] : VALUE_GONE, true;
    const Entry *e = f->sorted ? f->sorted[i] : &f->entries[i];
    while (value_is_gone(e->key)) {
        if (f->i == f->n) return false;
        e = &f->entries[f->i++];
    }
    f->entry = e;
    *out = e->value;
    return true;
}

static inline bool put_key(Writer *w, const Entry *e) {
    if (!check_key(w, e) || !put_string(w, value_str(e->key)) || !room(w, 4)) return false;
    put_char(w, ':');
    if (w->options->indent) put_char(w, ' ');
    return true;
}

static inline bool put_item(Writer *w, Frame *f, Value v, bool first) {
    if (!room(w, NUMBER_TEXT_SIZE + 8)) return false;
    if (!first) put_char(w, ',');
    if (w->options->indent && !put_newline(w)) return false;
    if (f->entry && !put_key(w, f->entry)) return false;
    if (!value_is_gone(v)) return put_value(w, v);
    if (!room(w, NUMBER_TEXT_SIZE)) return false;
    w->at += number_write_i64(range_at(f->range, f->i - 1), w->at);
    return true;
}

static bool close_frame(Writer *w, Frame *f) {
    free(f->sorted);
    f->sorted = NULL;
    w->depth--;
    if (w->options->indent && !put_newline(w)) return false;
    if (!room(w, 4)) return false;
    put_char(w, f->entry ? '}' : ']');
    return true;
}

static bool write_all(Writer *w, Value v) {
    if (!put_value(w, v)) return false;
    bool first = true;
    while (w->depth) {
        if (--w->ticks == 0) {
            w->ticks = TICKS;
            if (!cancel_check(w->options->cancel, w->err)) return false;
        }
        size_t depth = w->depth;
        Frame *f = &w->frame[depth - 1];
        Value item;
        if (!next_item(f, &item)) {
            if (!close_frame(w, f)) return false;
            first = false;
            continue;
        }
        if (!put_item(w, f, item, first)) return false;
        first = w->depth > depth;
    }
    return true;
}

bool json_write(Buf *out, Value v, const JsonWrite *options, Error *err) {
    static const JsonWrite defaults;
    if (!options) options = &defaults;
    size_t before = out->n, limit = out->limit;
    MEM_UNSET Frame first[FRAMES];
    Writer w = { .out = out, .begin = before, .max = options->max_bytes ? options->max_bytes : SIZE_MAX,
                 .options = options, .frame = first, .first = first, .cap = FRAMES, .ticks = TICKS, .err = err };
    size_t left = limit > before ? limit - before : 0;
    if (limit && w.max > left) w.max = left;
    if (out->full) return fail_limit(&w);
    out->limit = 0;
    start_out(&w);
    bool ok = write_all(&w, v);
    sync_out(&w);
    if (ok && over_limit(&w)) ok = fail_limit(&w);
    out->limit = limit;
    if (!ok && out->at) out->at[out->n = before] = 0;
    for (size_t i = 0; i < w.depth; i++) free(w.frame[i].sorted);
    if (w.frame != first) free(w.frame);
    return ok;
}
