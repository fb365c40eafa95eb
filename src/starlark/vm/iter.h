/* Iteration over any iterable, for native functions. A list, dict or set rejects changes until
 * iter_end().
 *     Iter it;
 *     if (!iter_begin(vm, &it, v, err)) return false;
 *     while (iter_next(&it, &item)) …
 *     return iter_end(&it); */
#pragma once
#include "starlark/vm/native.h"

/* `holder` keeps alive the items that a host type returned as a list: pin it across calls into a script. */
typedef struct Iter { Vm *vm; Object *of; uint32_t at; int64_t i; Value holder; Error *err; bool failed; } Iter;

bool iter_begin(Vm *vm, Iter *it, Value v, Error *err);   /* fails with "got int, want iterable" */
bool iter_next(Iter *it, Value *out);                     /* false at the end */
bool iter_end(Iter *it);                                  /* false: the iteration failed; iter_begin's err has the reason */
bool iter_is_iterable(Value v);                           /* strings are not iterable */
ptrdiff_t iter_length(Value v);                           /* len(v), or -1 if v has no length */
bool iter_to_list(Vm *vm, Value v, List **out, Error *err); /* a new list of all items */
