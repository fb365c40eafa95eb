#include "base/arena.h"
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"

#ifdef HARNESS_HOSTILE
enum { BLOCK_FIRST = 32, BLOCK_MAX = 64 };             /* so small that nearly every allocation gets its own block */
#else
enum { BLOCK_FIRST = 4 << 10, BLOCK_MAX = 256 << 10 };
#endif

/* Blocks form a list from newest to oldest. The head is being filled; a block for one large request goes second, so the
 * head's free space is not lost. */
struct ArenaBlock {
    alignas(16) ArenaBlock *older;
    size_t size;                                       /* bytes in data */
    alignas(16) char data[];
};

static ArenaBlock *block_new(Arena *a, size_t size) {
    ArenaBlock *b = mem_alloc(sizeof *b + size);
    b->older = NULL;
    b->size = size;
    a->total += size;
    return b;
}

static void *arena_alloc_large(Arena *a, size_t n) {
    ArenaBlock *b = block_new(a, n);
    if (a->block) {
        b->older = a->block->older;
        a->block->older = b;
    } else {
        a->block = b;
        a->at = a->end = b->data + n;
    }
    return b->data;
}

static void *arena_alloc_slow(Arena *a, size_t n) {
    size_t size = BLOCK_FIRST;
    if (a->block)
        size = a->block->size < BLOCK_MAX / 2 ? a->block->size * 2 : BLOCK_MAX;
    if (n > size)
        return arena_alloc_large(a, n);
    ArenaBlock *b = block_new(a, size);
    b->older = a->block;
    a->block = b;
    a->at = b->data + n;
    a->end = b->data + size;
    return b->data;
}

void *arena_alloc(Arena *a, size_t n) {
    if (n > PTRDIFF_MAX)
        return mem_alloc(SIZE_MAX);                    /* aborts */
    n = (n + 15) & ~(size_t)15;
    if (n > (size_t)(a->end - a->at) || a->at == NULL)
        return arena_alloc_slow(a, n);
    void *p = a->at;
    a->at += n;
    return p;
}

void *arena_zero(Arena *a, size_t count, size_t size) {
    size_t n;
    if (__builtin_mul_overflow(count, size, &n))
        return mem_alloc(SIZE_MAX);                    /* aborts */
    return memset(arena_alloc(a, n), 0, n);
}

Str arena_str(Arena *a, Str s) { return arena_concat(a, s, (Str){ 0 }); }

Str arena_concat(Arena *a, Str x, Str y) {
    char *out = arena_alloc(a, x.n + y.n + 1);
    if (x.n) memcpy(out, x.at, x.n);
    if (y.n) memcpy(out + x.n, y.at, y.n);
    out[x.n + y.n] = 0;
    return (Str){ out, x.n + y.n };
}

char *arena_fmt(Arena *a, const char *fmt, ...) {
    Buf b = { 0 };
    va_list ap;
    va_start(ap, fmt);
    buf_add_vfmt(&b, fmt, ap);
    va_end(ap);
    Str copy = arena_str(a, buf_str(&b));
    buf_clear(&b);
    return (char *)(uintptr_t)copy.at;
}

void arena_reset(Arena *a) {
    ArenaBlock *b = a->block;
    while (b && b->older) {
        ArenaBlock *older = b->older;
        free(b);
        b = older;
    }
    if (b && b->size > BLOCK_MAX) {                    /* made for one large request: do not keep it */
        free(b);
        b = NULL;
    }
    *a = (Arena){ .block = b };
    if (b == NULL)
        return;
    a->at = b->data;
    a->end = b->data + b->size;
    a->total = b->size;
#ifdef HARNESS_HOSTILE
    memset(b->data, 0x5A, b->size);
#endif
}

void arena_clear(Arena *a) {
    for (ArenaBlock *b = a->block, *older; b; b = older) {
        older = b->older;
        free(b);
    }
    *a = (Arena){ 0 };
}
