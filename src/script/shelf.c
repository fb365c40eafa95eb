#include "script/shelf.h"

#include <pthread.h>
#include <stdlib.h>
#include "base/mem.h"
#include "value/int.h"
#include "value/json.h"
#include "value/list.h"

#define SHELF_BYTES ((size_t)16 << 20)

/* All values are in `heap`, whose limit is the shelf's; replaced values are garbage-collected. `names`
 * maps name → value and is the heap's only root. */
struct Shelf { pthread_mutex_t lock; Heap *heap; Dict *names; const char *noun; size_t limit; };

static void trace(Tracer *t, void *ctx) { tracer_value(t, value_from_object(((Shelf *)ctx)->names)); }

Shelf *shelf_new(const char *noun, size_t max_bytes) {
    Shelf *s = mem_zero(1, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    s->noun = noun;
    s->limit = max_bytes ? max_bytes : SHELF_BYTES;
    s->heap = heap_new(0);
    s->names = dict_new(s->heap, 0, NULL);               /* before the limit is set: cannot fail */
    heap_add_roots(s->heap, trace, s);
    heap_set_limit(s->heap, s->limit);
    return s;
}

void shelf_free(Shelf *s) {
    if (!s) return;
    heap_free(s->heap);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static bool full(const Shelf *s, Error *err) {
    if (s->limit >> 20) return error_set(err, ERR_LIMIT, "%s is full (%zu MiB)", s->noun, s->limit >> 20);
    return error_set(err, ERR_LIMIT, "%s is full (%zu bytes)", s->noun, s->limit);
}

/* Rejects values without a JSON form, so that every value can be written, stored and restored. The size of the text
 * also limits how far shared parts expand. */
static bool check(const Shelf *s, Value v, Error *err) {
    if (!value_is_object(v) && !value_is_float(v)) return true;
    Buf text = { 0 };
    Error why = { 0 };
    bool ok = json_write(&text, v, &(JsonWrite){ .max_bytes = s->limit }, &why);
    buf_clear(&text);
    if (ok) return true;
    if (why.kind == ERR_LIMIT) return full(s, err);
    return error_set(err, ERR_SCRIPT, "the value has no JSON form: %s", why.msg);
}

/* ---- with the lock held ---- */

static bool put_once(Shelf *s, Str key, Value v, Error *err) {
    Value copy;
    return value_copy_all_into(s->heap, v, &copy, err) && dict_put_str(s->heap, s->names, key, copy, err);
}

static bool put(Shelf *s, Str key, Value v, Error *err) {
    heap_safepoint(s->heap);
    Error why = { 0 };
    if (put_once(s, key, v, &why)) return true;
    if (why.kind != ERR_LIMIT) return err ? (*err = why, false) : false;
    heap_collect(s->heap);                               /* reclaim replaced values */
    if (put_once(s, key, v, NULL)) return true;
    heap_collect(s->heap);
    return full(s, err);
}

static void empty(Shelf *s) {
    heap_reset(s->heap);                                 /* also drops roots and limit */
    heap_set_limit(s->heap, 0);
    s->names = dict_new(s->heap, 0, NULL);
    heap_add_roots(s->heap, trace, s);
    heap_set_limit(s->heap, s->limit);
}

/* ---- single values ---- */

bool shelf_get(Shelf *s, Str key, Heap *heap, Value *out, Error *err) {
    pthread_mutex_lock(&s->lock);
    Value *found = dict_find_str(s->names, key), copy = VALUE_GONE;
    bool ok = !found || value_copy_all_into(heap, *found, &copy, err);
    pthread_mutex_unlock(&s->lock);
    if (ok) *out = copy;
    return ok;
}

bool shelf_set(Shelf *s, Str key, Value v, Error *err) {
    if (!check(s, v, err)) return false;
    pthread_mutex_lock(&s->lock);
    bool ok = put(s, key, v, err);
    pthread_mutex_unlock(&s->lock);
    return ok;
}

bool shelf_has(Shelf *s, Str key) {
    pthread_mutex_lock(&s->lock);
    bool has = dict_find_str(s->names, key) != NULL;
    pthread_mutex_unlock(&s->lock);
    return has;
}

bool shelf_delete(Shelf *s, Str key) {
    pthread_mutex_lock(&s->lock);
    ptrdiff_t i = dict_index_str(s->names, key);
    Value gone;
    bool was = i >= 0 && dict_remove(s->names, s->names->entry[i].key, &gone, NULL);
    pthread_mutex_unlock(&s->lock);
    return was;
}

void shelf_clear(Shelf *s) {
    pthread_mutex_lock(&s->lock);
    empty(s);
    pthread_mutex_unlock(&s->lock);
}

/* ---- numbers ---- */

static bool is_number(Value v) { return value_is_int(v) || value_is_float(v); }
static double as_double(Value v) { return value_is_float(v) ? value_float(v) : int_to_double(v); }

static bool add(Heap *h, Str key, Value a, Value b, Value *out, Error *err) {
    if (!is_number(a)) return error_set(err, ERR_SCRIPT, STR_FMT " is not a number", STR_ARG(key));
    if (value_is_int(a) && value_is_int(b)) return int_add(h, a, b, out, err);
    return *out = value_from_float(as_double(a) + as_double(b)), true;
}

bool shelf_add(Shelf *s, Str key, Value delta, Heap *heap, Value *now, Error *err) {
    if (!is_number(delta)) return error_set(err, ERR_SCRIPT, "got %s, want a number", value_type_name(delta));
    pthread_mutex_lock(&s->lock);
    Value *found = dict_find_str(s->names, key), sum;
    bool ok = add(heap, key, found ? *found : value_from_small(0), delta, &sum, err) && check(s, sum, err) && put(s, key, sum, err);
    pthread_mutex_unlock(&s->lock);
    if (ok) *now = sum;                                  /* in the caller's heap: put() has copied it */
    return ok;
}

/* ---- snapshot ---- */

static int by_key(const void *a, const void *b) { return str_cmp(value_str(((const Entry *)a)->key), value_str(((const Entry *)b)->key)); }

bool shelf_snapshot(Shelf *s, Heap *heap, Value *out, Error *err) {
    pthread_mutex_lock(&s->lock);
    Value copy;
    bool ok = value_copy_all_into(heap, value_from_object(s->names), &copy, err);
    pthread_mutex_unlock(&s->lock);
    if (!ok) return false;
    Dict *d = value_dict(copy);                          /* a copy has no removed entries */
    if (d->used > 1) qsort(d->entry, d->used, sizeof *d->entry, by_key);
    if (d->slots) dict_relink(d);
    return *out = copy, true;
}

bool shelf_restore(Shelf *s, Value dict, Error *err) {
    if (!value_is_dict(dict)) return error_set(err, ERR_SCRIPT, "got %s, want dict", value_type_name(dict));
    if (!check(s, dict, err)) return false;
    pthread_mutex_lock(&s->lock);
    empty(s);
    Value copy;
    bool ok = value_copy_all_into(s->heap, dict, &copy, NULL);
    if (ok) s->names = value_dict(copy);
    else empty(s), full(s, err);
    pthread_mutex_unlock(&s->lock);
    return ok;
}
