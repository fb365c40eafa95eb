/* Scans the contents of JSON strings, many bytes per step. Private to the json_*.c files. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

static inline uint64_t json_scan_load8(const char *p) {
    uint64_t w;
    memcpy(&w, p, 8);
    return w;
}

static inline uint32_t json_scan_load4(const char *p) {
    uint32_t w;
    memcpy(&w, p, 4);
    return w;
}

/* True if one of the eight bytes is special: '"', '\\', a control character, or (ascii) a non-ASCII byte. */
static inline bool json_scan_word(uint64_t w, bool ascii) {
    const uint64_t ones = 0x0101010101010101u, tops = ones << 7;
    uint64_t quote = w ^ (ones * '"'), slash = w ^ (ones * '\\');
    uint64_t hit = ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((w - ones * 0x20) & ~w) | (ascii ? w : 0);
    return (hit & tops) != 0;
}

static inline bool json_scan_byte(unsigned char c, bool ascii) {
    return c == '"' || c == '\\' || c < 0x20 || (ascii && c >= 0x80);
}

/* The first byte of [p, end) that needs an escape, or end. `ascii` stops at non-ASCII too. */
static inline const char *json_scan_tail(const char *p, const char *end, bool ascii) {
    for (; end - p >= 8; p += 8)
        if (json_scan_word(json_scan_load8(p), ascii)) break;
    while (p < end && !json_scan_byte((unsigned char)*p, ascii)) p++;
    return p;
}

static inline const char *json_scan(const char *p, const char *end, bool ascii) {
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), last = _mm_set1_epi8(0x1f);
    for (; end - p >= 16; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i low = ascii ? _mm_cmplt_epi8(v, _mm_set1_epi8(0x20))          /* signed: includes bytes >= 0x80 */
                            : _mm_cmpeq_epi8(_mm_min_epu8(v, last), v);
        __m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)), low);
        int mask = _mm_movemask_epi8(hit);
        if (mask) return p + __builtin_ctz((unsigned)mask);
    }
#endif
    return json_scan_tail(p, end, ascii);
}

/* Copies 16 bytes and returns how many precede the first one that needs an escape. Sets *high if there are
 * non-ASCII bytes. */
static inline unsigned json_scan_copy16(char *to, const char *from, bool *high) {
#ifdef __SSE2__
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)from);
    _mm_storeu_si128((__m128i *)(void *)to, v);
    __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);
    __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
    *high |= _mm_movemask_epi8(v) != 0;
    return (unsigned)__builtin_ctz((unsigned)_mm_movemask_epi8(_mm_or_si128(hit, low)) | 1u << 16);
#else
    uint64_t a = json_scan_load8(from), b = json_scan_load8(from + 8);
    memcpy(to, from, 16);
    *high |= ((a | b) & 0x8080808080808080u) != 0;
    if (!json_scan_word(a, false) && !json_scan_word(b, false)) return 16;
    unsigned i = 0;
    while (!json_scan_byte((unsigned char)from[i], false)) i++;
    return i;
#endif
}

/* Copies n < 16 bytes. True if all of them are ASCII and need no escape; otherwise the copy is unusable. Two
 * overlapping loads cover most lengths. */
static inline bool json_scan_copy_short(char *to, const char *from, size_t n) {
    if (n >= 8) {
        uint64_t a = json_scan_load8(from), b = json_scan_load8(from + n - 8);
        memcpy(to, &a, 8);
        memcpy(to + n - 8, &b, 8);
        return !json_scan_word(a, true) && !json_scan_word(b, true);
    }
    if (n >= 4) {
        uint32_t a = json_scan_load4(from), b = json_scan_load4(from + n - 4);
        memcpy(to, &a, 4);
        memcpy(to + n - 4, &b, 4);
        return !json_scan_word(a | (uint64_t)b << 32, true);
    }
    for (size_t i = 0; i < n; i++) {
        if (json_scan_byte((unsigned char)from[i], true)) return false;
        to[i] = from[i];
    }
    return true;
}
