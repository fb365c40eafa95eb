#include "value/value.h"

#include <math.h>
#include "base/hash.h"
#include "value/dict.h"
#include "value/int.h"
#include "value/list.h"
#include "value/range.h"

const char *value_type_name(Value v) {
    if (value_is_object(v)) return object_type_name(value_object(v));
    if (value_is_small(v)) return "int";
    if (value_is_float(v)) return "float";
    if (value_is_bool(v)) return "bool";
    return value_is_none(v) ? "NoneType" : "nothing";
}

static bool object_truth(const Object *o) {
    switch ((ObjectType)o->type) {
    case OBJECT_STRING: case OBJECT_BYTES: return ((const String *)o)->n > 0;
    case OBJECT_LIST: return ((const List *)o)->n > 0;
    case OBJECT_TUPLE: return ((const Tuple *)o)->n > 0;
    case OBJECT_DICT: case OBJECT_SET: return ((const Dict *)o)->n > 0;
    case OBJECT_RANGE: return ((const Range *)o)->n > 0;
    case OBJECT_INT: return true;                       /* zero is always a small int */
    default: {
        const Classed *c = (const Classed *)o;
        return o->type < OBJECT_CLASSED || !c->cls->truth || c->cls->truth(c);
    }
    }
}

bool value_truth(Value v) {
    if (value_is_bool(v)) return value_bool(v);
    if (value_is_object(v)) return object_truth(value_object(v));
    if (value_is_small(v)) return value_small(v) != 0;
    if (value_is_float(v)) return value_float(v) != 0;  /* NaN is true */
    return false;
}

size_t value_weight(Value v) {
    if (!value_is_object(v)) return 1;
    const Object *o = value_object(v);
    if (o->type == OBJECT_STRING || o->type == OBJECT_BYTES) return 1 + ((const String *)o)->n / 256;
    return o->type == OBJECT_INT ? 1 + ((const BigInt *)o)->n / 32 : 1;
}

/* ---- hashing ---- */

static bool hash_value(Value v, int depth, size_t *left, uint32_t *out, Error *err);

/* A float that equals an int must hash as that int does. */
static bool hash_float(double d, uint32_t *out) {
    if (d >= (double)VALUE_INT_MIN && d <= (double)VALUE_INT_MAX && d == (double)(int64_t)d)
        return *out = hash_word(value_from_small((int64_t)d).bits), true;
    if (isfinite(d) && d == floor(d)) return *out = int_hash_double(d), true;
    return *out = hash_word(value_from_float(d).bits), true;
}

/* Limits the size of keys below that of other values: a table hashes a key on every lookup, which cannot be
 * interrupted. */
#define HASH_WORK_MAX (VALUE_WORK_MAX < (size_t)1 << 21 ? VALUE_WORK_MAX : (size_t)1 << 21)

static bool hash_tuple(const Tuple *t, int depth, size_t *left, uint32_t *out, Error *err) {
    if (depth >= VALUE_DEPTH_MAX) return error_set(err, ERR_SCRIPT, "value nested too deeply to hash");
    uint64_t mix = t->n;
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t h;
        if (!hash_value(t->at[i], depth + 1, left, &h, err)) return false;
        mix = (uint64_t)hash_word(mix) << 32 | h;        /* chained through the keyed hash: order matters */
    }
    return *out = hash_word(mix), true;
}

static bool hash_object(Object *o, int depth, size_t *left, uint32_t *out, Error *err) {
    switch ((ObjectType)o->type) {
    case OBJECT_STRING: case OBJECT_BYTES:
        return *out = string_hash((String *)o), true;
    case OBJECT_INT:
        return *out = int_hash((const BigInt *)o), true;
    case OBJECT_TUPLE:
        return hash_tuple((Tuple *)o, depth, left, out, err);
    default:
        if (o->type >= OBJECT_CLASSED && ((Classed *)o)->cls->hashable)
            return *out = hash_word((uint64_t)(uintptr_t)o), true;
        return error_set(err, ERR_SCRIPT, o->type < OBJECT_RANGE ? "unhashable type: %s" : "unhashable: %s", object_type_name(o));
    }
}

static bool hash_value(Value v, int depth, size_t *left, uint32_t *out, Error *err) {
    size_t weight = value_weight(v);
    if (*left < weight) return error_set(err, ERR_LIMIT, "value too large to hash");
    *left -= weight;
    if (value_is_float(v)) return hash_float(value_float(v), out);
    if (value_is_object(v)) return hash_object(value_object(v), depth, left, out, err);
    return *out = hash_word(v.bits), true;
}

bool value_hash(Value v, uint32_t *out, Error *err) {
    size_t left = HASH_WORK_MAX;
    return hash_value(v, 0, &left, out, err);
}
