/* The target of a pointer Value: an 8-byte header, then the fields of the type. */
#pragma once
#include "value/value.h"

/* X(enumerator, Starlark type name). Types from OBJECT_CLASSED on are Classed objects. */
#define OBJECT_TYPES(X) \
    X(OBJECT_FREE, "free") X(OBJECT_BUFFER, "buffer") \
    X(OBJECT_INT, "int") X(OBJECT_STRING, "string") X(OBJECT_BYTES, "bytes") X(OBJECT_LIST, "list") \
    X(OBJECT_TUPLE, "tuple") X(OBJECT_DICT, "dict") X(OBJECT_SET, "set") X(OBJECT_RANGE, "range") \
    X(OBJECT_CLASSED, "object") X(OBJECT_FUNCTION, "function") X(OBJECT_NATIVE, "builtin_function_or_method") \
    X(OBJECT_BOUND, "builtin_function_or_method") X(OBJECT_CELL, "cell") X(OBJECT_MODULE, "module")

typedef enum {
#define X(type, name) type,
    OBJECT_TYPES(X)
#undef X
} ObjectType;

enum {
    OBJECT_MARKED = 1,    /* reached in the current collection */
    OBJECT_FROZEN = 2,    /* immutable */
    OBJECT_SHARED = 4,    /* belongs to a frozen heap: never marked, never freed by another heap, read by many threads */
    OBJECT_LARGE = 8,     /* allocated as a separate block */
    OBJECT_PURE = 16,     /* nothing mutable is reachable from it: never needs a copy */
};

/* `units` is the total size in 8-byte units, so that a chunk can be walked from object to object. */
struct Object { uint8_t type, flags; uint16_t aux; uint32_t units; };

/* A BUFFER is raw memory that one other object owns and traces (a list's items, a dict's tables,
 * the bytes of a growing string). OBJECT_FREE marks unused space between objects. */

/* Types defined by the rooms above: functions, modules, opaque host values. */
typedef struct Tracer Tracer;
typedef struct Copier Copier;
typedef struct Classed Classed;
typedef struct ObjectClass {
    const char *name;                                     /* as shown by type() */
    void (*trace)(Tracer *t, Classed *o);                 /* calls tracer_value / tracer_buffer for every reference; NULL: has none */
    bool (*copy)(Copier *c, const Classed *from, Classed *to, Error *err); /* `to` is a byte copy of `from`: replace
                                                              its references using copier_value; NULL: not copyable */
    bool (*equal)(const Classed *a, const Classed *b);    /* same class; NULL: identity */
    bool (*truth)(const Classed *o);                      /* NULL: always true */
    bool hashable;                                        /* by identity */
} ObjectClass;
struct Classed { Object obj; const ObjectClass *cls; };

static inline bool value_is(Value v, ObjectType type) { return value_is_object(v) && value_object(v)->type == type; }
/* Identity that implies equality. Not for lists, tuples and dicts: comparing one that contains itself is an error. */
static inline bool value_same_leaf(Value a, Value b) {
    if (!value_same(a, b)) return false;
    if (!value_is_object(a)) return true;
    ObjectType type = (ObjectType)value_object(a)->type;
    return type != OBJECT_LIST && type != OBJECT_TUPLE && type != OBJECT_DICT;
}
static inline bool object_frozen(const Object *o) { return o->flags & OBJECT_FROZEN; }
const char *object_type_name(const Object *o);
void object_trace(Tracer *t, Object *o);                  /* calls the tracer for each direct child */
