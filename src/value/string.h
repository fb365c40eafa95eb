/* Immutable byte strings: OBJECT_STRING is text (UTF-8 by convention; slicing by byte may cut a
 * character), OBJECT_BYTES is data. Both use this struct.
 *
 * `at` points to the bytes after the struct, or into a buffer shared with other strings. Sharing
 * makes `s += t` in a loop linear: the result of a long concatenation owns a buffer with spare
 * room. If `s` ends where the used part of that buffer ends, `t` is appended to the buffer and the
 * new string is a longer view of it. No string reads bytes beyond its own length, so strings stay
 * immutable. */
#pragma once
#include "value/heap.h"

typedef struct StringBuffer StringBuffer;
typedef struct String {
    Object obj;
    uint32_t hash;               /* 0: not computed yet; atomic, because threads share frozen strings */
    uint32_t n;
    const char *at;
    StringBuffer *shared;        /* present (and traced) only if obj.aux == STRING_SHARED */
} String;
enum { STRING_INLINE = 0, STRING_SHARED = 1 };
#define STRING_MAX ((size_t)0x7fffffff)

String *string_new(Heap *h, Str s, Error *err);           /* copies */
String *string_fmt(Heap *h, Error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
String *string_room(Heap *h, size_t n, char **at, Error *err); /* n bytes that the caller must fill before use */
String *bytes_new(Heap *h, Str s, Error *err);
String *bytes_room(Heap *h, size_t n, char **at, Error *err);
String *string_concat(Heap *h, String *a, String *b, Error *err); /* type of a; amortized O(b) at the end of a shared buffer */
bool string_can_append(const String *a, size_t n);        /* true if string_concat would copy only the n bytes of b */
String *string_slice(Heap *h, String *s, size_t from, size_t to, Error *err); /* from <= to <= n; same type as s */
uint32_t string_hash(String *s);                          /* cached; never 0 */
bool string_same(const String *a, const String *b);       /* equal bytes */

static inline bool value_is_string(Value v) { return value_is(v, OBJECT_STRING); }
static inline bool value_is_bytes(Value v) { return value_is(v, OBJECT_BYTES); }
static inline String *value_string(Value v) { assert(value_is_string(v) || value_is_bytes(v)); return (String *)value_object(v); }
static inline Str string_str(const String *s) { return (Str){ s->at, s->n }; }
static inline Str value_str(Value v) { return string_str(value_string(v)); }

/* Interning: one String per distinct text in a table, so that equal names are the same pointer. The
 * table references its strings; its owner must be a root, or the heap must never collect. */
typedef struct Dict Dict;
String *string_intern(Heap *h, Dict *names, Str s, Error *err);
