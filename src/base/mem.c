#include "base/mem.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void mem_exhausted(size_t n) {
    fprintf(stderr, "harness: out of memory (%zu bytes requested)\n", n);
    abort();
}

/* No object is larger than PTRDIFF_MAX; such a size comes from an overflow. */
static size_t mem_product(size_t count, size_t size) {
    size_t n;
    if (__builtin_mul_overflow(count, size, &n) || n > PTRDIFF_MAX)
        mem_exhausted(SIZE_MAX);
    return n;
}

void *mem_alloc(size_t n) {
    n = mem_product(n, 1);
    void *p = malloc(n ? n : 1);                       /* malloc(0) may be NULL, which is not a failure */
    if (p == NULL)
        mem_exhausted(n);
#ifdef HARNESS_HOSTILE
    memset(p, 0xA5, n);                                /* poison: callers must not rely on fresh pages being zero */
#endif
    return p;
}

void *mem_zero(size_t count, size_t size) {
    size_t n = mem_product(count, size);
    void *p = calloc(n ? n : 1, 1);
    if (p == NULL)
        mem_exhausted(n);
    return p;
}

void *mem_resize(void *p, size_t count, size_t size) {
    size_t n = mem_product(count, size);
    void *moved = realloc(p, n ? n : 1);               /* realloc(p, 0) would free p */
    if (moved == NULL)
        mem_exhausted(n);
    return moved;
}

char *mem_dup(const char *s, size_t n) {
    if (n == SIZE_MAX)
        mem_exhausted(n);
    char *copy = mem_alloc(n + 1);
    if (n > 0)                                         /* s may be NULL if n is 0 */
        memcpy(copy, s, n);
    copy[n] = 0;
    return copy;
}
