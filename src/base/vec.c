#include "base/vec.h"
#include "base/mem.h"

#ifdef HARNESS_HOSTILE
enum { VEC_START = 1 };
#else
enum { VEC_START = 8 };
#endif

bool vec_limit(size_t n, size_t limit, const char *noun, Error *err) {
    if (n >= limit)
        return error_set(err, ERR_LIMIT, "too many %s (limit %zu)", noun, limit);
    return true;
}

int vec_grow(void **at, size_t *cap, size_t size) {
    size_t grown = *cap ? *cap * 2 : VEC_START;        /* cap * size fits in memory, so cap * 2 cannot overflow */
    *at = mem_resize(*at, grown, size);
    *cap = grown;
    return 0;
}
