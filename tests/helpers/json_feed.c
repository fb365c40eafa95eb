#include "json_feed.h"
#include <stdlib.h>
#include "base/mem.h"
#include "base/utf8.h"
#include "value/json_scan.h"

/* Two passes over each document: a scanner that follows the grammar byte by byte finds its
 * end, or the first byte that cannot belong to one; then json_read reads it from the buffer,
 * or names the fault. So nothing of a half document is in the caller's heap, which may be
 * collected or replaced between two calls, and the outcome does not depend on the splits.
 *
 *   buffer:  [ taken | document … at | not yet scanned ]
 *                    ^head        ^scan                                             */
typedef enum {
    AT_START,                        /* between documents */
    AT_MARK_1, AT_MARK_2,            /* in what may be a byte-order mark */
    AT_VALUE, AT_VALUE_OR_END, AT_KEY, AT_KEY_OR_END, AT_COLON, AT_COMMA,
    IN_STRING, IN_ESCAPE,
    IN_HEX_1, IN_HEX_2, IN_HEX_3, IN_HEX_4,
    IN_LITERAL,
    AFTER_MINUS, AFTER_ZERO, IN_INT, AFTER_POINT, IN_FRACTION, AFTER_E, AFTER_SIGN, IN_EXPONENT,
    AFTER_SCALAR,                    /* a number or literal alone is complete when something else follows */
} State;

typedef enum { STEP_ON, STEP_DONE, STEP_DONE_BEFORE, STEP_BAD } Step;   /* DONE_BEFORE: the byte is not part of it */

struct JsonFeed {
    JsonRead options;
    Buf buffer;
    size_t head, scan;
    Place start;                     /* of head, in the whole stream */
    State state;
    bool key;                        /* the string being scanned is a key */
    bool skipping;                   /* to the end of a bad line */
    const char *literal;             /* what is left of it */
    unsigned depth;
    bool *dict;                      /* [max_depth]: what each open container is */
};

enum { FEED_BYTES_MAX = 16 << 20 };

JsonFeed *json_feed_new(const JsonRead *options) {
    JsonFeed *f = mem_zero(1, sizeof *f);
    if (options) f->options = *options;
    if (!f->options.max_bytes) f->options.max_bytes = FEED_BYTES_MAX;
    if (!f->options.max_depth) f->options.max_depth = JSON_DEPTH_MAX;
    f->start = f->options.start.line ? f->options.start : (Place){ 1, 1 };
    f->dict = mem_zero(f->options.max_depth, sizeof *f->dict);
    buf_add(&f->buffer, STR(""));                      /* never NULL, so that places in it can be told apart */
    return f;
}

void json_feed_free(JsonFeed *f) {
    if (!f) return;
    buf_clear(&f->buffer);
    free(f->dict);
    free(f);
}

/* ---- the scanner ---- */

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_hex(char c) { return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); }

static Step to(JsonFeed *f, State s) {
    f->state = s;
    return STEP_ON;
}

/* A value has ended. */
static Step value_end(JsonFeed *f) { return f->depth ? to(f, AT_COMMA) : STEP_DONE; }

static Step open_container(JsonFeed *f, bool dict) {
    if (f->depth == f->options.max_depth) return STEP_BAD;
    f->dict[f->depth++] = dict;
    return to(f, dict ? AT_KEY_OR_END : AT_VALUE_OR_END);
}

static Step close_container(JsonFeed *f) {
    f->depth--;
    return value_end(f);
}

static Step open_string(JsonFeed *f, bool key) {
    f->key = key;
    return to(f, IN_STRING);
}

static Step open_literal(JsonFeed *f, const char *rest) {
    f->literal = rest;
    return to(f, IN_LITERAL);
}

static Step step_value(JsonFeed *f, char c) {
    switch (c) {
    case ' ': case '\n': case '\r': case '\t': return STEP_ON;
    case '{': return open_container(f, true);
    case '[': return open_container(f, false);
    case '"': return open_string(f, false);
    case 't': return open_literal(f, "rue");
    case 'f': return open_literal(f, "alse");
    case 'n': return open_literal(f, "ull");
    case '-': return to(f, AFTER_MINUS);
    case '0': return to(f, AFTER_ZERO);
    default: return is_digit(c) ? to(f, IN_INT) : STEP_BAD;
    }
}

static Step step_key(JsonFeed *f, char c) {
    if (is_space(c)) return STEP_ON;
    return c == '"' ? open_string(f, true) : STEP_BAD;
}

static Step step_comma(JsonFeed *f, char c) {
    bool dict = f->dict[f->depth - 1];
    if (is_space(c)) return STEP_ON;
    if (c == ',') return to(f, dict ? AT_KEY : AT_VALUE);
    return c == (dict ? '}' : ']') ? close_container(f) : STEP_BAD;
}

static Step step_string(JsonFeed *f, char c) {
    if (c == '\\') return to(f, IN_ESCAPE);
    if (c != '"') return (unsigned char)c < 0x20 ? STEP_BAD : STEP_ON;
    return f->key ? to(f, AT_COLON) : value_end(f);
}

/* A number or literal is over and c comes next. */
static Step scalar_end(JsonFeed *f, char c) {
    if (f->depth) {
        f->state = AT_COMMA;
        return step_comma(f, c);
    }
    return is_space(c) || c == '{' || c == '[' || c == '"' ? STEP_DONE_BEFORE : STEP_BAD;
}

static Step step_number(JsonFeed *f, char c) {
    bool digit = is_digit(c), e = (c | 0x20) == 'e';
    switch (f->state) {
    case AFTER_MINUS: return digit ? to(f, c == '0' ? AFTER_ZERO : IN_INT) : STEP_BAD;
    case AFTER_POINT: return digit ? to(f, IN_FRACTION) : STEP_BAD;
    case AFTER_E: return digit ? to(f, IN_EXPONENT) : c == '+' || c == '-' ? to(f, AFTER_SIGN) : STEP_BAD;
    case AFTER_SIGN: return digit ? to(f, IN_EXPONENT) : STEP_BAD;
    case AFTER_ZERO: if (digit) return STEP_BAD; break;
    default: if (digit) return STEP_ON; break;
    }
    if (c == '.' && (f->state == AFTER_ZERO || f->state == IN_INT)) return to(f, AFTER_POINT);
    if (e && f->state != IN_EXPONENT) return to(f, AFTER_E);
    return scalar_end(f, c);
}

static Step step_literal(JsonFeed *f, char c) {
    if (c != *f->literal) return STEP_BAD;
    return *++f->literal ? STEP_ON : to(f, AFTER_SCALAR);
}

static Step step(JsonFeed *f, char c) {
    switch (f->state) {
    case AT_START: return c == '\xef' ? to(f, AT_MARK_1) : step_value(f, c);
    case AT_MARK_1: return c == '\xbb' ? to(f, AT_MARK_2) : STEP_BAD;
    case AT_MARK_2: return STEP_BAD;
    case AT_VALUE: return step_value(f, c);
    case AT_VALUE_OR_END: return c == ']' ? close_container(f) : step_value(f, c);
    case AT_KEY: return step_key(f, c);
    case AT_KEY_OR_END: return c == '}' ? close_container(f) : step_key(f, c);
    case AT_COLON: return is_space(c) ? STEP_ON : c == ':' ? to(f, AT_VALUE) : STEP_BAD;
    case AT_COMMA: return step_comma(f, c);
    case IN_STRING: return step_string(f, c);
    case IN_ESCAPE: return c == 'u' ? to(f, IN_HEX_1) : c && strchr("\"\\/bfnrt", c) ? to(f, IN_STRING) : STEP_BAD;
    case IN_HEX_1: case IN_HEX_2: case IN_HEX_3: return is_hex(c) ? to(f, f->state + 1) : STEP_BAD;
    case IN_HEX_4: return is_hex(c) ? to(f, IN_STRING) : STEP_BAD;
    case IN_LITERAL: return step_literal(f, c);
    case AFTER_SCALAR: return scalar_end(f, c);
    default: return step_number(f, c);
    }
}

/* ---- documents ---- */

/* Everything up to `at` has been dealt with: moves head there and `start` with it. */
static void take(JsonFeed *f, size_t at) {
    const char *p = f->buffer.at + f->head, *end = f->buffer.at + at;
    for (const char *q; p < end && (q = memchr(p, '\n', (size_t)(end - p))) != NULL; p = q + 1)
        f->start = (Place){ f->start.line + 1, 1 };
    f->start.column += (uint32_t)utf8_count((Str){ p, (size_t)(end - p) });
    f->head = f->scan = at;
    f->state = AT_START;
    f->depth = 0;
}

/* Drops the rest of the bad line; false while its end has not come. */
static bool skip_line(JsonFeed *f) {
    const char *p = f->buffer.at + f->head;
    const char *newline = f->head < f->buffer.n ? memchr(p, '\n', f->buffer.n - f->head) : NULL;
    f->skipping = newline == NULL;
    take(f, newline ? (size_t)(newline + 1 - f->buffer.at) : f->buffer.n);
    return newline != NULL;
}

/* Goes on behind the line of the fault, which is at or after head. */
static void skip_to_line(JsonFeed *f, uint32_t line) {
    while (f->start.line < line && skip_line(f)) {}
    if (!f->skipping) skip_line(f);
}

/* Reads the document in [head, at), or finds out what is wrong with it. */
static Feed read_document(JsonFeed *f, Heap *h, size_t at, Value *out, Error *err) {
    Error fault = { 0 };
    JsonRead options = f->options;
    options.start = f->start;
    options.max_bytes = 0;
    if (json_read(h, (Str){ f->buffer.at + f->head, at - f->head }, &options, out, &fault)) {
        take(f, at);
        return FEED_READY;
    }
    if (err) *err = fault;
    if (fault.line) skip_to_line(f, fault.line);
    else take(f, at);                                  /* cancelled: no line to blame */
    return FEED_BAD;
}

static Feed too_large(JsonFeed *f, Error *err) {
    size_t limit = f->options.max_bytes;
    take(f, f->scan);
    error_set_at(err, ERR_LIMIT, f->start.line, f->start.column, "json: line %u: the document is over the limit of %zu bytes",
                 f->start.line, limit);
    skip_line(f);
    return FEED_BAD;
}

/* Scans on until a document ends, a fault shows, or the bytes run out. */
static Feed scan_on(JsonFeed *f, Heap *h, Value *out, Error *err) {
    while (f->scan < f->buffer.n) {
        const char *p = f->buffer.at + f->scan, *end = f->buffer.at + f->buffer.n;
        if (f->state == IN_STRING) {
            f->scan += (size_t)(json_scan(p, end, false) - p);
            size_t limit = f->head + f->options.max_bytes;
            if (f->scan > limit) f->scan = limit;
            if (f->scan == f->buffer.n) break;
        }
        if (f->state == AT_START && is_space(f->buffer.at[f->scan])) {
            f->scan++;
            continue;
        }
        if (f->state == AT_START) take(f, f->scan);
        switch (step(f, f->buffer.at[f->scan])) {
        case STEP_ON: break;
        case STEP_DONE: if (f->scan - f->head < f->options.max_bytes) return read_document(f, h, f->scan + 1, out, err); break;
        case STEP_DONE_BEFORE: return read_document(f, h, f->scan, out, err);
        case STEP_BAD: return read_document(f, h, f->scan + 1, out, err);
        }
        if (f->scan - f->head >= f->options.max_bytes) return too_large(f, err);
        f->scan++;
    }
    if (f->state == AT_START) take(f, f->scan);
    return FEED_MORE;
}

static void add_bytes(JsonFeed *f, Str bytes) {
    if (f->head && f->head >= f->buffer.n - f->head) { /* as much taken as left: moving is cheap by now */
        memmove(f->buffer.at, f->buffer.at + f->head, f->buffer.n - f->head);
        f->buffer.n -= f->head;
        f->scan -= f->head;
        f->head = 0;
    }
    buf_add(&f->buffer, bytes);
}

Feed json_feed(JsonFeed *f, Heap *h, Str bytes, Value *out, Error *err) {
    if (bytes.n) add_bytes(f, bytes);
    if (f->skipping && !skip_line(f)) return FEED_MORE;
    return scan_on(f, h, out, err);
}

Feed json_feed_end(JsonFeed *f, Heap *h, Value *out, Error *err) {
    Feed feed = json_feed(f, h, STR(""), out, err);
    if (feed != FEED_MORE) return feed;
    if (f->state != AT_START) feed = read_document(f, h, f->buffer.n, out, err);
    f->skipping = false;                               /* the end ends a bad line too */
    return feed;
}
