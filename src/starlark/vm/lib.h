/* Shared by the files of the library: functions listed in a table of another file, and common helpers. */
#pragma once
#include "starlark/vm/native.h"

NativeFn lib_convert_bool, lib_convert_bytes, lib_convert_dict, lib_convert_float, lib_convert_int, lib_convert_list,
    lib_convert_set, lib_convert_str, lib_convert_tuple;
NativeFn lib_sort_max, lib_sort_min, lib_sort_sorted;

/* Common part of dict() and dict.update(): at most one mapping or iterable of pairs, then keywords. */
bool lib_dict_fill(Vm *vm, Dict *d, const NativeArgs *a, Error *err);
/* Adds all items of an iterable. */
bool lib_set_fill(Vm *vm, Dict *set, Value from, Error *err);

/* Calls vm_work every 1024 iterations: for (uint32_t i = 0; …; i++) if (!lib_tick(vm, i, err)) … */
bool lib_tick_now(Vm *vm, Error *err);
static inline bool lib_tick(Vm *vm, uint32_t i, Error *err) { return (i & 1023) != 1023 || lib_tick_now(vm, err); }

/* Estimated cost of comparing v with another value, in units of work. */
static inline size_t lib_compare_cost(Value v) {
    if (value_is_list(v) || value_is_tuple(v) || value_is_dict(v)) return 256;   /* beyond that it meters itself */
    return 1 + value_weight(v);
}

/* Returns the text in `b` as a string value; empties b, also on failure. */
bool lib_take_text(Vm *vm, Buf *b, Value *out, Error *err);
