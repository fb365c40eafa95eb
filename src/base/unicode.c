#include "base/unicode.h"

#include <stddef.h>
#include "base/unicode_table.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Kind of the run that contains c; in alternating runs c's lowest bit decides. */
static unsigned kind_of(uint32_t c) {
    if (c > 0x10ffff) return HIDDEN;
    size_t low = 0, high = COUNT(unicode_runs);
    while (high - low > 1) {                           /* unicode_runs[low] starts at or before c */
        size_t middle = (low + high) / 2;
        if (unicode_runs[middle] >> 4 <= c) low = middle; else high = middle;
    }
    unsigned kind = unicode_runs[low] & 15;
    if (kind == EVEN_UPPER) return c & 1 ? LOWER : UPPER;
    if (kind == ODD_UPPER) return c & 1 ? UPPER : LOWER;
    return kind;
}

static uint32_t map(const CaseRun *runs, size_t n, uint32_t c) {
    size_t low = 0, high = n;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (runs[middle].first <= c) low = middle; else high = middle;
    }
    const CaseRun *r = &runs[low];
    if (c < r->first || (c - r->first) % r->stride || (c - r->first) / r->stride >= r->count) return c;
    return (uint32_t)((int32_t)c + r->delta);
}

uint32_t unicode_to_upper(uint32_t c) {
    if (c < 0x80) return c >= 'a' && c <= 'z' ? c - 32 : c;
    return map(unicode_upper, COUNT(unicode_upper), c);
}

uint32_t unicode_to_lower(uint32_t c) {
    if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
    return map(unicode_lower, COUNT(unicode_lower), c);
}

/* Title case equals upper case except for the Latin digraphs (Dž between DŽ and dž), which come in threes, and
 * Georgian, which has none. */
uint32_t unicode_to_title(uint32_t c) {
    if (c >= 0x1c4 && c <= 0x1cc) return (c - 0x1c4) / 3 * 3 + 0x1c5;
    if (c >= 0x1f1 && c <= 0x1f3) return 0x1f2;
    if (c >= 0x10d0 && c <= 0x10ff) return c;
    return unicode_to_upper(c);
}

bool unicode_is_letter(uint32_t c) {
    if (c < 0x80) return (c | 32) >= 'a' && (c | 32) <= 'z';
    unsigned kind = kind_of(c);
    return kind >= LETTER && kind <= TITLE;
}

bool unicode_is_digit(uint32_t c) { return c < 0x80 ? c >= '0' && c <= '9' : kind_of(c) == DIGIT; }
bool unicode_is_upper(uint32_t c) { return c < 0x80 ? c >= 'A' && c <= 'Z' : kind_of(c) == UPPER; }
bool unicode_is_lower(uint32_t c) { return c < 0x80 ? c >= 'a' && c <= 'z' : kind_of(c) == LOWER; }
bool unicode_is_title(uint32_t c) { return c >= 0x80 && kind_of(c) == TITLE; }
bool unicode_is_printable(uint32_t c) { return c < 0x80 ? c >= ' ' && c < 0x7f : kind_of(c) != HIDDEN; }

bool unicode_is_space(uint32_t c) {
    if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

/* The dotted and dotless i of Turkish have no folding; only folding knows the capital of 'ß'. */
bool unicode_is_cased(uint32_t c) {
    if (c < 0x80) return unicode_is_letter(c);
    if (c == 0x130 || c == 0x131) return false;
    return c == 0xdf || unicode_to_upper(c) != c || unicode_to_lower(c) != c;
}
