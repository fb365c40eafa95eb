/* Heap memory. Exhaustion prints one line and aborts: callers could not recover, and a half-handled failure is worse
 * than a clean exit. */
#pragma once
#include <stddef.h>

void *mem_alloc(size_t n);                        /* never NULL; uninitialised; n == 0 is fine */
void *mem_zero(size_t count, size_t size);        /* zeroed; count * size is checked for overflow */
void *mem_resize(void *p, size_t count, size_t size); /* realloc with the same check */
char *mem_dup(const char *s, size_t n);           /* copies n bytes and adds a NUL */

/* For a large local on the hot path. Release builds zero all locals; one that is written before it is read does not
 * need it. */
#define MEM_UNSET __attribute__((uninitialized))
