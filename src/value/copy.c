/* Deep copies between heaps. Uses a queue instead of recursion, so any depth works: each source
 * object gets an empty or byte-for-byte copy at once, and the references of the copy are replaced
 * when the queue reaches it. */
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "value/dict.h"
#include "value/list.h"

#include <stdlib.h>

typedef struct { const Object *from; Object *to; } Pair;

/* `pairs` is the queue. Through `slot` (open addressing on the source address, index + 1) it is
 * also the table of objects that have been copied. */
struct Copier {
    Heap *heap;
    CopierMode mode;
    VEC(Pair) pairs;
    size_t done;                                        /* pairs whose references have been replaced */
    uint32_t *slot;
    size_t slots;
};

Copier *copier_new(Heap *to, CopierMode mode) {
    Copier *c = mem_zero(1, sizeof *c);
    c->heap = to;
    c->mode = mode;
    return c;
}

void copier_free(Copier *c) {
    if (!c) return;
    VEC_CLEAR(&c->pairs);
    free(c->slot);
    free(c);
}

void copier_trace(Copier *c, Tracer *t) {
    for (size_t i = 0; i < c->pairs.n; i++) tracer_value(t, value_from_object(c->pairs.at[i].to));
}

static uint32_t *slot_for(const Copier *c, const Object *from) {
    size_t at = hash_word((uint64_t)(uintptr_t)from) & (c->slots - 1);
    while (c->slot[at] && c->pairs.at[c->slot[at] - 1].from != from) at = (at + 1) & (c->slots - 1);
    return &c->slot[at];
}

static void remember(Copier *c, const Object *from, Object *to) {
    VEC_PUSH(&c->pairs, (Pair){ from, to });
    if (c->pairs.n * 2 <= c->slots) { *slot_for(c, from) = (uint32_t)c->pairs.n; return; }
    free(c->slot);
    c->slots = c->slots ? c->slots * 2 : 32;
    c->slot = mem_zero(c->slots, sizeof *c->slot);
    for (size_t i = 0; i < c->pairs.n; i++) *slot_for(c, c->pairs.at[i].from) = (uint32_t)i + 1;
}

/* ---- empty copies ---- */

static Object *twin_dict(Copier *c, const Dict *from, Error *err) {
    Dict *to;
    if (!dict_copy(c->heap, from, &to, err)) return NULL;
    to->obj.aux = from->obj.aux;
    return &to->obj;
}

static Object *twin_bytes(Copier *c, const Object *from, Error *err) {
    if (from->type >= OBJECT_CLASSED && !((const Classed *)from)->cls->copy) {
        error_set(err, ERR_SCRIPT, "cannot copy a value of type %s", object_type_name(from));
        return NULL;
    }
    size_t size = (size_t)from->units * 8;
    Object *to = heap_alloc_raw(c->heap, (ObjectType)from->type, size, err);
    if (!to) return NULL;
    memcpy(to + 1, from + 1, size - sizeof *to);
    to->aux = from->aux;
    return to;
}

static Object *twin(Copier *c, const Object *from, Error *err) {
    switch ((ObjectType)from->type) {
    case OBJECT_STRING: return (Object *)string_new(c->heap, string_str((const String *)from), err);
    case OBJECT_BYTES: return (Object *)bytes_new(c->heap, string_str((const String *)from), err);
    case OBJECT_LIST: return (Object *)list_from(c->heap, ((const List *)from)->at, ((const List *)from)->n, err);
    case OBJECT_DICT: case OBJECT_SET: return twin_dict(c, (const Dict *)from, err);
    default: return twin_bytes(c, from, err);
    }
}

static bool stays(const Copier *c, const Object *o) {
    if (!(o->flags & OBJECT_SHARED) || c->mode == COPIER_ALL) return false;
    if (c->mode == COPIER_UNSHARED || (o->flags & OBJECT_PURE)) return true;
    switch ((ObjectType)o->type) {
    case OBJECT_STRING: case OBJECT_BYTES: case OBJECT_INT: case OBJECT_RANGE: case OBJECT_NATIVE: case OBJECT_MODULE: return true;
    default: return o->type >= OBJECT_CLASSED && !((const Classed *)o)->cls->copy;
    }
}

bool copier_value(Copier *c, Value v, Value *out, Error *err) {
    if (!value_is_object(v)) return *out = v, true;
    Object *from = value_object(v);
    if (stays(c, from)) return *out = v, true;
    if (c->slots) {
        uint32_t seen = *slot_for(c, from);
        if (seen) return *out = value_from_object(c->pairs.at[seen - 1].to), true;
    }
    Object *to = twin(c, from, err);
    if (!to) return false;
    remember(c, from, to);
    return *out = value_from_object(to), true;
}

/* ---- references ---- */

static bool replace(Copier *c, Value *v, size_t n, Error *err) {
    for (size_t i = 0; i < n; i++)
        if (!copier_value(c, v[i], &v[i], err)) return false;
    return true;
}

/* A copied key has the same hash as its source, except objects that hash by identity. So a dict
 * with keys other than strings and numbers is rebuilt after all parts are in place. */
static bool replace_dict(Copier *c, Dict *d, Error *err) {
    for (uint32_t i = 0; i < d->used; i++)
        if (!copier_value(c, d->entry[i].key, &d->entry[i].key, err) ||
            !copier_value(c, d->entry[i].value, &d->entry[i].value, err))
            return false;
    return true;
}

static bool replace_in(Copier *c, const Object *from, Object *to, Error *err) {
    switch ((ObjectType)to->type) {
    case OBJECT_LIST: return replace(c, ((List *)to)->at, ((List *)to)->n, err);
    case OBJECT_TUPLE: return replace(c, ((Tuple *)to)->at, ((Tuple *)to)->n, err);
    case OBJECT_DICT: case OBJECT_SET: return replace_dict(c, (Dict *)to, err);
    default:
        if (to->type < OBJECT_CLASSED) return true;
        return ((Classed *)to)->cls->copy(c, (const Classed *)from, (Classed *)to, err);
    }
}

static bool identity_key(Value key) {
    return value_is_object(key) && (value_object(key)->type == OBJECT_TUPLE || value_object(key)->type >= OBJECT_CLASSED);
}

static void rehash(Dict *d) {
    uint32_t i = 0;
    Entry *e;
    bool moved = false;
    while (d->slots && !moved && dict_next(d, &i, &e)) moved = identity_key(e->key);
    if (moved) dict_relink(d);
}

bool copier_finish(Copier *c, Error *err) {
    size_t from = c->done;
    for (; c->done < c->pairs.n; c->done++)             /* the queue grows during the loop */
        if (!replace_in(c, c->pairs.at[c->done].from, c->pairs.at[c->done].to, err)) return false;
    for (size_t i = from; i < c->pairs.n; i++) {
        Object *to = c->pairs.at[i].to;
        if (to->type == OBJECT_DICT || to->type == OBJECT_SET) rehash((Dict *)to);
    }
    return true;
}

static bool copy_value(Heap *h, Value v, CopierMode mode, Value *out, Error *err) {
    if (!value_is_object(v)) return *out = v, true;
    Copier *c = copier_new(h, mode);
    Value copy;
    bool ok = copier_value(c, v, &copy, err) && copier_finish(c, err);
    if (ok) *out = copy;
    copier_free(c);
    return ok;
}

bool value_copy_into(Heap *h, Value v, Value *out, Error *err) { return copy_value(h, v, COPIER_UNSHARED, out, err); }
bool value_copy_all_into(Heap *h, Value v, Value *out, Error *err) { return copy_value(h, v, COPIER_ALL, out, err); }

/* ---- values read from JSON ---- */

/* Only keys are shared in such values, and they nest at most JSON_DEPTH_MAX deep, so recursion is bounded and no table
 * of copies is needed. A small dict has no slots: copying its entries is enough. */
static bool copy_json_dict(Heap *h, const Dict *from, Value *out, Error *err) {
    Dict *to = dict_new(h, from->n, err);
    if (!to) return false;
    Entry *e;
    for (uint32_t i = 0; dict_next(from, &i, &e);) {
        Value key, value;
        if (!value_copy_json_into(h, e->key, &key, err) || !value_copy_json_into(h, e->value, &value, err)) return false;
        if (from->n > DICT_LINEAR) {
            if (!dict_put(h, to, key, value, err)) return false;
            continue;
        }
        to->entry[to->used++] = (Entry){ key, value };
        to->n++;
    }
    *out = value_from_object(to);
    return true;
}

static bool copy_json_list(Heap *h, const List *from, Value *out, Error *err) {
    List *to = list_from(h, from->at, from->n, err);
    if (!to) return false;
    for (uint32_t i = 0; i < to->n; i++)
        if (!value_copy_json_into(h, from->at[i], &to->at[i], err)) return false;
    *out = value_from_object(to);
    return true;
}

bool value_copy_json_into(Heap *h, Value v, Value *out, Error *err) {
    if (value_is_string(v)) {
        String *s = string_new(h, value_str(v), err);
        if (s) *out = value_from_object(s);
        return s != NULL;
    }
    if (value_is_dict(v)) return copy_json_dict(h, value_dict(v), out, err);
    if (value_is_list(v)) return copy_json_list(h, value_list(v), out, err);
    return value_is_object(v) ? value_copy_all_into(h, v, out, err) : (*out = v, true);
}
