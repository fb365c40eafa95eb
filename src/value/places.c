#include "value/places.h"
#include <stdlib.h>
#include "base/hash.h"
#include "base/mem.h"
#include "value/dict.h"

/* One open-addressing table for all containers; an entry whose container is GONE is empty. */
typedef struct { Value container; uint32_t index; Place key, value; } Spot;
struct Places { Spot *spot; size_t n, cap; Place root; };
enum { PLACES_START = 64 };

Places *places_new(void) { return mem_zero(1, sizeof(Places)); }

void places_free(Places *p) {
    if (!p) return;
    free(p->spot);
    free(p);
}

/* The entry of (container, index), or the empty one for it. cap must not be 0. */
static Spot *spot_find(Spot *spot, size_t cap, Value container, uint32_t index) {
    size_t i = hash_word(container.bits ^ ((uint64_t)index << 32) ^ index) & (cap - 1);
    while (!value_is_gone(spot[i].container) && !(value_same(spot[i].container, container) && spot[i].index == index))
        i = (i + 1) & (cap - 1);
    return &spot[i];
}

static void places_grow(Places *p) {
    size_t cap = p->cap ? p->cap * 2 : PLACES_START;
    Spot *spot = mem_zero(cap, sizeof *spot);
    for (size_t i = 0; i < p->cap; i++)
        if (!value_is_gone(p->spot[i].container))
            *spot_find(spot, cap, p->spot[i].container, p->spot[i].index) = p->spot[i];
    free(p->spot);
    p->spot = spot;
    p->cap = cap;
}

void places_put(Places *p, Value container, uint32_t index, Place key, Place value) {
    if (p->n >= p->cap / 4 * 3) places_grow(p);
    Spot *s = spot_find(p->spot, p->cap, container, index);
    if (value_is_gone(s->container)) p->n++;
    *s = (Spot){ container, index, key, value };
}

void places_put_root(Places *p, Place root) { p->root = root; }
Place places_root(const Places *p) { return p->root; }

static const Spot *places_spot(const Places *p, Value container, uint32_t index) {
    if (p->cap == 0) return NULL;
    const Spot *s = spot_find(p->spot, p->cap, container, index);
    return value_is_gone(s->container) ? NULL : s;
}

bool places_key(const Places *p, Value container, uint32_t index, Place *out) {
    const Spot *s = places_spot(p, container, index);
    if (!s || s->key.line == 0) return false;          /* unknown, or an item of a list? */
    *out = s->key;
    return true;
}

bool places_value(const Places *p, Value container, uint32_t index, Place *out) {
    const Spot *s = places_spot(p, container, index);
    if (!s) return false;
    *out = s->value;
    return true;
}

bool places_field(const Places *p, Value dict, Str key, Place *out) {
    if (!value_is_dict(dict)) return false;
    ptrdiff_t i = dict_index_str(value_dict(dict), key);
    return i >= 0 && places_key(p, dict, (uint32_t)i, out);
}
