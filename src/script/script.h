/* What the host modules (mod_*.c) share among themselves. Each has its table of functions at the top of its file; modules.c
 * puts them together as host_names.def says. */
#pragma once
#include "script/host.h"
#include "starlark/vm.h"

/* tables.def: one table per module, of functions without a module per file. */
#define TABLE(name, heading, about) extern const NativeDef script_##name[]; extern const size_t script_##name##_n;
#include "script/tables.def"
#undef TABLE

/* The flags of most functions: arguments by position or by name. */
enum { SCRIPT_FN = NATIVE_HOST, SCRIPT_OPEN = NATIVE_HOST | NATIVE_VARIADIC };
#define SCRIPT_PARAMS(list) list, sizeof(list) / sizeof *(list)
#define SCRIPT_NO_PARAMS NULL, 0

static inline Host *script_host(Vm *vm) { return vm_host(vm); }
const HostCalls *script_calls(Vm *vm);                     /* never NULL; its members may be */
/* For functions marked NATIVE_PLAIN_ERRORS: "ask is not available here", and errors of others with the name in front. */
bool script_unavailable(const NativeArgs *a, Error *err);
bool script_outcome(const NativeArgs *a, bool ok, Error *err);      /* returns ok */

/* Accounts for work whose size only the clock can tell; `since` from clock_mono_ns(). */
bool script_charge(Vm *vm, int64_t since, Error *err);

/* ---- arguments ---- */

/* Text or bytes of a string or bytes argument; "" when it was not given. */
Str script_arg(const NativeArgs *a, uint32_t i);
/* A number of seconds as nanoseconds: "for parameter seconds: must be between 0 and N". `i` not given: *out stays. */
bool script_arg_seconds(const NativeArgs *a, uint32_t i, double max, int64_t *out, Error *err);
bool script_arg_i64(const NativeArgs *a, uint32_t i, int64_t min, int64_t max, int64_t *out, Error *err);   /* the same for an int */
double script_number(Value v);                             /* of an int or a float */
/* The keywords of a SCRIPT_OPEN function as a dict. */
bool script_named(Vm *vm, const NativeArgs *a, Dict **out, Error *err);

/* ---- results ---- */

bool script_text(Vm *vm, Str s, Value *out, Error *err);   /* a string; s is known to be UTF-8, or came from a script */
bool script_clean(Vm *vm, Str bytes, Value *out, Error *err);      /* a string; what is not UTF-8 becomes U+FFFD */

/* A dict, member by member; after a failure the rest does nothing:
 *     ScriptDict d = script_dict(vm, err);
 *     script_dict_int(&d, "size", n);
 *     return script_dict_end(&d, out);                      */
typedef struct ScriptDict { Vm *vm; Dict *dict; Error *err; bool ok; } ScriptDict;
ScriptDict script_dict(Vm *vm, Error *err);
void script_dict_put(ScriptDict *d, const char *key, Value v);
void script_dict_text(ScriptDict *d, const char *key, Str s);
void script_dict_clean(ScriptDict *d, const char *key, Str bytes);
void script_dict_int(ScriptDict *d, const char *key, int64_t i);
void script_dict_bool(ScriptDict *d, const char *key, bool b);
bool script_dict_end(ScriptDict *d, Value *out);
