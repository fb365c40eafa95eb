/* String formatting: `format % args` and format.format(…). */
#pragma once
#include "starlark/vm/native.h"

/* %s %r %d %i %o %x %X %e %E %f %F %g %G %c %%, and %(key)s with a dict. No widths, flags or precisions, as in the
 * specification. */
bool format_percent(Vm *vm, String *format, Value args, Value *out, Error *err);

/* str.format: {} {0} {name}, !s and !r, {{ and }}. Called as a method of a->self; takes any positional and named
 * arguments. */
bool format_method(Vm *vm, const NativeArgs *a, Value *out, Error *err);
