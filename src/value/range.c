#include "value/range.h"

/* Number of steps from start to stop, without overflow at either end. */
static uint64_t length(int64_t start, int64_t stop, int64_t step) {
    if (step > 0 ? start >= stop : start <= stop) return 0;
    uint64_t span = step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    return (span - 1) / stride + 1;
}

bool range_new(Heap *h, int64_t start, int64_t stop, int64_t step, Value *out, Error *err) {
    Range *r = heap_alloc_raw(h, OBJECT_RANGE, sizeof *r, err);
    if (!r) return false;
    r->start = start;
    r->stop = stop;
    r->step = step;
    uint64_t n = length(start, stop, step);
    r->n = n > INT64_MAX ? INT64_MAX : (int64_t)n;
    return *out = value_from_object(r), true;
}

bool range_equal(const Range *a, const Range *b) {
    if (length(a->start, a->stop, a->step) != length(b->start, b->stop, b->step)) return false;
    if (a->n == 0) return true;
    return a->start == b->start && (a->n == 1 || a->step == b->step);
}
