#include "value/dict.h"

#include "base/hash.h"

#ifdef HARNESS_HOSTILE
enum { DICT_START = 1 };
#else
enum { DICT_START = 4 };
#endif

static Dict *fresh(Heap *h, ObjectType type, size_t room, Error *err);

/* ---- lookup ---- */

static bool hash_of(Value key, uint32_t *out, Error *err) {
    if (value_is_string(key)) return *out = string_hash(value_string(key)), true;
    return value_hash(key, out, err);
}

/* True if both are the same key. Both have been hashed, which takes at least as much depth and work, so the
 * comparison cannot fail. */
static bool same_key(Value a, Value b) {
    if (value_same(a, b)) return true;
    if (value_is_gone(a) || value_both_small(a, b)) return false;
    if (value_is_string(a) && value_is_string(b)) return string_same(value_string(a), value_string(b));
    bool equal = false;
    return value_equal(a, b, &equal, NULL) && equal;
}

static ptrdiff_t find_linear(const Dict *d, Value key) {
    for (uint32_t i = 0; i < d->used; i++)              /* names are interned: most hits are the same pointer */
        if (value_same(d->entry[i].key, key)) return i;
    if (value_is_small(key)) {
        for (uint32_t i = 0; i < d->used; i++)
            if (!value_is_small(d->entry[i].key) && same_key(d->entry[i].key, key)) return i;
        return -1;
    }
    for (uint32_t i = 0; i < d->used; i++)
        if (same_key(d->entry[i].key, key)) return i;
    return -1;
}

static ptrdiff_t find_slots(const Dict *d, Value key, uint32_t hash) {
    uint32_t mask = d->slots - 1, tag = hash & ~mask;
    for (uint32_t at = hash & mask;; at = (at + 1) & mask) {
        uint32_t s = d->slot[at];
        if (s == 0) return -1;
        if ((s & ~mask) != tag) continue;
        uint32_t i = (s & mask) - 1;
        if (same_key(d->entry[i].key, key)) return i;
    }
}

bool dict_get(const Dict *d, Value key, Value **found, Error *err) {
    *found = NULL;
    uint32_t hash;
    if (!hash_of(key, &hash, err)) return false;
    ptrdiff_t i = d->slots ? find_slots(d, key, hash) : find_linear(d, key);
    if (i >= 0) *found = &d->entry[i].value;
    return true;
}

Value *dict_find(const Dict *d, String *key) {
    Value k = value_from_object(key);
    ptrdiff_t i = d->slots ? find_slots(d, k, string_hash(key)) : find_linear(d, k);
    return i >= 0 ? &d->entry[i].value : NULL;
}

static bool is_text(Value key, Str text) { return value_is_string(key) && str_eq(value_str(key), text); }

ptrdiff_t dict_index_str(const Dict *d, Str key) {
    if (!d->slots) {
        for (uint32_t i = 0; i < d->used; i++)
            if (is_text(d->entry[i].key, key)) return i;
        return -1;
    }
    uint32_t hash = hash_bytes(key), mask = d->slots - 1, tag = hash & ~mask;
    for (uint32_t at = hash & mask;; at = (at + 1) & mask) {
        uint32_t s = d->slot[at];
        if (s == 0) return -1;
        if ((s & ~mask) == tag && is_text(d->entry[(s & mask) - 1].key, key)) return (s & mask) - 1;
    }
}

Value *dict_find_str(const Dict *d, Str key) {
    ptrdiff_t i = dict_index_str(d, key);
    return i >= 0 ? &d->entry[i].value : NULL;
}

Value value_member_of(Value dict, Str key) {
    Value *v = value_is_dict(dict) ? dict_find_str(value_dict(dict), key) : NULL;
    return v ? *v : VALUE_GONE;
}

Str value_member_text(Value dict, const char *key) {
    Value v = value_member(dict, key);
    return value_is_string(v) ? value_str(v) : STR("");
}

/* ---- growing ---- */

static void link_slot(Dict *d, uint32_t i, uint32_t hash) {
    uint32_t mask = d->slots - 1, at = hash & mask;
    while (d->slot[at]) at = (at + 1) & mask;
    d->slot[at] = (hash & ~mask) | (i + 1);
}

/* Moves the live entries together, so that index and order agree again. */
static void compact(Dict *d) {
    uint32_t to = 0;
    for (uint32_t i = 0; i < d->used; i++)
        if (!value_is_gone(d->entry[i].key)) d->entry[to++] = d->entry[i];
    d->used = to;
    d->first = 0;
}

void dict_relink(Dict *d) {
    memset(d->slot, 0, d->slots * sizeof *d->slot);
    for (uint32_t i = 0; i < d->used; i++) {
        uint32_t hash = 0;
        hash_of(d->entry[i].key, &hash, NULL);          /* cannot fail: the key was hashed on insertion */
        link_slot(d, i, hash);
    }
}

static uint32_t slots_for(size_t cap) {
    uint32_t slots = 16;
    while (slots / 4 * 3 < cap) slots *= 2;             /* at most three quarters full */
    return slots;
}

/* Makes room for `cap` entries and compacts the live ones. */
static bool rebuild(Heap *h, Dict *d, size_t cap, Error *err) {
    if (cap > DICT_MAX) return error_set(err, ERR_LIMIT, "too many entries (limit %zu)", DICT_MAX);
    uint32_t *slot = d->slot, slots = 0;
    if (cap > DICT_LINEAR) {
        slots = slots_for(cap);
        cap = slots / 4 * 3 < DICT_MAX ? slots / 4 * 3 : DICT_MAX;
        if (slots != d->slots && !(slot = heap_buffer(h, slots * sizeof *slot, err))) return false;
    }
    Entry *entry = d->entry;
    if (cap > d->cap && !(entry = heap_buffer_grow(h, entry, d->used * sizeof *entry, cap * sizeof *entry, err)))
        return false;
    if (slot != d->slot) heap_buffer_drop(h, d->slot);
    d->entry = entry;
    d->slot = slot;
    d->slots = slots;
    d->cap = (uint32_t)cap;
    compact(d);
    if (slots) dict_relink(d);
    return true;
}

static bool grow(Heap *h, Dict *d, Error *err) {
    if (d->n < d->used / 4 * 3) return rebuild(h, d, d->cap, err);  /* mostly removed entries: compacting is enough */
    size_t cap = d->cap ? (size_t)d->cap * 2 : DICT_START;
    return rebuild(h, d, cap > DICT_MAX && d->cap < DICT_MAX ? DICT_MAX : cap, err);
}

/* Most dicts are small, and every call creates some. */
static Dict *fresh(Heap *h, ObjectType type, size_t room, Error *err) {
    Dict *d = heap_alloc_quick(h, type, sizeof *d, err);
    if (!d) return NULL;
    *d = (Dict){ .obj = d->obj };
    if (room > DICT_LINEAR) return rebuild(h, d, room, err) ? d : NULL;
    d->cap = (uint32_t)room;
    return !room || (d->entry = heap_buffer(h, room * sizeof *d->entry, err)) ? d : NULL;
}

Dict *dict_new(Heap *h, size_t room, Error *err) { return fresh(h, OBJECT_DICT, room, err); }
Dict *set_new(Heap *h, size_t room, Error *err) { return fresh(h, OBJECT_SET, room, err); }

/* ---- mutation ---- */

bool dict_check_mutable(const Dict *d, const char *verb, Error *err) {
    if (object_frozen(&d->obj)) return error_set(err, ERR_SCRIPT, "cannot %s frozen hash table", verb);
    if (d->busy) return error_set(err, ERR_SCRIPT, "cannot %s hash table during iteration", verb);
    return true;
}

bool dict_insert(Heap *h, Dict *d, Value key, Value v, Value **at, bool *is_new, Error *err) {
    uint32_t hash;
    if (__builtin_expect(object_frozen(&d->obj) || d->busy, 0)) return dict_check_mutable(d, "insert into", err);
    if (!hash_of(key, &hash, err)) return false;
    ptrdiff_t i = d->slots ? find_slots(d, key, hash) : find_linear(d, key);
    *is_new = i < 0;
    if (i < 0) {
        if (d->used == d->cap && !grow(h, d, err)) return false;
        i = d->used++;
        d->entry[i] = (Entry){ key, v };
        d->n++;
        if (d->slots) link_slot(d, (uint32_t)i, hash);
    }
    return *at = &d->entry[i].value, true;
}

bool dict_put(Heap *h, Dict *d, Value key, Value v, Error *err) {
    Value *at;
    bool is_new;
    if (!dict_insert(h, d, key, v, &at, &is_new, err)) return false;
    *at = v;
    return true;
}

bool dict_put_str(Heap *h, Dict *d, Str key, Value v, Error *err) {
    String *s = string_new(h, key, err);
    return s && dict_put(h, d, value_from_object(s), v, err);
}

bool dict_put_text(Heap *h, Dict *d, const char *key, Str text, Error *err) {
    String *s = string_new(h, text, err);
    return s && dict_put_str(h, d, str_from(key), value_from_object(s), err);
}

bool dict_remove(Dict *d, Value key, Value *out, Error *err) {
    Value *found;
    if (!dict_check_mutable(d, "delete from", err) || !dict_get(d, key, &found, err)) return false;
    *out = VALUE_GONE;
    if (!found) return true;
    Entry *e = (Entry *)(void *)((char *)found - offsetof(Entry, value));
    *out = e->value;
    *e = (Entry){ VALUE_GONE, VALUE_NONE };
    d->n--;
    while (d->first < d->used && value_is_gone(d->entry[d->first].key)) d->first++;
    return true;
}

bool dict_clear(Dict *d, Error *err) {
    if (!dict_check_mutable(d, "clear", err)) return false;
    if (d->used < d->slots / 16) {                      /* clearing a large, sparse table costs more than a new one */
        d->entry = NULL;
        d->slot = NULL;
        d->cap = d->slots = 0;
    }
    d->n = d->used = d->first = 0;
    if (d->slots) memset(d->slot, 0, d->slots * sizeof *d->slot);
    return true;
}

bool dict_copy(Heap *h, const Dict *d, Dict **out, Error *err) {
    Dict *to = fresh(h, (ObjectType)d->obj.type, d->n, err);
    if (!to) return false;
    for (uint32_t i = 0; i < d->used; i++)
        if (!value_is_gone(d->entry[i].key)) to->entry[to->used++] = d->entry[i];
    to->n = to->used;
    if (to->slots && to->slots == d->slots && to->used == d->used) memcpy(to->slot, d->slot, d->slots * sizeof *d->slot);
    else if (to->slots) dict_relink(to);
    return *out = to, true;
}
