/* A growing array of any type: VEC(int) numbers = {0}; VEC_PUSH(&numbers, 3).
 * `at` is malloc'd; elements may move when it grows. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include "base/error.h"

#define VEC(T) struct { T *at; size_t n, cap; }

#define VEC_PUSH(v, ...) ((void)((v)->n == (v)->cap ? vec_grow((void **)&(v)->at, &(v)->cap, sizeof *(v)->at) : 0), \
                          (void)((v)->at[(v)->n++] = (__VA_ARGS__)))
#define VEC_POP(v) ((v)->at[--(v)->n])
#define VEC_LAST(v) ((v)->at[(v)->n - 1])
#define VEC_CLEAR(v) (free((v)->at), (v)->at = NULL, (v)->n = (v)->cap = 0)

/* For input from outside: false with "too many NOUN (limit N)" when the vector is at its limit.
 *     if (!vec_limit(tools.n, 10000, "tools", err)) return false;
 *     VEC_PUSH(&tools, t);                                                     */
bool vec_limit(size_t n, size_t limit, const char *noun, Error *err);

int vec_grow(void **at, size_t *cap, size_t size);     /* doubles; used by VEC_PUSH */
