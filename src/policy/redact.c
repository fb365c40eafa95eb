/* Searches for all values in one pass: each form of each value is a needle, needles with the same first four bytes
 * (hashed) are in one chain, and each position of the text is compared with that chain only. Merges overlapping
 * matches. */
#include "policy/redact.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/regex.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "policy/redact_forms.h"
#include "value/json.h"

#define REDACTED STR("[redacted]")
enum { SLOT_BITS = 12, SLOTS = 1 << SLOT_BITS, SECRET_MAX = 1 << 20 };
enum { PATTERNS_TIME_MS = 5000 };        /* for all patterns on one text */

typedef struct { char *at; size_t n; int32_t next; } Needle;

struct Redactor {
    pthread_rwlock_t lock;
    atomic_bool used;
    VEC(Needle) needles;
    int32_t slot[SLOTS];                 /* index + 1 of the first needle of a chain */
    VEC(Regex *) patterns;
};

Redactor *redact_new(void) {
    Redactor *r = mem_zero(1, sizeof *r);
    pthread_rwlock_init(&r->lock, NULL);
    return r;
}

void redact_free(Redactor *r) {
    if (!r) return;
    for (size_t i = 0; i < r->needles.n; i++) {
        explicit_bzero(r->needles.at[i].at, r->needles.at[i].n);
        free(r->needles.at[i].at);
    }
    for (size_t i = 0; i < r->patterns.n; i++) regex_free(r->patterns.at[i]);
    VEC_CLEAR(&r->needles);
    VEC_CLEAR(&r->patterns);
    pthread_rwlock_destroy(&r->lock);
    free(r);
}

bool redact_empty(const Redactor *r) { return !atomic_load_explicit(&r->used, memory_order_acquire); }

/* ---- values ---- */

static uint32_t slot_of(const char *at) {
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word * 2654435761u >> (32 - SLOT_BITS);
}

static void add_needle(void *ctx, Str s) {
    Redactor *r = ctx;
    if (s.n < REDACT_VALUE_MIN) return;
    uint32_t slot = slot_of(s.at);
    for (int32_t i = r->slot[slot]; i; i = r->needles.at[i - 1].next)
        if (str_eq((Str){ r->needles.at[i - 1].at, r->needles.at[i - 1].n }, s)) return;
    VEC_PUSH(&r->needles, (Needle){ mem_dup(s.at, s.n), s.n, r->slot[slot] });
    r->slot[slot] = (int32_t)r->needles.n;
}

void redact_add_value(Redactor *r, Str secret) {
    if (str_trim(secret).n < REDACT_VALUE_MIN) return;
    secret = str_sub(secret, 0, SECRET_MAX);             /* redacting the beginning of a long secret is enough */
    pthread_rwlock_wrlock(&r->lock);
    redact_forms(secret, add_needle, r);
    atomic_store_explicit(&r->used, true, memory_order_release);
    pthread_rwlock_unlock(&r->lock);
}

/* Length of the longest needle at `at`; 0 if there is none. */
static size_t needle_at(const Redactor *r, const char *at, size_t left) {
    size_t longest = 0;
    for (int32_t i = r->slot[slot_of(at)]; i;) {
        const Needle *n = &r->needles.at[i - 1];
        if (n->n <= left && n->n > longest && memcmp(n->at, at, n->n) == 0) longest = n->n;
        i = n->next;
    }
    return longest;
}

/* Finds the next range of text from `from` on that needles cover. */
static bool next_value(const Redactor *r, Str text, size_t from, size_t *start, size_t *end) {
    for (size_t i = from; i + REDACT_VALUE_MIN <= text.n; i++) {
        size_t n = needle_at(r, text.at + i, text.n - i);
        if (!n) continue;
        *start = i;
        *end = i + n;
        for (i++; i < *end && i + REDACT_VALUE_MIN <= text.n; i++)   /* extend the range if a match that begins inside it ends later */
            if ((n = needle_at(r, text.at + i, text.n - i)) && i + n > *end) *end = i + n;
        return true;
    }
    return false;
}

static bool take_values(const Redactor *r, Buf *text) {
    size_t start, end, from = 0;
    if (!r->needles.n || !next_value(r, buf_str(text), 0, &start, &end)) return false;
    Buf out = { .limit = text->limit };
    do {
        buf_add(&out, str_sub(buf_str(text), from, start));
        buf_add(&out, REDACTED);
        from = end;
    } while (next_value(r, buf_str(text), from, &start, &end));
    buf_add(&out, str_sub(buf_str(text), from, text->n));
    buf_clear(text);
    *text = out;
    return true;
}

/* ---- patterns ---- */

bool redact_add_pattern(Redactor *r, Str pattern, Error *err) {
    Regex *re = regex_new(pattern, 0, err);
    if (!re) return false;
    pthread_rwlock_wrlock(&r->lock);
    VEC_PUSH(&r->patterns, re);
    atomic_store_explicit(&r->used, true, memory_order_release);
    pthread_rwlock_unlock(&r->lock);
    return true;
}

static size_t next_character(Str text, size_t at) {
    size_t n = 1;
    if (at < text.n) utf8_decode(str_sub(text, at, text.n), &n);
    return at + n;
}

typedef enum { TAKEN_NOTHING, TAKEN_SOME, TAKEN_ALL } Taken;

/* `text` must be UTF-8. *out is the text without the matches, if there were any. */
static Taken take_pattern(const Regex *re, Str text, int64_t deadline, Buf *out) {
    size_t from = 0, at = 0;
    bool found = false, some = false;
    while (at <= text.n) {
        RegexSpan span;
        if (clock_mono_ns() > deadline || !regex_find(re, text, at, &span, 1, NULL, &found, NULL)) return TAKEN_ALL;
        if (!found) break;
        if (span.to > span.from) {
            buf_add(out, str_sub(text, from, span.from));
            buf_add(out, REDACTED);
            from = span.to;
            some = true;
        }
        at = span.to > at ? span.to : next_character(text, at);
    }
    if (!some) return TAKEN_NOTHING;
    buf_add(out, str_sub(text, from, text.n));
    return TAKEN_SOME;
}

static void withhold(Buf *text) {
    buf_reset(text);
    buf_add(text, REDACTED);
}

/* Invalid UTF-8 is matched as U+FFFD and left unchanged if nothing is found. */
static void make_utf8(Str text, Buf *out) {
    while (text.n) {
        size_t valid = utf8_valid_prefix(text);
        buf_add(out, str_sub(text, 0, valid));
        if (valid == text.n) return;
        buf_add_utf8(out, 0xfffd);
        text = str_sub(text, valid + 1, text.n);
    }
}

static bool take_patterns(const Redactor *r, Buf *text) {
    if (!r->patterns.n || !text->n) return false;
    int64_t deadline = clock_mono_ns() + (int64_t)PATTERNS_TIME_MS * 1000000;
    Buf now = { 0 }, next = { 0 };
    bool changed = false, all = false;
    make_utf8(buf_str(text), &now);
    for (size_t i = 0; i < r->patterns.n && !all; i++) {
        buf_reset(&next);
        Taken taken = take_pattern(r->patterns.at[i], buf_str(&now), deadline, &next);
        all = taken == TAKEN_ALL;
        if (taken != TAKEN_SOME) continue;
        Buf swap = now;
        now = next, next = swap;
        changed = true;
    }
    if (all) withhold(text);
    else if (changed) buf_reset(text), buf_add(text, buf_str(&now));
    buf_clear(&now);
    buf_clear(&next);
    return changed || all;
}

static bool take_both(const Redactor *r, Buf *text) {
    bool values = take_values(r, text);
    return take_patterns(r, text) || values;
}

bool redact_text(Redactor *r, Buf *text) {
    if (redact_empty(r) || !text->n) return false;
    pthread_rwlock_rdlock(&r->lock);
    bool changed = take_both(r, text);
    pthread_rwlock_unlock(&r->lock);
    return changed;
}

void redact_chars(Redactor *r, char *text, size_t size) {
    Buf safe = { 0 };
    buf_add(&safe, str_from(text));
    if (redact_text(r, &safe)) snprintf(text, size, "%s", safe.at);
    buf_clear(&safe);
}

bool redact_would(Redactor *r, Str text) {
    if (redact_empty(r) || !text.n) return false;
    Buf copy = { 0 };
    buf_add(&copy, text);
    bool would = redact_text(r, &copy);
    buf_clear(&copy);
    return would;
}

/* ---- streams ---- */

/* True if the text from `at` on may be the beginning of a longer needle. */
static bool may_begin(const Redactor *r, Str text, size_t at) {
    size_t left = text.n - at;
    for (size_t i = 0; i < r->needles.n; i++) {
        const Needle *n = &r->needles.at[i];
        if (n->n > left && n->at[0] == text.at[at] && memcmp(n->at, text.at + at, left) == 0) return true;
    }
    return false;
}

/* Length of the text that is final: no needle that begins in it can still grow, and no complete one extends beyond
 * it. */
static size_t decided(const Redactor *r, Str text) {
    size_t cut = 0, start, end;
    while (cut < text.n && !may_begin(r, text, cut)) cut++;
    for (size_t from = 0; next_value(r, text, from, &start, &end) && start < cut; from = end)
        if (end > cut) cut = start;
    while (cut && cut < text.n && ((unsigned char)text.at[cut] & 0xc0) == 0x80) cut--;      /* do not split a character */
    return cut;
}

void redact_feed(RedactFeed *f, Str piece, Buf *out) {
    if (piece.n == 0) return;
    buf_add(&f->held, piece);
    pthread_rwlock_rdlock(&f->r->lock);
    Str held = buf_str(&f->held);
    size_t cut = f->r->patterns.n ? 0 : decided(f->r, held);
    Buf safe = { 0 };
    buf_add(&safe, str_sub(held, 0, cut));
    take_values(f->r, &safe);
    pthread_rwlock_unlock(&f->r->lock);
    buf_add(out, buf_str(&safe));
    memmove(f->held.at, f->held.at + cut, f->held.n - cut);
    f->held.n -= cut;
    buf_clear(&safe);
}

void redact_feed_end(RedactFeed *f, Buf *out) {
    redact_text(f->r, &f->held);
    buf_add(out, buf_str(&f->held));
    if (f->held.at) explicit_bzero(f->held.at, f->held.cap);
    buf_clear(&f->held);
}

/* ---- JSON ---- */

/* The offset after the closing quote of the string that starts at `at`. */
static size_t string_end(Str text, size_t at) {
    for (at++; at < text.n && text.at[at] != '"'; at++)
        if (text.at[at] == '\\') at++;
    return at < text.n ? at + 1 : text.n;
}

static size_t number_end(Str text, size_t at) {
    while (at < text.n && (strchr("+-.eE", text.at[at]) ? text.at[at] != 0 : text.at[at] >= '0' && text.at[at] <= '9')) at++;
    return at;
}

/* Searches the decoded value of one string or number, and rewrites the token only if something was removed. */
static bool take_token(const Redactor *r, Heap *heap, Str token, Buf *text, Buf *out) {
    Value v;
    buf_reset(text);
    if (token.at[0] != '"') buf_add(text, token);
    else if (!memchr(token.at, '\\', token.n)) buf_add(text, str_sub(token, 1, token.n - 1));
    else if (json_read(heap, token, &(JsonRead){ 0 }, &v, NULL) && value_is_string(v)) buf_add(text, value_str(v));
    else buf_add(text, token);
    if (!take_both(r, text)) return buf_add(out, token), false;
    json_write_string(out, buf_str(text), false);
    return true;
}

static bool take_tokens(const Redactor *r, Heap *heap, Str text, Buf *out) {
    Buf token = { 0 };
    bool changed = false;
    for (size_t at = 0; at < text.n;) {
        size_t end = text.at[at] == '"' ? string_end(text, at) : number_end(text, at);
        if (end == at) buf_add_char(out, text.at[at++]);
        else changed |= take_token(r, heap, str_sub(text, at, end), &token, out);
        if (end > at) at = end;
    }
    buf_clear(&token);
    return changed;
}

static bool take_json(const Redactor *r, Buf *text) {
    bool plain = !r->patterns.n && !memchr(text->at, '\\', text->n);
    size_t start, end;
    if (plain && !next_value(r, buf_str(text), 0, &start, &end)) return false;   /* the common case: no copy */
    Heap *heap = heap_new(0);
    Buf out = { 0 };
    Value v;
    bool changed = take_tokens(r, heap, buf_str(text), &out);
    bool across = take_both(r, &out);
    if (across && !json_read(heap, buf_str(&out), &(JsonRead){ 0 }, &v, NULL)) {
        buf_reset(&out);
        json_write_string(&out, REDACTED, false);
    }
    if (changed || across) buf_reset(text), buf_add(text, buf_str(&out));
    buf_clear(&out);
    heap_free(heap);
    return changed || across;
}

bool redact_json(Redactor *r, Buf *text) {
    Str trimmed = str_trim(buf_str(text));
    if (redact_empty(r) || !trimmed.n) return false;
    if (!strchr("{[\"", trimmed.at[0])) return redact_text(r, text);
    pthread_rwlock_rdlock(&r->lock);
    bool changed = take_json(r, text);
    pthread_rwlock_unlock(&r->lock);
    return changed;
}

void redact_stream(void *redactor, Buf *text) { redact_json(redactor, text); }
