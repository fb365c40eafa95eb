#include "base/random.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

void random_fill(void *out, size_t n) {
    char *at = out;
    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            perror("harness: getrandom");
            abort();
        }
        at += got;
        n -= (size_t)got;
    }
}

uint64_t random_u64(void) {
    uint64_t w;
    random_fill(&w, sizeof w);
    return w;
}

/* Multiplies and keeps the high word; redraws the few low words that would bias the result. */
uint64_t random_below(uint64_t bound) {
    uint64_t unfair = -bound % bound;                  /* 2^64 mod bound */
    for (;;) {
        unsigned __int128 wide = (unsigned __int128)random_u64() * bound;
        if ((uint64_t)wide >= unfair)
            return (uint64_t)(wide >> 64);
    }
}
