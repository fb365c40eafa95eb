/* Shared by the host modules (mod_*.c). Each has its table of functions at the top of its file; modules.c combines them
 * according to host_names.def. */
#pragma once
#include "script/host.h"
#include "starlark/vm/vm.h"

/* tables.def: one table per module, or per file of functions without a module. */
#define TABLE(name, heading, about) extern const NativeDef script_##name[]; extern const size_t script_##name##_n;
#include "script/tables.def"
#undef TABLE

/* The flags of most functions: arguments by position or by name. */
enum { SCRIPT_FN = NATIVE_HOST, SCRIPT_OPEN = NATIVE_HOST | NATIVE_VARIADIC };
#define SCRIPT_PARAMS(list) list, sizeof(list) / sizeof *(list)
#define SCRIPT_NO_PARAMS NULL, 0

static inline Host *script_host(Vm *vm) { return vm_host(vm); }
const HostCalls *script_calls(Vm *vm);                     /* never NULL; its members may be */
/* For functions marked NATIVE_PLAIN_ERRORS: "ask is not available here", and other errors with the name in front. */
bool script_unavailable(Vm *vm, const NativeArgs *a, Error *err);
bool script_outcome(const NativeArgs *a, bool ok, Error *err);      /* returns ok */

/* Accounts for work by elapsed time; `since` is from clock_mono_ns(). */
bool script_charge(Vm *vm, int64_t since, Error *err);

/* ---- arguments ---- */

/* Text or bytes of a string or bytes argument; "" if it was not given. */
Str script_arg(const NativeArgs *a, uint32_t i);
/* Converts seconds to nanoseconds: "for parameter seconds: must be between 0 and N". Leaves *out unchanged if `i` was
 * not given. */
bool script_arg_seconds(const NativeArgs *a, uint32_t i, double max, int64_t *out, Error *err);
bool script_arg_i64(const NativeArgs *a, uint32_t i, int64_t min, int64_t max, int64_t *out, Error *err);   /* same for an int */
double script_number(Value v);                             /* value of an int or a float */
/* Collects the keyword arguments of a SCRIPT_OPEN function in a dict. */
bool script_named(Vm *vm, const NativeArgs *a, Dict **out, Error *err);

/* ---- results ---- */

bool script_text(Vm *vm, Str s, Value *out, Error *err);   /* s must be UTF-8, or come from a script */
bool script_clean(Vm *vm, Str bytes, Value *out, Error *err);      /* replaces invalid UTF-8 with U+FFFD */

/* Builds a dict member by member; after a failure the other calls do nothing:
 *     ScriptDict d = script_dict(vm, err);
 *     script_dict_int(&d, "size", n);
 *     return script_dict_end(&d, out); */
typedef struct ScriptDict { Vm *vm; Dict *dict; Error *err; bool ok; } ScriptDict;
ScriptDict script_dict(Vm *vm, Error *err);
void script_dict_put(ScriptDict *d, const char *key, Value v);
void script_dict_text(ScriptDict *d, const char *key, Str s);
void script_dict_clean(ScriptDict *d, const char *key, Str bytes);
void script_dict_int(ScriptDict *d, const char *key, int64_t i);
void script_dict_bool(ScriptDict *d, const char *key, bool b);
bool script_dict_end(ScriptDict *d, Value *out);
