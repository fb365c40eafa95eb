/* Operators of sets and dicts, used by the virtual machine (| & - ^ <= < >= >) and by the equivalent
 * methods. Results are new objects, in the order of the left operand followed by what the right one adds
 * (an intersection has the order of the right operand, as in starlark-go). */
#pragma once
#include "starlark/vm/vm.h"

bool setops_union(Vm *vm, const Dict *a, const Dict *b, Dict **out, Error *err);
bool setops_intersection(Vm *vm, const Dict *a, const Dict *b, Dict **out, Error *err);
bool setops_difference(Vm *vm, const Dict *a, const Dict *b, Dict **out, Error *err);
bool setops_symmetric_difference(Vm *vm, const Dict *a, const Dict *b, Dict **out, Error *err);

/* True if every member of a is in b. */
bool setops_subset(Vm *vm, const Dict *a, const Dict *b, bool *out, Error *err);
/* a OP b, where OP is "<=", "<", ">=" or ">". */
bool setops_compare(Vm *vm, const char *op, const Dict *a, const Dict *b, bool *out, Error *err);

/* s op= t, where op is '|', '&', '-' or '^': modifies s, which must be mutable. */
bool setops_update(Vm *vm, char op, Dict *s, const Dict *t, Error *err);

/* a | b for dicts: b's values take precedence. */
bool setops_dict_union(Vm *vm, const Dict *a, const Dict *b, Dict **out, Error *err);
/* d.update(from), d |= from: modifies d. */
bool setops_dict_update(Vm *vm, Dict *d, const Dict *from, Error *err);
