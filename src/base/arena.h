/* Memory with one lifetime (a parse, a call, a turn): allocation is a pointer bump, freeing is one call. Block sizes
 * double from 4 KiB up to 256 KiB; a larger request gets its own block. Not thread-safe. */
#pragma once
#include <stddef.h>
#include "base/str.h"

typedef struct ArenaBlock ArenaBlock;
typedef struct { ArenaBlock *block; char *at, *end; size_t total; } Arena;   /* zero-initialise; total: bytes in all blocks */

void *arena_alloc(Arena *a, size_t n);                 /* 16-byte aligned, uninitialised, never NULL */
void *arena_zero(Arena *a, size_t count, size_t size); /* zeroed; overflow-checked */
Str arena_str(Arena *a, Str s);                        /* a NUL-terminated copy */
Str arena_concat(Arena *a, Str x, Str y);              /* both, one after the other, NUL-terminated */
char *arena_fmt(Arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void arena_reset(Arena *a);                            /* frees everything except the first block */
void arena_clear(Arena *a);                            /* frees everything */

#define ARENA_NEW(a, T) ((T *)arena_zero((a), 1, sizeof(T)))
#define ARENA_ARRAY(a, T, n) ((T *)arena_zero((a), (n), sizeof(T)))
