/* Random bytes from the kernel (getrandom). Aborts if the kernel fails. */
#pragma once
#include <stddef.h>
#include <stdint.h>

void random_fill(void *out, size_t n);
uint64_t random_u64(void);
uint64_t random_below(uint64_t bound);                 /* uniform in [0, bound); bound > 0 */
