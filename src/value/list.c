#include "value/list.h"

#ifdef HARNESS_HOSTILE
enum { LIST_START = 1 };
#else
enum { LIST_START = 4 };
#endif

List *list_new(Heap *h, size_t cap, Error *err) {
    List *l = heap_alloc(h, OBJECT_LIST, sizeof *l, err);
    if (!l || (cap && !list_reserve(h, l, cap, err))) return NULL;
    return l;
}

List *list_from(Heap *h, const Value *v, size_t n, Error *err) {
    List *l = list_new(h, n, err);
    if (!l) return NULL;
    if (n) memcpy(l->at, v, n * sizeof *v);
    l->n = (uint32_t)n;
    return l;
}

bool list_check_mutable(const List *l, const char *verb, Error *err) {
    if (object_frozen(&l->obj)) return error_set(err, ERR_SCRIPT, "cannot %s frozen list", verb);
    if (l->busy) return error_set(err, ERR_SCRIPT, "cannot %s list during iteration", verb);
    return true;
}

bool list_reserve(Heap *h, List *l, size_t more, Error *err) {
    if (more > LIST_MAX - l->n) return error_set(err, ERR_LIMIT, "too many items in a list (limit %zu)", LIST_MAX);
    size_t need = l->n + more;
    if (need <= l->cap) return true;
    size_t cap = l->cap ? l->cap + (size_t)l->cap / 2 : LIST_START;  /* grow by half, which bounds the unused part */
    if (cap < need) cap = need;
    Value *at = heap_buffer_grow(h, l->at, l->n * sizeof *at, cap * sizeof *at, err);
    if (!at) return false;
    l->at = at;
    l->cap = (uint32_t)(heap_buffer_size(at) / sizeof *at);
    return true;
}

bool list_push(Heap *h, List *l, Value v, Error *err) {
    if (__builtin_expect(object_frozen(&l->obj) || l->busy, 0)) return list_check_mutable(l, "append to", err);
    if (l->n == l->cap && !list_reserve(h, l, 1, err)) return false;
    l->at[l->n++] = v;
    return true;
}

bool list_insert(Heap *h, List *l, size_t i, Value v, Error *err) {
    if (!list_check_mutable(l, "insert into", err) || !list_reserve(h, l, 1, err)) return false;
    memmove(l->at + i + 1, l->at + i, (l->n - i) * sizeof v);
    l->at[i] = v;
    l->n++;
    return true;
}

bool list_remove_at(List *l, size_t i, Value *out, Error *err) {
    if (!list_check_mutable(l, "pop from", err)) return false;
    Value v = l->at[i];
    memmove(l->at + i, l->at + i + 1, (l->n - i - 1) * sizeof v);
    l->n--;
    if (out) *out = v;
    return true;
}

bool list_clear(List *l, Error *err) {
    if (!list_check_mutable(l, "clear", err)) return false;
    l->n = 0;
    return true;
}

Tuple *tuple_room(Heap *h, size_t n, Error *err) {
    if (n > LIST_MAX) { error_set(err, ERR_LIMIT, "too many items in a tuple (limit %zu)", LIST_MAX); return NULL; }
    Tuple *t = heap_alloc_raw(h, OBJECT_TUPLE, sizeof *t + n * sizeof t->at[0], err);
    if (!t) return NULL;
    t->n = (uint32_t)n;
    t->pad = 0;
    return t;
}

Tuple *tuple_new(Heap *h, size_t n, Error *err) {
    Tuple *t = tuple_room(h, n, err);
    for (size_t i = 0; t && i < n; i++) t->at[i] = VALUE_NONE;
    return t;
}

Tuple *tuple_from(Heap *h, const Value *v, size_t n, Error *err) {
    Tuple *t = tuple_room(h, n, err);
    if (t && n) memcpy(t->at, v, n * sizeof *v);
    return t;
}
