/* range(start, stop, step) as a value; its length is computed once. */
#pragma once
#include "value/heap.h"

typedef struct Range { Object obj; int64_t start, stop, step, n; } Range;   /* n is INT64_MAX for longer ranges */

bool range_new(Heap *h, int64_t start, int64_t stop, int64_t step, Value *out, Error *err); /* step != 0 */
static inline bool value_is_range(Value v) { return value_is(v, OBJECT_RANGE); }
static inline Range *value_range(Value v) { assert(value_is_range(v)); return (Range *)value_object(v); }
static inline int64_t range_at(const Range *r, int64_t i) {  /* i < n; only i * step may overflow, the item does not */
    return (int64_t)((uint64_t)r->start + (uint64_t)i * (uint64_t)r->step);
}
bool range_equal(const Range *a, const Range *b);          /* as sequences */
