/* Dicts and sets: insertion-ordered hash tables. A Set is a Dict whose values are None.
 *
 *   entry:  [k0 v0][k1 v1][GONE][k3 v3] …           in insertion order
 *   slot:   open addressing; each slot is 0 (empty) or entry index + 1 in the low bits
 *           and as many bits of the key's hash as fit above, so that a probe rarely
 *           touches a wrong entry
 *
 * Up to DICT_LINEAR entries there are no slots: a scan is faster and smaller. A removed entry stays
 * in place with key GONE until the next rebuild, so an iterator is just an index. While busy > 0
 * (being iterated) or frozen, the dict rejects changes ("cannot insert into hash table during
 * iteration"). Hashes are keyed per process, so an attacker cannot choose colliding keys. */
#pragma once
#include "value/heap.h"
#include "value/string.h"

typedef struct { Value key, value; } Entry;
struct Dict {
    Object obj;
    uint32_t n;                  /* live entries */
    uint32_t used;               /* entries in use, including removed ones */
    uint32_t cap;                /* capacity in entries */
    uint32_t slots;              /* a power of two, or 0 */
    uint32_t busy;
    uint32_t first;              /* no live entry comes before this one: keeps removal from the front cheap */
    Entry *entry;
    uint32_t *slot;
};
enum { DICT_LINEAR = 8 };
enum { DICT_BLOCK = 1 };          /* obj.aux: a mark set by rooms above (script/content.h); deep copies keep it */
#define DICT_MAX ((size_t)1 << 27)

Dict *dict_new(Heap *h, size_t room, Error *err);
Dict *set_new(Heap *h, size_t room, Error *err);

/* *found points to the value, or is NULL if absent. Fails (err set, *found = NULL) only for an unhashable or too
 * deep key. */
bool dict_get(const Dict *d, Value key, Value **found, Error *err);
Value *dict_find(const Dict *d, String *key);             /* by string; NULL if absent */
Value *dict_find_str(const Dict *d, Str key);             /* by text, without allocating a String */
/* Member of a value that may not be a dict. GONE, or "" for text, if it is not a dict or has no such key; ""
 * also if the member is not a string. */
Value value_member_of(Value dict, Str key);
static inline Value value_member(Value dict, const char *key) { return value_member_of(dict, str_from(key)); }
Str value_member_text(Value dict, const char *key);
ptrdiff_t dict_index_str(const Dict *d, Str key);         /* entry index, or -1 */

bool dict_check_mutable(const Dict *d, const char *verb, Error *err);   /* verb as in "insert into" */
bool dict_put(Heap *h, Dict *d, Value key, Value v, Error *err);        /* inserts or replaces; checks mutability */
bool dict_put_str(Heap *h, Dict *d, Str key, Value v, Error *err);
bool dict_put_text(Heap *h, Dict *d, const char *key, Str text, Error *err);   /* a string value */
bool dict_insert(Heap *h, Dict *d, Value key, Value v, Value **at, bool *fresh, Error *err); /* keeps an existing value */
bool dict_remove(Dict *d, Value key, Value *out, Error *err);           /* *out is GONE if the key was absent */
bool dict_clear(Dict *d, Error *err);
bool dict_copy(Heap *h, const Dict *d, Dict **out, Error *err);         /* shallow; same type; compacted */
void dict_relink(Dict *d);                                               /* after keys were replaced by keys with other hashes */

/* Iteration: for (uint32_t i = 0; dict_next(d, &i, &e);) … */
static inline bool dict_next(const Dict *d, uint32_t *i, Entry **e) {
    while (*i < d->used) {
        Entry *at = &d->entry[(*i)++];
        if (!value_is_gone(at->key)) { *e = at; return true; }
    }
    return false;
}

static inline bool value_is_dict(Value v) { return value_is(v, OBJECT_DICT); }
static inline bool value_is_set(Value v) { return value_is(v, OBJECT_SET); }
static inline Dict *value_dict(Value v) { assert(value_is_dict(v)); return (Dict *)value_object(v); }
static inline Dict *value_set(Value v) { assert(value_is_set(v)); return (Dict *)value_object(v); }
