/* Operators of sets and dicts, used by the virtual machine (| & - ^ <= < >= >) and by the methods of the
 * same meaning. Results are fresh; their order is that of the left side, then what the right adds
 * (an intersection has the order of the right side, as in starlark-go). */
#pragma once
#include "starlark/vm.h"

bool setops_union(Vm *vm, const Dict *a, const Dict *b, Dict **out, Error *err);
bool setops_intersection(Vm *vm, const Dict *a, const Dict *b, Dict **out, Error *err);
bool setops_difference(Vm *vm, const Dict *a, const Dict *b, Dict **out, Error *err);
bool setops_symmetric_difference(Vm *vm, const Dict *a, const Dict *b, Dict **out, Error *err);

/* Is every member of a in b? */
bool setops_subset(Vm *vm, const Dict *a, const Dict *b, bool *out, Error *err);
/* a OP b, where OP is "<=", "<", ">=" or ">". */
bool setops_compare(Vm *vm, const char *op, const Dict *a, const Dict *b, bool *out, Error *err);

/* s op= t, where op is '|', '&', '-' or '^': changes s, which must be mutable. */
bool setops_update(Vm *vm, char op, Dict *s, const Dict *t, Error *err);

/* a | b for dicts: where both have a key, b's value counts. */
bool setops_dict_union(Vm *vm, const Dict *a, const Dict *b, Dict **out, Error *err);
/* d.update(from), d |= from: changes d. */
bool setops_dict_update(Vm *vm, Dict *d, const Dict *from, Error *err);
