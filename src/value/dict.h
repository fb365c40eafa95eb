/* Dicts and sets: insertion-ordered hash tables. A Set is a Dict whose values are None.
 *
 *   entry:  [k0 v0][k1 v1][GONE][k3 v3] …           in insertion order
 *   slot:   open addressing; each slot is 0 (empty) or entry index + 1 in the low bits
 *           and as many bits of the key's hash as fit above, so that a probe rarely
 *           touches a wrong entry
 *
 * Up to DICT_LINEAR entries there are no slots: a scan is faster and smaller. A removed
 * entry keeps its place with key GONE until the next rebuild, so an iterator is just an
 * index. busy > 0: being iterated; then, as when frozen, changes are refused
 * ("cannot insert into hash table during iteration"). Hashes are keyed per process, so
 * chosen keys do not collide. */
#pragma once
#include "value/heap.h"
#include "value/string.h"

typedef struct { Value key, value; } Entry;
struct Dict {
    Object obj;
    uint32_t n;                  /* live entries */
    uint32_t used;               /* entries taken, removed ones included */
    uint32_t cap;                /* entries there is room for */
    uint32_t slots;              /* a power of two, or 0 */
    uint32_t busy;
    uint32_t first;              /* no live entry stands before this one: taking from the front stays cheap */
    Entry *entry;
    uint32_t *slot;
};
enum { DICT_LINEAR = 8 };
enum { DICT_BLOCK = 1 };          /* obj.aux: a mark that rooms above give (script/content.h); deep copies keep it */
#define DICT_MAX ((size_t)1 << 27)

Dict *dict_new(Heap *h, size_t room, Error *err);
Dict *set_new(Heap *h, size_t room, Error *err);

/* The value's place, or NULL when absent. Only fails (err set, *found = NULL) for an unhashable or too deep key. */
bool dict_get(const Dict *d, Value key, Value **found, Error *err);
Value *dict_find(const Dict *d, String *key);             /* by string; NULL when absent */
Value *dict_find_str(const Dict *d, Str key);             /* by text, without making a String */
/* A member of what may be a dict: GONE, or "", when it is none, has no such key, or (text) that is no string. */
Value value_member_of(Value dict, Str key);
static inline Value value_member(Value dict, const char *key) { return value_member_of(dict, str_from(key)); }
Str value_member_text(Value dict, const char *key);
ptrdiff_t dict_index_str(const Dict *d, Str key);         /* entry index, or -1 */

bool dict_check_mutable(const Dict *d, const char *verb, Error *err);   /* verb as in "insert into" */
bool dict_put(Heap *h, Dict *d, Value key, Value v, Error *err);        /* inserts or replaces; checks mutability */
bool dict_put_str(Heap *h, Dict *d, Str key, Value v, Error *err);
bool dict_put_text(Heap *h, Dict *d, const char *key, Str text, Error *err);   /* a string value */
bool dict_insert(Heap *h, Dict *d, Value key, Value v, Value **at, bool *fresh, Error *err); /* keeps an existing value; *at is its place */
bool dict_remove(Dict *d, Value key, Value *out, Error *err);           /* *out is GONE when the key was absent */
bool dict_clear(Dict *d, Error *err);
bool dict_copy(Heap *h, const Dict *d, Dict **out, Error *err);         /* shallow; same type; compacted */
void dict_relink(Dict *d);                                               /* after keys were replaced by others of other hashes */

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
