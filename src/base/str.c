#include "base/str.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/utf8.h"

#ifdef HARNESS_HOSTILE
enum { BUF_START = 3 };
#else
enum { BUF_START = 64 };
#endif

int str_cmp(Str a, Str b) {
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.at, b.at, n) : 0;
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

bool str_starts(Str s, Str prefix) {
    return s.n >= prefix.n && str_eq((Str){ s.at, prefix.n }, prefix);
}

bool str_ends(Str s, Str suffix) {
    return s.n >= suffix.n && str_eq(str_sub(s, s.n - suffix.n, s.n), suffix);
}

bool str_among(Str s, const Str *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(s, list[i])) return true;
    return false;
}

Str str_sub(Str s, size_t from, size_t to) {
    if (to > s.n) to = s.n;
    if (from > to) from = to;
    return (Str){ from ? s.at + from : s.at, to - from };
}

static bool str_is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

Str str_trim(Str s) {
    while (s.n && str_is_space(s.at[0])) s.at++, s.n--;
    while (s.n && str_is_space(s.at[s.n - 1])) s.n--;
    return s;
}

ptrdiff_t str_find(Str s, Str needle) {
    if (needle.n == 0)
        return 0;
    if (s.n < needle.n)
        return -1;
    const char *hit = memmem(s.at, s.n, needle.at, needle.n);
    return hit ? hit - s.at : -1;
}

ptrdiff_t str_find_char(Str s, char c) {
    const char *hit = s.n ? memchr(s.at, c, s.n) : NULL;
    return hit ? hit - s.at : -1;
}

bool str_next_line(Str *rest, Str *line) {
    if (rest->n == 0)
        return false;
    ptrdiff_t end = str_find_char(*rest, '\n');
    size_t n = end < 0 ? rest->n : (size_t)end;
    *line = (Str){ rest->at, n };
    *rest = str_sub(*rest, n + 1, rest->n);
    if (end >= 0 && n > 0 && line->at[n - 1] == '\r')
        line->n--;
    return true;
}

char *str_dup(Str s) {
    return mem_dup(s.at, s.n);
}

/* ---- nearest word ---- */

enum { NEAREST_MAX = 96 };                             /* longer names get no suggestion */

static unsigned min_of(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* Edit distance (insert, delete, replace, swap of neighbours) from a to b, or limit + 1 if it exceeds `limit`. Both are
 * at most NEAREST_MAX long. Three rows suffice: the current one, the previous one, and the one before that for
 * swaps. */
static unsigned edit_distance(Str a, Str b, unsigned limit) {
    unsigned rows[3][NEAREST_MAX + 1];
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b.n; j++) above[j] = (unsigned)j;
    for (size_t i = 1; i <= a.n; i++) {
        unsigned best = row[0] = (unsigned)i;
        for (size_t j = 1; j <= b.n; j++) {
            unsigned d = min_of(above[j], row[j - 1]) + 1;
            d = min_of(d, above[j - 1] + (a.at[i - 1] != b.at[j - 1]));
            if (i > 1 && j > 1 && a.at[i - 1] == b.at[j - 2] && a.at[i - 2] == b.at[j - 1])
                d = min_of(d, before[j - 2] + 1);
            row[j] = d;
            best = min_of(best, d);
        }
        if (best > limit + 1)                          /* + 1: a swap reaches over one row */
            return limit + 1;
        unsigned *spare = before;
        before = above, above = row, row = spare;
    }
    return min_of(above[b.n], limit + 1);
}

Str str_nearest(Str word, const Str *candidates, size_t n) {
    Str nearest = { "", 0 };
    if (word.n == 0 || word.n > NEAREST_MAX)
        return nearest;
    unsigned limit = word.n < 3 ? 1 : (unsigned)(word.n / 3);
    for (size_t i = 0; i < n; i++) {
        Str c = candidates[i];
        size_t longer = c.n > word.n ? c.n : word.n;
        if (c.n == 0 || c.n > NEAREST_MAX || longer - (c.n + word.n - longer) > limit)
            continue;
        unsigned d = edit_distance(word, c, limit);
        if (d > limit || d >= longer)                  /* nothing in common? */
            continue;
        nearest = c;
        if (d == 0)
            break;
        limit = d - 1;                                 /* only a closer one can win now */
    }
    return nearest;
}

bool str_within(Str a, Str b, unsigned edits) {
    if (a.n > NEAREST_MAX || b.n > NEAREST_MAX || a.n > b.n + edits || b.n > a.n + edits) return false;
    return edit_distance(a, b, edits) <= edits;
}

/* ---- buffer ---- */

void buf_clear(Buf *b) {
    free(b->at);
    *b = (Buf){ .limit = b->limit };
}

void buf_reset(Buf *b) {
    b->n = 0;
    b->full = false;
    if (b->at)
        b->at[0] = 0;
}

static void buf_grow(Buf *b, size_t need) {
    size_t cap = b->cap ? b->cap : BUF_START;
    while (cap < need && cap <= SIZE_MAX / 2) cap *= 2;
    if (cap < need || (b->limit && cap > b->limit && need <= b->limit + 1))
        cap = need > b->limit ? need : b->limit + 1;   /* bytes past the limit are never used */
    b->at = mem_resize(b->at, cap, 1);
    b->cap = cap;
}

char *buf_room(Buf *b, size_t n) {
    if (b->full || (b->limit && (b->n > b->limit || n > b->limit - b->n))) {
        b->full = true;                                /* stays set: no text with gaps */
        return NULL;
    }
    size_t need;
    if (__builtin_add_overflow(b->n, n, &need) || need == SIZE_MAX)
        need = SIZE_MAX - 1;                           /* mem_resize aborts */
    if (need >= b->cap) {
        bool fresh = b->at == NULL;
        buf_grow(b, need + 1);
        if (fresh)
            b->at[0] = 0;
    }
    return b->at + b->n;
}

void buf_add_fmt(Buf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_add_vfmt(b, fmt, ap);
    va_end(ap);
}

/* Formats into a small array first: most pieces fit, and the buffer is not changed until the length is known to be
 * within the limit. */
void buf_add_vfmt(Buf *b, const char *fmt, va_list ap) {
    char small[256];
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    if (n < 0) {                                       /* more than INT_MAX bytes? */
        b->full = true;
    } else if ((size_t)n < sizeof small) {
        buf_add(b, (Str){ small, (size_t)n });
    } else {
        char *room = buf_room(b, (size_t)n);
        if (room) {
            vsnprintf(room, (size_t)n + 1, fmt, again);
            buf_commit(b, (size_t)n);
        }
    }
    va_end(again);
}

void buf_add_utf8(Buf *b, uint32_t codepoint) {
    char bytes[4];
    buf_add(b, (Str){ bytes, utf8_encode(codepoint, bytes) });
}

char *buf_take(Buf *b) {
    char *text = b->at ? b->at : mem_dup("", 0);
    *b = (Buf){ .limit = b->limit };
    return text;
}
