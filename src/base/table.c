#include "base/table.h"
#include <stdlib.h>
#include "base/hash.h"
#include "base/mem.h"

#ifdef HARNESS_HOSTILE
enum { TABLE_START = 1 };
#else
enum { TABLE_START = 8 };
#endif

/* `slot` has a power-of-two size, at least twice that of `entry`, so a probe always finds an empty one (0). A used slot
 * holds the entry's index + 1. */

/* The slot of key, or the empty one where it belongs. The table has slots. */
static uint32_t find_slot(const Table *t, Str key, uint32_t hash) {
    uint32_t mask = t->slots - 1, i = hash & mask;
    for (; t->slot[i]; i = (i + 1) & mask) {
        const TableEntry *e = &t->entry[t->slot[i] - 1];
        if (e->hash == hash && str_eq(e->key, key))
            break;
    }
    return i;
}

static const TableEntry *find(const Table *t, Str key) {
    if (t->n == 0)
        return NULL;
    uint32_t place = t->slot[find_slot(t, key, hash_bytes(key))];
    return place ? &t->entry[place - 1] : NULL;
}

static void grow(Table *t) {
    size_t cap = t->cap ? t->cap * 2 : TABLE_START;
    if (cap > UINT32_MAX / 4)
        cap = SIZE_MAX;                                /* over 32 GiB of entries: mem_resize aborts */
    t->entry = mem_resize(t->entry, cap, sizeof *t->entry);
    t->cap = cap;
    free(t->slot);
    t->slots = (uint32_t)cap * 2;
    t->slot = mem_zero(t->slots, sizeof *t->slot);
    for (size_t i = 0; i < t->n; i++) {
        uint32_t at = t->entry[i].hash & (t->slots - 1);
        while (t->slot[at]) at = (at + 1) & (t->slots - 1);
        t->slot[at] = (uint32_t)i + 1;
    }
}

void *table_get(const Table *t, Str key) {
    const TableEntry *e = find(t, key);
    return e ? e->value : NULL;
}

bool table_has(const Table *t, Str key) {
    return find(t, key) != NULL;
}

void *table_put(Table *t, Str key, void *value) {
    if (t->n == t->cap)
        grow(t);
    uint32_t hash = hash_bytes(key), at = find_slot(t, key, hash);
    if (t->slot[at]) {                                 /* existing key */
        TableEntry *e = &t->entry[t->slot[at] - 1];
        void *old = e->value;
        e->value = value;
        return old;
    }
    t->entry[t->n] = (TableEntry){ key, value, hash };
    t->slot[at] = (uint32_t)++t->n;
    return NULL;
}

void table_clear(Table *t) {
    free(t->entry);
    free(t->slot);
    *t = (Table){ 0 };
}
