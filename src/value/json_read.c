#include "value/json.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/cancel.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "value/int.h"
#include "value/json_scan.h"
#include "value/list.h"

/* No recursion: values wait on `stack` until their container closes, which is then allocated at its
 * final size. A dict's part of the stack is key, value, key, value, …
 *
 * Functions that read take a position and return the position after what they read, or NULL after
 * setting the error. Lines and columns are computed only for an error, or when `track` is set: then
 * `place` runs parallel to `stack`. */
typedef struct { size_t base; Place place; bool dict; } Frame;

#ifdef HARNESS_HOSTILE
enum { STACK_START = 1, FRAMES_START = 1, TICKS = 1 };
#else
enum { STACK_START = 64, FRAMES_START = 16, TICKS = 4096 };
#endif
enum { KEYS = 256, KEYS_FEW = 16, FEW_BYTES = 1024, KEY_MAX = 64, WORD_MAX = 24 };

typedef struct Reader {
    Heap *h;
    const char *begin, *end;
    Value *stack, *first_stack;     /* first_stack is preallocated */
    size_t n, cap;
    Place *place;
    Frame *frame, *first_frame;
    size_t n_frames, cap_frames;
    unsigned max_depth, ticks;
    bool track;
    bool duplicate;                 /* duplicate key at an unknown position: read again with `track` */
    Place here;                     /* position of the current token */
    const char *seen;               /* `here` is valid up to this byte */
    Buf scratch;                    /* for decoding strings with escapes */
    const JsonRead *options;
    Error *err;
    String **key;                   /* recent keys, so that repeated ones are one String with one hash; */
    size_t keys;                    /* how many there is room for, a power of two */
} Reader;

/* ---- errors ---- */

static Place place_of(const Reader *r, const char *p) {
    Place at = { 1, 1 };
    const char *line = r->begin;
    for (const char *q; (q = memchr(line, '\n', (size_t)(p - line))) != NULL; line = q + 1)
        at = (Place){ at.line + 1, 1 };
    at.column += (uint32_t)utf8_count((Str){ line, (size_t)(p - line) });
    return at;
}

__attribute__((cold, format(printf, 4, 5)))
static const char *fail(Reader *r, const char *p, ErrorKind kind, const char *fmt, ...) {
    char msg[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    Place at = place_of(r, p);
    error_set_at(r->err, kind, at.line, at.column, "json: line %u: %s", at.line, msg);
    return NULL;
}

/* Adds the position to the heap's error message. */
__attribute__((cold)) static const char *fail_heap(Reader *r, const char *p) {
    Place at = place_of(r, p);
    error_wrap(r->err, "json: line %u", at.line);
    error_place(r->err, NULL, at.line, at.column);
    return NULL;
}

static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/* Describes the character at p, safe to print. */
typedef struct { char text[WORD_MAX * 2]; } Got;
static Got got(const Reader *r, const char *p) {
    Got g;
    if (p >= r->end) {
        snprintf(g.text, sizeof g.text, "the end of the text");
        return g;
    }
    size_t n = 0, length;
    while (p + n < r->end && n < WORD_MAX && is_word(p[n])) n++;
    uint32_t c = utf8_decode((Str){ p, (size_t)(r->end - p) }, &length);
    if (n > 1) snprintf(g.text, sizeof g.text, "'%.*s'", (int)n, p);
    else if (c == '\'') snprintf(g.text, sizeof g.text, "a single quote");
    else if (c > 0x20 && c < 0x7f) snprintf(g.text, sizeof g.text, "'%c'", (char)c);
    else if (length == 1 && c >= 0x80) snprintf(g.text, sizeof g.text, "the byte 0x%02x", (unsigned char)*p);
    else snprintf(g.text, sizeof g.text, "U+%04X", c);
    return g;
}

__attribute__((cold)) static const char *fail_expected(Reader *r, const char *p, const char *what) {
    return fail(r, p, ERR_PARSE, "expected %s, got %s", what, got(r, p).text);
}

/* ---- stack ---- */

/* Doubles the capacity. `first` is preallocated and must not be freed. */
static void grow(void **at, size_t *cap, size_t size, const void *first) {
    if (*at != first) {
        vec_grow(at, cap, size);
        return;
    }
    *at = mem_alloc(2 * *cap * size);
    memcpy(*at, first, *cap * size);
    *cap *= 2;
}

/* The values on the stack will need as much room in the heap, so check the limit before growing. */
static bool stack_grow(Reader *r, const char *p) {
    if (!heap_can_take(r->h, r->n * sizeof(Value), r->err)) return fail_heap(r, p);
    grow((void **)&r->stack, &r->cap, sizeof *r->stack, r->first_stack);
    if (r->track) r->place = mem_resize(r->place, r->cap, sizeof *r->place);
    return true;
}

static inline bool push(Reader *r, const char *p, Value v) {
    if (__builtin_expect(r->n == r->cap, 0) && !stack_grow(r, p)) return false;
    if (r->track) r->place[r->n] = r->here;
    r->stack[r->n++] = v;
    if (__builtin_expect(--r->ticks == 0, 0)) {
        r->ticks = TICKS;
        if (!cancel_check(r->options->cancel, r->err)) return false;
    }
    return true;
}

/* Advances `here` to p. Everything before p is valid UTF-8. */
static void track(Reader *r, const char *p) {
    for (; r->seen < p; r->seen++) {
        if (*r->seen == '\n') r->here = (Place){ r->here.line + 1, 1 };
        else if ((*r->seen & 0xc0) != 0x80) r->here.column++;
    }
}

static bool open_frame(Reader *r, const char *p, bool dict) {
    if (r->n_frames == r->max_depth)
        return fail(r, p, ERR_LIMIT, "nested deeper than %u levels", r->max_depth);
    if (r->n_frames == r->cap_frames) grow((void **)&r->frame, &r->cap_frames, sizeof *r->frame, r->first_frame);
    r->frame[r->n_frames++] = (Frame){ r->n, r->here, dict };
    return true;
}

static bool close_list(Reader *r, size_t base, Value *out) {
    List *l = list_from(r->h, r->stack + base, r->n - base, r->err);
    if (!l) return false;
    *out = value_from_object(l);
    if (r->options->places)
        for (size_t i = base; i < r->n; i++)
            places_put(r->options->places, *out, (uint32_t)(i - base), (Place){ 0, 0 }, r->place[i]);
    return true;
}

__attribute__((cold)) static bool fail_duplicate(Reader *r, size_t i) {
    r->duplicate = !r->track;
    if (r->duplicate) return false;
    Buf name = { .limit = 100 };
    Str key = value_str(r->stack[i]);
    json_write_string(&name, key.n > 64 ? (Str){ key.at, 64 } : key, false);
    for (size_t k = 0; k < name.n; k++)
        if (name.at[k] == 0x7f) name.at[k] = '?';            /* JSON does not escape DEL; a message must not hold it */
    Place at = r->place[i];
    error_set_at(r->err, ERR_PARSE, at.line, at.column, "json: line %u: duplicate key %s", at.line,
                 name.full ? "(long)" : buf_str(&name).at);
    buf_clear(&name);
    return false;
}

/* Records the key's place after insertion, because a repeated key keeps its first index. */
static bool put_field(Reader *r, Dict *d, size_t i) {
    Value *at;
    bool fresh;
    if (!dict_insert(r->h, d, r->stack[i], r->stack[i + 1], &at, &fresh, r->err)) return false;
    if (!fresh) {
        if (r->options->reject_duplicates) return fail_duplicate(r, i);
        *at = r->stack[i + 1];
    }
    if (r->options->places) {
        Entry *e = (Entry *)(void *)((char *)at - offsetof(Entry, value));
        places_put(r->options->places, value_from_object(d), (uint32_t)(e - d->entry), r->place[i], r->place[i + 1]);
    }
    return true;
}

static inline size_t key_slot(Str s) {
    uint64_t w = s.n;
    if (s.n >= 8) w += json_scan_load8(s.at) ^ json_scan_load8(s.at + s.n - 8) * 3;
    else if (s.n >= 4) w += (uint64_t)json_scan_load4(s.at) << 32 ^ json_scan_load4(s.at + s.n - 4);
    else for (size_t i = 0; i < s.n; i++) w = w << 8 | (unsigned char)s.at[i];
    return (w * 0x9e3779b97f4a7c15u) >> 56;
}

/* True if the key at i is among the few from base on. `seen` has a bit per hash slot, so most keys need no
 * comparison. */
static bool seen_before(const Reader *r, size_t base, size_t i, uint64_t *seen) {
    String *key = value_string(r->stack[i]);
    uint64_t bit = (uint64_t)1 << (key_slot(string_str(key)) & 63);
    if (!(*seen & bit)) return *seen |= bit, false;
    for (size_t k = base; k < i; k += 2)
        if (string_same(value_string(r->stack[k]), key)) return true;
    return false;
}

/* A small dict of distinct keys has no slots: filling in the entries is enough. */
static bool fill_small(const Reader *r, Dict *d, size_t base) {
    uint64_t seen = 0;
    uint32_t n = 0;
    for (size_t i = base; i < r->n; i += 2) {
        if (seen_before(r, base, i, &seen)) return false;
        d->entry[n++] = (Entry){ r->stack[i], r->stack[i + 1] };
    }
    d->n = d->used = n;
    return true;
}

static bool close_dict(Reader *r, size_t base, Value *out) {
    size_t n = (r->n - base) / 2;
    Dict *d = dict_new(r->h, n, r->err);
    if (!d) return false;
    *out = value_from_object(d);
    if (n <= DICT_LINEAR && !r->track && fill_small(r, d, base)) return true;
    for (size_t i = base; i < r->n; i += 2)
        if (!put_field(r, d, i)) return false;
    return true;
}

/* Replaces the values of the topmost frame by their container. */
static bool close_frame(Reader *r, const char *p) {
    Frame f = r->frame[--r->n_frames];
    Value v;
    if (!(f.dict ? close_dict(r, f.base, &v) : close_list(r, f.base, &v))) {
        if (r->duplicate) return false;
        if (!r->err || r->err->line == 0) fail_heap(r, p);
        return false;
    }
    r->n = f.base;
    if (!r->track) return push(r, p, v);
    Place here = r->here;
    r->here = f.place;
    bool ok = push(r, p, v);
    r->here = here;
    return ok;
}

/* ---- strings ---- */

static int hex4(const char *p, const char *end) {
    if (end - p < 4) return -1;
    int value = 0;
    for (int i = 0; i < 4; i++) {
        int c = (unsigned char)p[i], low = c | 0x20;
        int digit = c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
        if (digit < 0) return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* Decodes "\uXXXX" or a surrogate pair at p; end is the closing quote. */
static const char *read_unicode(Reader *r, const char *p, const char *end, char **to) {
    int c = hex4(p + 2, end);
    if (c < 0) return fail(r, p, ERR_PARSE, "expected four hex digits after \\u");
    const char *next = p + 6;
    if (c >= 0xd800 && c <= 0xdfff) {
        int low = c < 0xdc00 && end - next >= 6 && next[0] == '\\' && next[1] == 'u' ? hex4(next + 2, end) : -1;
        if (low < 0xdc00 || low > 0xdfff) return fail(r, p, ERR_PARSE, "lone surrogate \\u%04x in a string", (unsigned)c);
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        next += 6;
    }
    *to += utf8_encode((uint32_t)c, *to);
    return next;
}

__attribute__((cold)) static const char *fail_unclosed(Reader *r) {
    return fail_expected(r, r->end, "'\"' at the end of a string");
}

static const char *read_escape(Reader *r, const char *p, const char *end, char **to) {
    char c;
    if (end - p < 2) return fail_unclosed(r);
    switch (p[1]) {
    case '"': case '\\': case '/': c = p[1]; break;
    case 'b': c = '\b'; break;
    case 'f': c = '\f'; break;
    case 'n': c = '\n'; break;
    case 'r': c = '\r'; break;
    case 't': c = '\t'; break;
    case 'u': return read_unicode(r, p, end, to);
    default: return fail(r, p, ERR_PARSE, "unknown escape in a string: \\ before %s", got(r, p + 1).text);
    }
    *(*to)++ = c;
    return p + 2;
}

/* Decoding never lengthens the text, so its raw length is enough. */
static bool decode_string(Reader *r, const char *p, const char *end, Str *out) {
    buf_reset(&r->scratch);
    char *from = buf_room(&r->scratch, (size_t)(end - p)), *to = from;
    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        size_t run = (size_t)((slash ? slash : end) - p);
        memcpy(to, p, run);
        to += run;
        p += run;
        if (slash && !(p = read_escape(r, slash, end, &to))) return false;
    }
    *out = (Str){ from, (size_t)(to - from) };
    return true;
}

static bool check_utf8(Reader *r, const char *p, const char *end) {
    size_t n = utf8_valid_prefix((Str){ p, (size_t)(end - p) });
    return p + n == end || fail(r, p + n, ERR_PARSE, "invalid UTF-8: byte 0x%02x", (unsigned char)p[n]);
}

/* Reads a string with escapes, non-ASCII or an error; q is the end of the plain part. */
static const char *read_hard_string(Reader *r, const char *p, const char *q, Str *out) {
    bool escaped = false;
    for (;;) {
        q = json_scan(q, r->end, false);
        if (q == r->end || *q != '\\') break;
        escaped = true;
        q += r->end - q > 1 ? 2 : 1;
    }
    if (!check_utf8(r, p, q)) return NULL;
    if (q == r->end) return !escaped || decode_string(r, p, q, out) ? fail_unclosed(r) : NULL;   /* report a bad escape first */
    if (*q != '"')
        return fail(r, q, ERR_PARSE, "control character U+%04X in a string must be escaped", (unsigned char)*q);
    *out = (Str){ p, (size_t)(q - p) };
    return escaped && !decode_string(r, p, q, out) ? NULL : q + 1;
}

/* p is after the opening quote. *out points into the text or the scratch buffer. */
static inline const char *read_text(Reader *r, const char *p, Str *out) {
    const char *q = json_scan(p, r->end, true);
    if (__builtin_expect(q == r->end || *q != '"', 0)) return read_hard_string(r, p, q, out);
    *out = (Str){ p, (size_t)(q - p) };
    return q + 1;
}

static inline const char *read_string(Reader *r, const char *p, Value *out) {
    Str s;
    const char *next = read_text(r, p + 1, &s);
    if (!next) return NULL;
    String *string = string_new(r->h, s, r->err);
    if (!string) return fail_heap(r, p);
    *out = value_from_object(string);
    return next;
}

static inline bool same_bytes(const char *a, const char *b, size_t n) {
    if (n > 16 || n < 4) return memcmp(a, b, n) == 0;
    if (n >= 8) return json_scan_load8(a) == json_scan_load8(b) && json_scan_load8(a + n - 8) == json_scan_load8(b + n - 8);
    return json_scan_load4(a) == json_scan_load4(b) && json_scan_load4(a + n - 4) == json_scan_load4(b + n - 4);
}

/* One place for each slot: of two keys that want the same, the first has it. */
struct JsonKeys { Heap *heap; String *key[KEYS]; };

JsonKeys *json_keys_new(const char *const *keys) {
    JsonKeys *k = mem_zero(1, sizeof *k);
    k->heap = heap_new(0);
    for (size_t i = 0; keys[i]; i++) {
        String **place = &k->key[key_slot(str_from(keys[i]))];
        if (*place) continue;
        *place = string_new(k->heap, str_from(keys[i]), NULL);
    }
    heap_freeze_all(k->heap);
    return k;
}

void json_keys_free(JsonKeys *k) {
    if (!k) return;
    heap_free(k->heap);
    free(k);
}

static inline bool is_key(const String *k, Str s) { return k && k->n == s.n && same_bytes(k->at, s.at, s.n); }

static inline String *key_string(Reader *r, Str s) {
    size_t hash = key_slot(s), slot = hash & (r->keys - 1);
    String *k = r->options->keys ? r->options->keys->key[hash] : NULL;
    if (is_key(k, s)) return k;
    k = r->key[slot];
    if (is_key(k, s)) return k;
    k = r->options->names ? string_intern(r->h, r->options->names, s, r->err) : string_new(r->h, s, r->err);
    if (k && s.n <= KEY_MAX) r->key[slot] = k;
    return k;
}

/* ---- numbers ---- */

static inline bool is_digit(char c) { return (unsigned char)(c - '0') < 10; }

/* m × 10^e if both steps are exact; otherwise the slow path, which is always correct. */
static double float_value(Str text, uint64_t m, size_t digits, int e) {
    static const double ten[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    if (digits > 19 || m > (uint64_t)1 << 53 || e < -22 || e > 22) return number_read_double(text);
    double d = e < 0 ? (double)m / ten[-e] : (double)m * ten[e];
    return text.at[0] == '-' ? -d : d;
}

/* Reads the rest of a float from '.' or 'e' on; m holds the `digits` digits before it. */
static const char *read_float(Reader *r, const char *start, const char *p, uint64_t m, size_t digits, Value *out) {
    const char *end = r->end, *fraction = p;
    int exponent = 0, shift = 0;
    if (*p == '.') {
        for (fraction = ++p; p < end && is_digit(*p); p++) m = m * 10 + (uint64_t)(*p - '0');
        if (p == fraction) return fail_expected(r, p, "a digit after '.'");
        digits += (size_t)(p - fraction);
        shift = p - fraction > 1000 ? 1000 : (int)(p - fraction);
    }
    if (p < end && (*p | 0x20) == 'e') {
        p++;
        bool minus = p < end && *p == '-';
        if (p < end && (*p == '-' || *p == '+')) p++;
        if (p == end || !is_digit(*p)) return fail_expected(r, p, "a digit in the exponent");
        for (; p < end && is_digit(*p); p++)
            if (exponent < 100000) exponent = exponent * 10 + (*p - '0');
        if (minus) exponent = -exponent;
    }
    Str text = { start, (size_t)(p - start) };
    double d = float_value(text, m, digits, exponent - shift);
    if (isinf(d))
        return fail(r, start, ERR_PARSE, "number %.*s%s is too large for a float", text.n > 40 ? 40 : (int)text.n, text.at,
                    text.n > 40 ? "…" : "");
    *out = value_from_float(d);
    return p;
}

static inline const char *read_number(Reader *r, const char *start, Value *out) {
    const char *end = r->end, *p = start + (*start == '-');
    if (p == end || !is_digit(*p)) return fail_expected(r, p, "a digit after '-'");
    const char *first = p;
    uint64_t m = 0;
    while (p < end && is_digit(*p)) m = m * 10 + (uint64_t)(*p++ - '0');
    size_t digits = (size_t)(p - first);
    if (*first == '0' && digits > 1) return fail(r, first, ERR_PARSE, "a number must not start with 0");
    if (p < end && (*p == '.' || (*p | 0x20) == 'e')) return read_float(r, start, p, m, digits, out);
    int64_t i = (int64_t)(*start == '-' ? -m : m);       /* meaningful only up to 18 digits */
    if (digits <= 15 && value_small_fits(i)) return *out = value_from_small(i), p;
    bool ok = digits <= 18 ? int_make(r->h, i, out, r->err)
                           : int_parse(r->h, (Str){ start, (size_t)(p - start) }, 10, out, r->err);
    return ok ? p : fail_heap(r, start);
}

/* ---- document ---- */

static const char *read_literal(Reader *r, const char *p, Value *out) {
    static const struct { Str text; Value value; } literals[] = {
        { { "true", 4 }, { 5 } }, { { "false", 5 }, { 4 } }, { { "null", 4 }, { 2 } } };
    for (size_t i = 0; i < 3; i++) {
        Str text = literals[i].text;
        if ((size_t)(r->end - p) >= text.n && memcmp(p, text.at, text.n) == 0)
            return *out = literals[i].value, p + text.n;
    }
    return fail_expected(r, p, "a value");
}

static inline const char *skip_space(const Reader *r, const char *p) {
    while (p < r->end && (unsigned char)*p <= ' ' && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
    return p;
}

static inline bool next_is(const Reader *r, const char *p, char c) { return p < r->end && *p == c; }

static inline const char *read_scalar(Reader *r, const char *p) {
    Value v = VALUE_NONE;
    const char *next;
    if (*p == '"') next = read_string(r, p, &v);
    else if (is_digit(*p) || *p == '-') next = read_number(r, p, &v);
    else next = read_literal(r, p, &v);
    return next && push(r, p, v) ? next : NULL;
}

/* Reads `"key" :` and the space around it; `what` is the expected token for the message. */
static inline const char *read_key(Reader *r, const char *p, const char *what) {
    p = skip_space(r, p);
    if (!next_is(r, p, '"')) return fail_expected(r, p, what);
    if (r->track) track(r, p);
    Str s;
    const char *next = read_text(r, p + 1, &s);
    if (!next) return NULL;
    String *k = key_string(r, s);
    if (!k) return fail_heap(r, p);
    if (!push(r, p, value_from_object(k))) return NULL;
    p = skip_space(r, next);
    return next_is(r, p, ':') ? p + 1 : fail_expected(r, p, "':' after a key");
}

/* After a value: closes what ends here; returns the place of the next value, or with no frame left, of the end. */
static inline const char *read_after(Reader *r, const char *p) {
    while (r->n_frames) {
        bool dict = r->frame[r->n_frames - 1].dict;
        p = skip_space(r, p);
        if (next_is(r, p, ',')) return dict ? read_key(r, p + 1, "a key in double quotes after ','") : p + 1;
        if (!next_is(r, p, dict ? '}' : ']'))
            return fail_expected(r, p, dict ? "',' or '}' after a value" : "',' or ']' after a value");
        if (!close_frame(r, p++)) return NULL;
    }
    return p;
}

/* Reads one document from p on. */
static const char *read_document(Reader *r, const char *p) {
    do {
        p = skip_space(r, p);
        if (p == r->end) return fail_expected(r, p, "a value");
        if (r->track) track(r, p);
        if (*p == '{' || *p == '[') {
            bool dict = *p == '{';
            if (!open_frame(r, p, dict)) return NULL;
            p = skip_space(r, p + 1);
            if (!next_is(r, p, dict ? '}' : ']')) {
                if (dict && !(p = read_key(r, p, "a key in double quotes or '}'"))) return NULL;
                continue;
            }
            if (!close_frame(r, p++)) return NULL;
        } else if (!(p = read_scalar(r, p))) return NULL;
        if (!(p = read_after(r, p))) return NULL;
    } while (r->n_frames);
    return p;
}

static bool read_all(Reader *r) {
    Str text = { r->begin, (size_t)(r->end - r->begin) };
    size_t limit = r->options->max_bytes;
    if (limit && text.n > limit)
        return error_set(r->err, ERR_LIMIT, "json: text of %zu bytes is over the limit of %zu", text.n, limit);
    if (str_starts(text, STR("\xef\xbb\xbf")))
        return fail(r, r->begin, ERR_PARSE, "the text starts with a byte-order mark, which JSON does not allow");
    const char *p = skip_space(r, r->begin);
    if (p == r->end) return fail(r, p, ERR_PARSE, "the text is empty, expected a value");
    if (r->track) track(r, p);
    if (r->options->places) places_put_root(r->options->places, r->here);
    if (!(p = read_document(r, p))) return false;
    p = skip_space(r, p);
    return p == r->end || fail_expected(r, p, "the end of the text after the value");
}

/* Tracking places doubles the time, so it is done only on request or after an error. */
static bool read_once(Heap *h, Str text, const JsonRead *options, bool track, bool *duplicate, Value *out, Error *err) {
    MEM_UNSET Value stack[STACK_START];
    MEM_UNSET Frame frame[FRAMES_START];
    MEM_UNSET String *key[KEYS];
    Reader r = { .h = h, .begin = text.at, .end = text.at + text.n, .seen = text.at, .here = { 1, 1 },
                 .options = options, .err = err, .ticks = TICKS, .track = track, .key = key, .keys = text.n < FEW_BYTES ? KEYS_FEW : KEYS,
                 .stack = stack, .first_stack = stack, .cap = STACK_START, .frame = frame, .first_frame = frame, .cap_frames = FRAMES_START,
                 .max_depth = options->max_depth ? options->max_depth : JSON_DEPTH_MAX };
    memset(key, 0, r.keys * sizeof *key);
    if (r.track) r.place = mem_alloc(STACK_START * sizeof *r.place);
    bool ok = read_all(&r);
    if (ok) *out = r.stack[0];
    if (r.stack != stack) free(r.stack);
    if (r.frame != frame) free(r.frame);
    free(r.place);
    buf_clear(&r.scratch);
    *duplicate = r.duplicate;
    return ok;
}

bool json_read(Heap *h, Str text, const JsonRead *options, Value *out, Error *err) {
    static const JsonRead defaults;
    bool duplicate;
    if (!options) options = &defaults;
    if (!text.at) text = STR("");
    if (read_once(h, text, options, options->places != NULL, &duplicate, out, err)) return true;
    return duplicate && read_once(h, text, options, true, &duplicate, out, err);
}
