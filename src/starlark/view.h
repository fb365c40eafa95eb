/* Iterable views of strings and bytes: s.elems(), s.elem_ords(), s.codepoints(), s.codepoint_ords(), b.elems().
 * A view only refers to its text; the items are made when it is walked. */
#pragma once
#include "starlark/native.h"

bool view_elems(Vm *vm, const NativeArgs *a, Value *out, Error *err);          /* of a string or of bytes */
bool view_elem_ords(Vm *vm, const NativeArgs *a, Value *out, Error *err);
bool view_codepoints(Vm *vm, const NativeArgs *a, Value *out, Error *err);
bool view_codepoint_ords(Vm *vm, const NativeArgs *a, Value *out, Error *err);

/* If v is a view: what it is of, and ".elems()" or the like. Else NULL. */
String *view_of(Value v, Str *suffix);
