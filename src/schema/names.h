/* A fixed set of strings with the fastest possible answer to "which one is this?".
 *
 * Made for names that are known when a schema is compiled. The hash looks at the length
 * and at no more than 16 bytes; a multiplier is chosen so that no two names share a slot,
 * so a look-up is one multiplication, one load and one comparison. Names that such a hash
 * cannot keep apart go into a table under the process's keyed hash instead, so a look-up
 * stays cheap whatever names a schema has and whatever keys an instance brings. */
#pragma once
#include "base/arena.h"

typedef struct Names {
    const Str *name;                      /* n of them, borrowed */
    uint32_t n, mask, shift;
    uint64_t seed;                        /* 0: by keyed hash, with probing */
    const uint32_t *slot;                 /* index + 1, or 0 */
} Names;

void names_init(Names *t, const Str *name, size_t n, Arena *arena);   /* names must differ */
ptrdiff_t names_find(const Names *t, Str s);                          /* index, or -1 */
