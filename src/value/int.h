/* Integers of any size. A value of up to 50 bits is in the Value word itself; a larger one is an
 * object with GMP limbs. Results are normalized, so each int has one representation. The int_*
 * functions accept both. An int has at most INT_BITS_MAX bits; more fails with ERR_LIMIT "int too
 * large". */
#pragma once
#include <gmp.h>
#include "value/heap.h"

enum { INT_BITS_MAX = 524288 };

typedef struct BigInt { Object obj; uint32_t n; bool negative; mp_limb_t limb[]; } BigInt;  /* n limbs, top one not 0 */

static inline bool value_is_int(Value v) { return value_is_small(v) || value_is(v, OBJECT_INT); }
static inline BigInt *value_bigint(Value v) { assert(value_is(v, OBJECT_INT)); return (BigInt *)value_object(v); }

bool int_make(Heap *h, int64_t i, Value *out, Error *err);
bool int_from_double(Heap *h, double d, Value *out, Error *err);        /* truncates; d must be finite */
/* Optional sign, then digits of base 2…36 only. Fails if malformed or too large. */
bool int_parse(Heap *h, Str digits, int base, Value *out, Error *err);

bool int_add(Heap *h, Value a, Value b, Value *out, Error *err);
bool int_sub(Heap *h, Value a, Value b, Value *out, Error *err);
bool int_mul(Heap *h, Value a, Value b, Value *out, Error *err);
bool int_floordiv(Heap *h, Value a, Value b, Value *out, Error *err);   /* rounds down; "floored division by zero" */
bool int_mod(Heap *h, Value a, Value b, Value *out, Error *err);        /* sign of b; "integer modulo by zero" */
bool int_shl(Heap *h, Value a, Value b, Value *out, Error *err);
bool int_shr(Heap *h, Value a, Value b, Value *out, Error *err);
bool int_and(Heap *h, Value a, Value b, Value *out, Error *err);
bool int_or(Heap *h, Value a, Value b, Value *out, Error *err);
bool int_xor(Heap *h, Value a, Value b, Value *out, Error *err);
bool int_neg(Heap *h, Value a, Value *out, Error *err);
bool int_not(Heap *h, Value a, Value *out, Error *err);

int int_sign(Value v);                                                  /* -1, 0, 1 */
int int_compare(Value a, Value b);
int int_compare_double(Value a, double d);                              /* exact; NaN is above everything */
bool int_to_i64(Value v, int64_t *out);                                 /* false: does not fit */
double int_to_double(Value v);                                          /* nearest; ±infinity when out of range */
uint32_t int_hash(const BigInt *b);
uint32_t int_hash_double(double d);                                     /* hash of the big int equal to the integral d */
size_t int_bits(Value v);                                               /* of the magnitude */
void int_text(Buf *out, Value v, int base);                             /* appends; lower case digits, '-' in front */
