/* Text of values: str(), repr(), %s, %r, print. */
#pragma once
#include "starlark/vm/vm.h"

/* Appends. Cycles print as "[...]" or "{...}". Fails only on limits (length, depth 10,000 → "nested too deeply", deadline). */
bool repr_value(Vm *vm, Buf *out, Value v, Error *err);
bool repr_str(Vm *vm, Buf *out, Value v, Error *err);     /* as str(): a string is itself */
void repr_string(Buf *out, Str s);                        /* quoted like starlark-go */
void repr_bytes(Buf *out, Str s);                         /* b"..." */
void repr_float(Buf *out, double d);                      /* as str(1.5), %s: 1.0, 1e+20, +inf, nan */
bool repr_format_float(Buf *out, char verb, double d);    /* %e %f %g with Starlark's rules */
