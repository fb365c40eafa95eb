/* Iterable views of strings and bytes: s.elems(), s.elem_ords(), s.codepoints(), s.codepoint_ords(), b.elems().
 * A view only refers to its text; iteration creates the items. */
#pragma once
#include "starlark/vm/native.h"

bool view_elems(Vm *vm, const NativeArgs *a, Value *out, Error *err);          /* of a string or of bytes */
bool view_elem_ords(Vm *vm, const NativeArgs *a, Value *out, Error *err);
bool view_codepoints(Vm *vm, const NativeArgs *a, Value *out, Error *err);
bool view_codepoint_ords(Vm *vm, const NativeArgs *a, Value *out, Error *err);

/* If v is a view, returns its text and sets suffix to ".elems()" or similar. Else NULL. */
String *view_of(Value v, Str *suffix);
