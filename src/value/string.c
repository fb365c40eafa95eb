#include "value/string.h"

#include <stdio.h>
#include "base/hash.h"
#include "value/dict.h"

/* Shared storage of strings that grow by concatenation; lives in a heap buffer.
 * Bytes up to `used` are immutable; the rest is room. */
struct StringBuffer { size_t used, cap; char bytes[]; };

#ifdef HARNESS_HOSTILE
enum { SHARE_MIN = 4 };
#else
enum { SHARE_MIN = 256 };        /* shorter results are copied */
#endif

static String *too_long(ObjectType type, size_t n, Error *err) {
    return error_set(err, ERR_LIMIT, "%s too long (%zu bytes)", type == OBJECT_STRING ? "string" : "bytes", n), NULL;
}

static inline String *room(Heap *h, ObjectType type, size_t n, char **at, Error *err) {
    if (__builtin_expect(n > STRING_MAX, 0)) return too_long(type, n, err);
    String *s = heap_alloc_quick(h, type, offsetof(String, shared) + n + 1, err);
    if (!s) return NULL;
    char *bytes = (char *)s + offsetof(String, shared); /* an inline string's bytes start at the offset of `shared` */
    s->hash = 0;
    s->n = (uint32_t)n;
    s->at = bytes;
    bytes[n] = 0;
    *at = bytes;
    return s;
}

String *string_room(Heap *h, size_t n, char **at, Error *err) { return room(h, OBJECT_STRING, n, at, err); }
String *bytes_room(Heap *h, size_t n, char **at, Error *err) { return room(h, OBJECT_BYTES, n, at, err); }

static inline String *copy(Heap *h, ObjectType type, Str s, Error *err) {
    char *at;
    String *fresh = room(h, type, s.n, &at, err);
    if (fresh && s.n) memcpy(at, s.at, s.n);
    return fresh;
}

String *string_new(Heap *h, Str s, Error *err) { return copy(h, OBJECT_STRING, s, err); }
String *bytes_new(Heap *h, Str s, Error *err) { return copy(h, OBJECT_BYTES, s, err); }

String *string_fmt(Heap *h, Error *err, const char *fmt, ...) {
    Buf b = { 0 };
    va_list ap;
    va_start(ap, fmt);
    buf_add_vfmt(&b, fmt, ap);
    va_end(ap);
    String *s = string_new(h, buf_str(&b), err);
    buf_clear(&b);
    return s;
}

static String *view(Heap *h, ObjectType type, StringBuffer *b, const char *at, size_t n, Error *err) {
    String *s = heap_alloc_raw(h, type, sizeof *s, err);
    if (!s) return NULL;
    s->obj.aux = STRING_SHARED;
    s->hash = 0;
    s->n = (uint32_t)n;
    s->at = at;
    s->shared = b;
    return s;
}

/* Creates a string whose bytes are a+b in a buffer with room to grow. */
static String *concat_into_buffer(Heap *h, String *a, String *b, Error *err) {
    size_t n = (size_t)a->n + b->n;
    if (n > STRING_MAX) return too_long((ObjectType)a->obj.type, n, err);
    size_t cap = n + n / 2;
    StringBuffer *shared = heap_buffer(h, sizeof *shared + cap, err);
    if (!shared) return NULL;
    shared->used = n;
    shared->cap = heap_buffer_size(shared) - sizeof *shared;
    memcpy(shared->bytes, a->at, a->n);
    memcpy(shared->bytes + a->n, b->at, b->n);
    return view(h, (ObjectType)a->obj.type, shared, shared->bytes, n, err);
}

bool string_can_append(const String *a, size_t more) {
    if (a->obj.aux != STRING_SHARED || (a->obj.flags & OBJECT_SHARED)) return false;
    const StringBuffer *b = a->shared;
    return a->at + a->n == b->bytes + b->used && b->cap - b->used >= more;
}

String *string_concat(Heap *h, String *a, String *b, Error *err) {
    if (b->n == 0) return a;
    if (a->n == 0 && a->obj.type == b->obj.type) return b;
    size_t n = (size_t)a->n + b->n;
    if (string_can_append(a, b->n) && n <= STRING_MAX) {
        String *s = view(h, (ObjectType)a->obj.type, a->shared, a->at, n, err);
        if (!s) return NULL;
        memcpy(a->shared->bytes + a->shared->used, b->at, b->n);  /* if b is in this buffer, it ends before `used` */
        a->shared->used += b->n;
        return s;
    }
    if (n >= SHARE_MIN) return concat_into_buffer(h, a, b, err);
    char *at;
    String *s = room(h, (ObjectType)a->obj.type, n, &at, err);
    if (!s) return NULL;
    memcpy(at, a->at, a->n);
    memcpy(at + a->n, b->at, b->n);
    return s;
}

String *string_slice(Heap *h, String *s, size_t from, size_t to, Error *err) {
    if (from == 0 && to == s->n) return s;
    return copy(h, (ObjectType)s->obj.type, (Str){ s->at + from, to - from }, err);
}

uint32_t string_hash(String *s) {
    uint32_t hash = __atomic_load_n(&s->hash, __ATOMIC_RELAXED);
    if (hash) return hash;
    hash = hash_bytes(string_str(s));
    __atomic_store_n(&s->hash, hash, __ATOMIC_RELAXED);
    return hash;
}

bool string_same(const String *a, const String *b) {
    return a == b || (a->n == b->n && memcmp(a->at, b->at, a->n) == 0);
}

String *string_intern(Heap *h, Dict *names, Str s, Error *err) {
    ptrdiff_t i = dict_index_str(names, s);
    if (i >= 0) return value_string(names->entry[i].key);
    String *fresh = string_new(h, s, err);
    if (!fresh || !dict_put(h, names, value_from_object(fresh), VALUE_NONE, err)) return NULL;
    string_hash(fresh);
    return fresh;
}
