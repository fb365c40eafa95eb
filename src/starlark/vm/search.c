#include "starlark/vm/search.h"

#include <stdlib.h>
#include "base/mem.h"
#include "base/utf8.h"

#ifdef HARNESS_HOSTILE
enum { WINDOW = 32, WINDOW_BACK = 32, NEEDLE_MAX = 8 };
#else
enum { WINDOW = WORK_CHUNK, WINDOW_BACK = 4096, NEEDLE_MAX = 1 << 16 };  /* limits for memmem: length of the needle, bytes per call */
#endif

/* ---- any needle, either direction: Knuth, Morris, Pratt ---- */

/* A text read forwards or backwards. */
typedef struct { const char *first; ptrdiff_t step; } Reader;

static Reader reader(Str s, bool backwards) {
    return backwards ? (Reader){ s.at + s.n - 1, -1 } : (Reader){ s.at, 1 };
}
static inline char read_at(Reader r, size_t i) { return r.first[(ptrdiff_t)i * r.step]; }

/* border[i]: length of the longest proper prefix of needle[0…i] that is also its suffix. */
static bool fill_borders(Work *w, Reader needle, size_t n, uint32_t *border, Error *err) {
    uint32_t k = 0;
    border[0] = 0;
    for (size_t i = 1; i < n; i++) {
        while (k && read_at(needle, i) != read_at(needle, k)) k = border[k - 1];
        if (read_at(needle, i) == read_at(needle, k)) k++;
        border[i] = k;
        if (i % 4 == 0 && !work_add(w, 1, err)) return false;
    }
    return true;
}

static bool scan(Work *w, Str hay, Str needle, bool backwards, const uint32_t *border, ptrdiff_t *at, Error *err) {
    Reader h = reader(hay, backwards), n = reader(needle, backwards);
    size_t k = 0;
    for (size_t i = 0; i < hay.n; i++) {
        while (k && read_at(h, i) != read_at(n, k)) k = border[k - 1];
        if (read_at(h, i) == read_at(n, k)) k++;
        if (k == needle.n) {
            *at = (ptrdiff_t)(backwards ? hay.n - 1 - i : i + 1 - needle.n);
            return true;
        }
        if (i % 4 == 0 && !work_add(w, 1, err)) return false;
    }
    *at = -1;
    return true;
}

static bool search_any(Work *w, Str hay, Str needle, bool backwards, ptrdiff_t *at, Error *err) {
    if (!heap_can_take(vm_heap(w->vm), needle.n * sizeof(uint32_t), err)) return false;
    uint32_t *border = mem_alloc(needle.n * sizeof *border);
    bool ok = fill_borders(w, reader(needle, backwards), needle.n, border, err) &&
              scan(w, hay, needle, backwards, border, at, err);
    free(border);
    return ok;
}

/* ---- forwards: the C library, a window at a time ---- */

/* memmem first builds a table, which costs more than a short scan to the next match. So scan for the first
 * byte of the needle, and fall back after too many false candidates. */
static const char *find_in(const char *p, size_t n, Str needle) {
    if (needle.n == 1) return memchr(p, needle.at[0], n);
    const char *end = p + n, *last = end - needle.n;
    for (int tries = 0; p <= last && tries < 8; p++, tries++) {
        p = memchr(p, needle.at[0], (size_t)(last - p) + 1);
        if (!p) return NULL;
        if (p[1] == needle.at[1] && memcmp(p, needle.at, needle.n) == 0) return p;
    }
    return p <= last ? memmem(p, (size_t)(end - p), needle.at, needle.n) : NULL;
}

bool search_first(Work *w, Str hay, Str needle, ptrdiff_t *at, Error *err) {
    *at = needle.n ? -1 : 0;
    if (needle.n == 0 || needle.n > hay.n) return true;
    if (needle.n > NEEDLE_MAX) return search_any(w, hay, needle, false, at, err);
    for (size_t from = 0; hay.n - from >= needle.n;) {
        size_t window = hay.n - from < WINDOW ? hay.n - from : WINDOW;
        const char *hit = find_in(hay.at + from, window, needle);
        if (hit) { *at = hit - hay.at; return work_add(w, 1 + (size_t)(hit - hay.at - (ptrdiff_t)from) / 32, err); }
        if (!work_add(w, 1 + window / 32, err)) return false;
        if (from + window == hay.n) break;
        from += window - (needle.n - 1);              /* a match may cross the border */
    }
    return true;
}

/* ---- backwards: scan for the last byte, with a fallback ---- */

bool search_last(Work *w, Str hay, Str needle, ptrdiff_t *at, Error *err) {
    *at = needle.n ? -1 : (ptrdiff_t)hay.n;
    if (needle.n == 0 || needle.n > hay.n) return true;
    size_t wasted = 0, head = needle.n - 1;
    for (size_t n = hay.n; n >= needle.n;) {          /* hay[0 … n) is still to be searched */
        size_t window = n - head < WINDOW_BACK ? n - head : WINDOW_BACK;
        const char *last = memrchr(hay.at + n - window, needle.at[head], window);
        size_t passed = last ? n - (size_t)(last - hay.at) : window;
        if (!work_add(w, 1 + passed / 32, err)) return false;
        n -= passed;                                  /* now *last is hay[n] */
        if (!last) continue;
        if (memcmp(last - head, needle.at, head) == 0) { *at = last - head - hay.at; return true; }
        wasted += head;
        if (wasted > 1024 + 4 * (hay.n - n))          /* too many false candidates */
            return search_any(w, (Str){ hay.at, n }, needle, true, at, err);
    }
    return true;
}

/* ---- counting ---- */

static size_t count_byte(const char *p, size_t n, char c) {
    const uint64_t ones = 0x0101010101010101u, low = 0x7f * ones, pattern = (unsigned char)c * ones;
    size_t count = 0, i = 0;
    for (; n - i >= 8; i += 8) {
        uint64_t x;
        memcpy(&x, p + i, 8);
        x ^= pattern;                                 /* equal bytes are now 0 */
        uint64_t equal = ~(((x & low) + low) | x | low);
        count += ((equal >> 7) * ones) >> 56;
    }
    for (; i < n; i++) count += p[i] == c;
    return count;
}

bool search_count(Work *w, Str hay, Str needle, size_t *count, Error *err) {
    *count = 0;
    if (needle.n == 1) {
        for (size_t from = 0, n; from < hay.n; from += n) {
            n = hay.n - from < WINDOW ? hay.n - from : WINDOW;
            *count += count_byte(hay.at + from, n, needle.at[0]);
            if (!work_add(w, 1 + n / 32, err)) return false;
        }
        return true;
    }
    for (ptrdiff_t at;; (*count)++) {
        if (!search_first(w, hay, needle, &at, err)) return false;
        if (at < 0) return true;
        hay = str_sub(hay, (size_t)at + needle.n, hay.n);
    }
}

bool search_characters(Work *w, Str s, size_t *count, Error *err) {
    *count = 0;
    while (s.n) {
        size_t n = s.n;
        if (n > WINDOW_BACK) {                        /* cut before a character, not inside one */
            n = WINDOW_BACK;
            for (int back = 0; back < 3 && (s.at[n] & 0xc0) == 0x80; back++) n--;
            if ((s.at[n] & 0xc0) == 0x80) n = WINDOW_BACK;   /* invalid: no character is that long */
        }
        *count += utf8_count((Str){ s.at, n });
        if (!work_add(w, 1 + n / 8, err)) return false;
        s = str_sub(s, n, s.n);
    }
    return true;
}
