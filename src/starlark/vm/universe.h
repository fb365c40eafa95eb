/* The names that every script has: None, True, False, len, sorted, … and the modules json and math.
 * Built once, in a heap that is then frozen and shared by all threads. */
#pragma once
#include "starlark/vm/native.h"

typedef struct Universe { Heap *heap; Dict *names; Dict *json_math; } Universe;   /* name → Value */
Universe *universe_new(void);
void universe_free(Universe *u);
Value universe_get(const Universe *u, Str name);           /* GONE if undefined; json and math are separate, see below */
Value universe_module(const Universe *u, Str name);        /* "json", "math" */

bool universe_add_modules(Heap *h, Dict *to, Error *err);  /* adds new modules json and math to `to` */

/* Tables of the library, one file each (lib_*.c). */
extern const NativeDef lib_core[];      /* len, range, sorted, … */
extern const size_t lib_core_n;
extern const NativeDef lib_json[], lib_math[];
extern const size_t lib_json_n, lib_math_n;
extern const NativeDef lib_string[], lib_bytes[], lib_list[], lib_dict[], lib_set[];   /* methods, sorted by name */
extern const size_t lib_string_n, lib_bytes_n, lib_list_n, lib_dict_n, lib_set_n;
