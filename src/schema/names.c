#include "schema/names.h"

#include "base/hash.h"

enum { TRIES = 64 };

static bool fill(Names *t, uint32_t *slot) {
    memset(slot, 0, (t->mask + 1) * sizeof *slot);
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t *at = &slot[names_place(t, t->name[i])];
        if (*at) return false;
        *at = i + 1;
    }
    return true;
}

static void fill_keyed(Names *t, uint32_t *slot) {
    memset(slot, 0, (t->mask + 1) * sizeof *slot);
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t at = hash_bytes(t->name[i]) & t->mask;
        while (slot[at]) at = (at + 1) & t->mask;
        slot[at] = i + 1;
    }
}

void names_init(Names *t, const Str *name, size_t n, Arena *arena) {
    *t = (Names){ .name = name, .n = (uint32_t)n };
    if (n == 0) return;
    uint32_t bits = 1;
    while (((size_t)1 << bits) < n * 2) bits++;
    uint64_t seed = 0x9E3779B97F4A7C15;
    bool small = n <= 64;                                /* a larger set would need a table of quadratic size to avoid collisions */
    for (uint32_t grow = 0; small && grow < 4; grow++, bits++) {
        t->mask = ((uint32_t)1 << bits) - 1;
        t->shift = 64 - bits;
        uint32_t *slot = arena_alloc(arena, (t->mask + 1) * sizeof *slot);
        t->slot = slot;
        for (int i = 0; i < TRIES; i++, seed = seed * 6364136223846793005u + 1442695040888963407u) {
            t->seed = seed | 1;
            if (fill(t, slot)) return;
        }
    }
    t->seed = 0;
    if (!small) {
        t->mask = ((uint32_t)1 << bits) - 1;
        t->slot = arena_alloc(arena, (t->mask + 1) * sizeof(uint32_t));
    }
    fill_keyed(t, (uint32_t *)(uintptr_t)t->slot);
}

ptrdiff_t names_find_keyed(const Names *t, Str s) {
    for (uint32_t at = hash_bytes(s) & t->mask; t->slot[at]; at = (at + 1) & t->mask)
        if (str_eq(t->name[t->slot[at] - 1], s)) return (ptrdiff_t)t->slot[at] - 1;
    return -1;
}
