/* Memory for things that live and die together (a parse, a call, a turn): allocation is a
 * pointer bump, freeing is one call. Blocks double from 4 KiB up to 256 KiB; a request
 * larger than a block gets one of its own. Not thread-safe. */
#pragma once
#include <stddef.h>
#include "base/str.h"

typedef struct ArenaBlock ArenaBlock;
typedef struct { ArenaBlock *block; char *at, *end; size_t total; } Arena;   /* zero-initialise; total: bytes in all blocks */

void *arena_alloc(Arena *a, size_t n);                 /* 16-byte aligned, uninitialised, never NULL */
void *arena_zero(Arena *a, size_t count, size_t size); /* zeroed; overflow-checked */
Str arena_str(Arena *a, Str s);                        /* a copy, with a NUL behind it */
char *arena_fmt(Arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void arena_reset(Arena *a);                            /* drops everything, keeps the first block */
void arena_clear(Arena *a);                            /* drops everything, frees all */

#define ARENA_NEW(a, T) ((T *)arena_zero((a), 1, sizeof(T)))
#define ARENA_ARRAY(a, T, n) ((T *)arena_zero((a), (n), sizeof(T)))
