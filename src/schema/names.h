/* A fixed set of strings with fast lookup, for names that are known when a schema is compiled.
 *
 * The hash uses the length and at most 16 bytes. The multiplier is chosen so that no two names
 * share a slot, so a lookup is one multiplication, one load and one comparison. A set for which no
 * multiplier works uses a table with the keyed hash of the process instead, so lookups stay fast
 * for any names in a schema and any keys in an instance. */
#pragma once
#include "base/arena.h"

typedef struct Names {
    const Str *name;                      /* n names, borrowed */
    uint32_t n, mask, shift;
    uint64_t seed;                        /* 0: keyed hash with probing */
    const uint32_t *slot;                 /* index + 1, or 0 */
} Names;

void names_init(Names *t, const Str *name, size_t n, Arena *arena);   /* names must be distinct */
static inline ptrdiff_t names_find(const Names *t, Str s);            /* index, or -1 */

/* ---- implementation of names_find, inlined for speed ---- */

ptrdiff_t names_find_keyed(const Names *t, Str s);

static inline uint64_t names_load8(const char *p) { uint64_t w; memcpy(&w, p, 8); return w; }
static inline uint64_t names_load4(const char *p) { uint32_t w; memcpy(&w, p, 4); return w; }

/* Combines the length and up to 16 bytes in one word; reads no byte outside of s. */
static inline uint64_t names_gist(Str s) {
    uint64_t a = 0, b = 0;
    if (s.n >= 8) a = names_load8(s.at), b = names_load8(s.at + s.n - 8);
    else if (s.n >= 4) a = names_load4(s.at), b = names_load4(s.at + s.n - 4);
    else if (s.n) a = (uint64_t)(unsigned char)s.at[0] << 16 | (uint64_t)(unsigned char)s.at[s.n / 2] << 8 | (unsigned char)s.at[s.n - 1];
    return a ^ (b << 29 | b >> 35) ^ (uint64_t)s.n << 59 ^ (uint64_t)s.n << 20;
}

static inline bool names_same(Str a, Str b) {
    size_t n = a.n;
    if (n != b.n) return false;
    if (n > 16) return memcmp(a.at, b.at, n) == 0;
    if (n >= 8) return names_load8(a.at) == names_load8(b.at) && names_load8(a.at + n - 8) == names_load8(b.at + n - 8);
    if (n >= 4) return names_load4(a.at) == names_load4(b.at) && names_load4(a.at + n - 4) == names_load4(b.at + n - 4);
    return n == 0 || (a.at[0] == b.at[0] && a.at[n / 2] == b.at[n / 2] && a.at[n - 1] == b.at[n - 1]);
}

static inline uint32_t names_place(const Names *t, Str s) { return (uint32_t)((names_gist(s) * t->seed) >> t->shift); }

static inline ptrdiff_t names_find(const Names *t, Str s) {
    if (t->seed == 0) return t->n ? names_find_keyed(t, s) : -1;
    uint32_t i = t->slot[names_place(t, s)];
    return i && names_same(t->name[i - 1], s) ? (ptrdiff_t)i - 1 : -1;
}
