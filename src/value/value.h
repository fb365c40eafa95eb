/* Value: the one type for all data: JSON text, YAML frontmatter, tool arguments, schemas and
 * Starlark data. Nothing converts between document models.
 *
 * One 64-bit word:
 *
 *   0x0000'0000'0000'0000                        GONE: no value (an empty slot, "absent")
 *   0x0000'0000'0000'0002 / 4 / 5                None / False / True
 *   0x0000'0000'0000'0010 … 0x0000'ffff'ffff'ffff   pointer to a heap Object
 *   0x0002'0000'0000'0000 … 0xfff2'0000'0000'0000   double, its bits + 2^49
 *   0xfffc'0000'0000'0000 … 0xffff'ffff'ffff'ffff   small int, 50 bits two's complement
 *
 * Pointers need no decoding; an int test is one compare, and for two ints one `and` and one
 * compare; doubles need an add. There is one NaN. An int outside 50 bits is an object
 * (value/int.h); int_make() chooses the representation. */
#pragma once
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/error.h"
#include "base/str.h"

typedef struct { uint64_t bits; } Value;
typedef struct Object Object;
typedef struct Heap Heap;
typedef struct Tracer Tracer;

#define VALUE_GONE  ((Value){ 0 })
#define VALUE_NONE  ((Value){ 2 })
#define VALUE_FALSE ((Value){ 4 })
#define VALUE_TRUE  ((Value){ 5 })

#define VALUE_FLOAT_OFFSET ((uint64_t)2 << 48)
#define VALUE_FLOAT_MAX    ((uint64_t)0xfff0 << 48)       /* bits of -inf, the largest canonical double */
#define VALUE_INT_TAG      ((uint64_t)0xfffc << 48)
enum { VALUE_INT_BITS = 50 };
#define VALUE_INT_MAX (((int64_t)1 << (VALUE_INT_BITS - 1)) - 1)
#define VALUE_INT_MIN (-((int64_t)1 << (VALUE_INT_BITS - 1)))

static inline bool value_same(Value a, Value b) { return a.bits == b.bits; }   /* identity, not equality */
static inline bool value_is_gone(Value v) { return v.bits == 0; }
static inline bool value_is_none(Value v) { return v.bits == 2; }
static inline bool value_is_bool(Value v) { return (v.bits | 1) == 5; }
static inline bool value_is_small(Value v) { return v.bits >= VALUE_INT_TAG; }
static inline bool value_both_small(Value a, Value b) { return (a.bits & b.bits) >= VALUE_INT_TAG; }
static inline bool value_is_float(Value v) { return v.bits - VALUE_FLOAT_OFFSET <= VALUE_FLOAT_MAX; }
static inline bool value_is_object(Value v) { return v.bits - 16 < ((uint64_t)1 << 48) - 16; }

static inline Value value_from_bool(bool b) { return (Value){ 4u | (uint64_t)b }; }
static inline bool value_bool(Value v) { assert(value_is_bool(v)); return v.bits & 1; }

static inline bool value_small_fits(int64_t i) { return i >= VALUE_INT_MIN && i <= VALUE_INT_MAX; }
static inline Value value_from_small(int64_t i) { assert(value_small_fits(i)); return (Value){ VALUE_INT_TAG | (uint64_t)i }; }
static inline int64_t value_small(Value v) { assert(value_is_small(v)); return (int64_t)(v.bits << 14) >> 14; }

static inline Value value_from_float(double d) {
    uint64_t bits;
    if (d != d) bits = (uint64_t)0x7ff8 << 48;            /* any NaN becomes the one NaN */
    else memcpy(&bits, &d, 8);
    return (Value){ bits + VALUE_FLOAT_OFFSET };
}
static inline double value_float(Value v) {
    assert(value_is_float(v));
    uint64_t bits = v.bits - VALUE_FLOAT_OFFSET;
    double d;
    memcpy(&d, &bits, 8);
    return d;
}

static inline Value value_from_object(const void *o) { return (Value){ (uint64_t)(uintptr_t)o }; }
static inline Object *value_object(Value v) { assert(value_is_object(v)); return (Object *)(uintptr_t)v.bits; }

/* Starlark's name of the type: "NoneType", "bool", "int", "float", "string", "bytes", "list",
 * "tuple", "dict", "set", "range", or the class's own. */
const char *value_type_name(Value v);
bool value_truth(Value v);                                /* false: None, False, 0, 0.0 and empty values */

/* Maximum nesting depth for equality, ordering and hashing; deeper (or cyclic) values are an error. */
enum { VALUE_DEPTH_MAX = 200 };

/* Maximum work of these, as the sum of value_weight over all parts; more is an error. A shared part counts each
 * time it occurs: a hundred lists that each hold the next one twice expand to 2^100. */
#ifdef HARNESS_HOSTILE
#define VALUE_WORK_MAX ((size_t)1 << 20)
#else
#define VALUE_WORK_MAX ((size_t)1 << 24)
#endif
size_t value_weight(Value v);                             /* of v without its parts: 1, plus 1 per 256 bytes of text or int */

/* Starlark's ==: 1 == 1.0, NaN == NaN, True != 1; lists and tuples by element, dicts and sets regardless
 * of order; functions and other objects by identity unless their class defines equality. */
bool value_equal(Value a, Value b, bool *out, Error *err);

/* Starlark's <: numbers exactly (also int and float; NaN is above everything), strings and bytes by byte, lists
 * and tuples by element, False < True. *out is <0, 0 or >0. Other types fail with "int < string not implemented",
 * with `op` ("<", "<=", ">", ">=") in the text. */
bool value_compare(Value a, Value b, const char *op, int *out, Error *err);

/* The same for values that may be large: calls the meter before each further portion of work; the meter can stop it. */
typedef struct ValueMeter { bool (*work)(void *ctx, size_t units, Error *err); void *ctx; } ValueMeter;
bool value_equal_metered(Value a, Value b, const ValueMeter *m, bool *out, Error *err);
bool value_compare_metered(Value a, Value b, const char *op, const ValueMeter *m, int *out, Error *err);

/* Equal values have equal hashes (1 and 1.0). Keyed per process. Fails with "unhashable type: list". */
bool value_hash(Value v, uint32_t *out, Error *err);

/* Makes v and everything reachable from it immutable. Never fails; no recursion. */
void value_freeze(Value v);

/* Deep copy into `h`, preserving sharing and cycles. References objects of a frozen heap (heap_freeze_all)
 * instead of copying them, so they must outlive `h`. The copy is mutable even where the source was frozen. */
bool value_copy_into(Heap *h, Value v, Value *out, Error *err);
bool value_copy_all_into(Heap *h, Value v, Value *out, Error *err);  /* same, but copies those too */
bool value_copy_json_into(Heap *h, Value v, Value *out, Error *err); /* fast path for an unmodified result of json_read */

/* For several values that share parts, and for the copy function of a class: a Copier keeps a table
 * of copied objects. copier_value returns the copy of `v`; its parts may stay unset until
 * copier_finish runs. */
typedef struct Copier Copier;
typedef enum {
    COPIER_UNSHARED,   /* reference objects of frozen heaps */
    COPIER_ALL,        /* copy everything */
    COPIER_THAW,       /* like ALL, but reference what is deeply immutable (OBJECT_PURE, strings, ints, natives, modules) or has no copy */
} CopierMode;
Copier *copier_new(Heap *to, CopierMode mode);
bool copier_value(Copier *c, Value v, Value *out, Error *err);
bool copier_finish(Copier *c, Error *err);                /* completes all copies requested so far; may be called again later */
void copier_trace(Copier *c, Tracer *t);                  /* a copier that outlives a collection must be a root */
void copier_free(Copier *c);
