/* Walking over any iterable, for native functions. A list, dict or set that is being walked
 * refuses changes until iter_end().
 *     Iter it;
 *     if (!iter_begin(vm, &it, v, err)) return false;
 *     while (iter_next(&it, &item)) …
 *     return iter_end(&it);                                                              */
#pragma once
#include "starlark/native.h"

/* `holder` keeps the items that a host type gave all at once: pin it across calls into a script. */
typedef struct Iter { Vm *vm; Object *of; uint32_t at; int64_t i; Value holder; Error *err; bool failed; } Iter;

bool iter_begin(Vm *vm, Iter *it, Value v, Error *err);   /* "got int, want iterable" */
bool iter_next(Iter *it, Value *out);                     /* false at the end */
bool iter_end(Iter *it);                                  /* false: the walk ended early (heap limit), and iter_begin's err says why */
bool iter_is_iterable(Value v);                           /* strings are not */
ptrdiff_t iter_length(Value v);                           /* len(v), or -1 when it has none */
bool iter_to_list(Vm *vm, Value v, List **out, Error *err); /* a fresh list of all items */
