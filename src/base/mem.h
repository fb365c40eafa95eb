/* Memory that outlives an arena. Exhaustion prints one line and aborts: no caller can do
 * better, and a half-handled failure is worse than a clean end. */
#pragma once
#include <stddef.h>

void *mem_alloc(size_t n);                        /* never NULL; uninitialised; n == 0 is fine */
void *mem_zero(size_t count, size_t size);        /* zeroed; count * size is checked for overflow */
void *mem_resize(void *p, size_t count, size_t size); /* realloc with the same check */
char *mem_dup(const char *s, size_t n);           /* copies n bytes and adds a NUL */

/* For a large local on the way of every call. Release builds clear all locals; one that is written before it is read need not be. */
#define MEM_UNSET __attribute__((uninitialized))
