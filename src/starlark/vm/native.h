/* Functions and types written in C for use by scripts.
 *
 * A native function is described by a constant NativeDef: name, parameters, C function. The call
 * machinery checks count, names and types before the C function runs, so all argument errors have
 * the same form, and the C function reads its values by index:
 *
 *     static bool join(Vm *vm, const NativeArgs *a, Value *out, Error *err);
 *     static const NativeParam join_params[] = { { "iterable", NATIVE_ITERABLE, 0 } };
 *     static const NativeDef join_def = { "join", join, join_params, 1, 1, NATIVE_POSITIONAL }; */
#pragma once
#include "value/dict.h"
#include "value/heap.h"
#include "value/list.h"

typedef struct Vm Vm;
typedef struct NativeDef NativeDef;
typedef struct { String *name; Value value; } NativeNamed;

/* at[0 … n) are the positional arguments. With declared parameters, n is always their number, and
 * an argument that was not passed is GONE. `self` is the receiver of a method, else GONE. The
 * machine roots all of it for the duration of the call. */
typedef struct NativeArgs {
    const NativeDef *def;
    Value self;
    const Value *at;
    uint32_t n;
    const NativeNamed *named;   /* only for NATIVE_VARIADIC functions that take any keyword */
    uint32_t n_named;
} NativeArgs;

/* On success *out is the result, or None if not written. The caller prefixes errors with "NAME: ",
 * except for functions marked NATIVE_PLAIN_ERRORS. */
typedef bool NativeFn(Vm *vm, const NativeArgs *a, Value *out, Error *err);

/* Types a parameter accepts; 0 is any. Several may be or'ed. */
enum {
    NATIVE_ANY = 0, NATIVE_STRING = 1, NATIVE_INT = 2, NATIVE_FLOAT = 4, NATIVE_BOOL = 8, NATIVE_LIST = 16,
    NATIVE_DICT = 32, NATIVE_SET = 64, NATIVE_BYTES = 128, NATIVE_CALLABLE = 256, NATIVE_ITERABLE = 512, NATIVE_TUPLE = 1024,
    NATIVE_NONE_IS_ABSENT = 4096,                         /* treat None as not passed */
    NATIVE_UNNAMED = 8192,                                /* positional only */
};

typedef struct NativeParam { const char *name; uint32_t types; } NativeParam;

enum {
    NATIVE_POSITIONAL = 1,      /* no keyword arguments: "NAME: unexpected keyword arguments" */
    NATIVE_VARIADIC = 2,        /* any number of arguments (at least `min`) and any keyword: the function checks them itself */
    NATIVE_HOST = 4,            /* has effects outside the script: rejected while a module loads */
    NATIVE_PLAIN_ERRORS = 8,
    NATIVE_NO_KEYWORDS = 16,    /* with POSITIONAL, another message: "NAME does not accept keyword arguments" */
    NATIVE_EXACTLY = 32,        /* with POSITIONAL, another message: "got 0 arguments, want exactly 1" */
};

struct NativeDef {
    const char *name;           /* as in messages: "len", "json.encode" */
    NativeFn *fn;
    const NativeParam *params;  /* n_params of them; the first `min` are required */
    uint16_t n_params, min, flags;
    const char *doc;            /* one line for the reference page, or NULL */
};

/* A native as a value: OBJECT_NATIVE. With a receiver bound to it: OBJECT_BOUND. */
typedef struct Native { Classed c; const NativeDef *def; Value self; void *data; } Native;
Native *native_new(Heap *h, const NativeDef *def, void *data, Error *err);
Native *native_bind(Heap *h, const NativeDef *def, Value self, Error *err);

/* A module value, e.g. `json`: named members. With native_module_set_call it can itself be called. */
typedef struct NativeModule { Classed c; String *name; Dict *members; Value call; } NativeModule;
NativeModule *native_module_new(Heap *h, Str name, Error *err);
bool native_module_add(Heap *h, NativeModule *m, const NativeDef *defs, size_t n, void *data, Error *err);
                                /* member name: the part after the last '.' of def->name */
bool native_module_put(Heap *h, NativeModule *m, Str name, Value v, Error *err);
void native_module_set_call(NativeModule *m, Value fn);
bool native_is_module(Value v);

/* A predeclared name whose value is set per call (vm_set_call_value) instead of compiled in. `fallback` is its value in
 * a call that sets none. Using the name at load time is an error. */
typedef struct NativeSlot { Classed c; String *name; Value fallback; } NativeSlot;
NativeSlot *native_slot_new(Heap *h, Str name, Value fallback, Error *err);
bool native_is_slot(Value v);

/* Operations of a host or library type in scripts. The class of every Classed object visible to
 * scripts starts with this struct. Any function may be NULL. */
typedef struct NativeClass {
    ObjectClass base;
    bool (*attr)(Vm *vm, Value self, String *name, Value *out, Error *err);  /* leaves *out GONE if there is no such attribute */
    bool (*set_attr)(Vm *vm, Value self, String *name, Value v, Error *err); /* self.name = v */
    void (*attr_names)(Value self, void (*each)(void *ctx, Str name), void *ctx);
    void (*repr)(Buf *out, Value self);
    bool (*call)(Vm *vm, Value self, const NativeArgs *a, Value *out, Error *err);
    bool (*items)(Vm *vm, Value self, List **out, Error *err);               /* iterable: returns all items */
    ptrdiff_t (*length)(Value self);
    bool (*index)(Vm *vm, Value self, Value key, Value *out, Error *err);
} NativeClass;

/* Methods of the built-in types, one table per type: string, bytes, list, dict, set. */
const NativeDef *native_method(ObjectType type, Str name);                    /* NULL: none */
const NativeDef *native_method_table(ObjectType type, size_t *n);            /* sorted by name */

/* True if argument i was passed. None counts as absent where the parameter says so. */
static inline bool native_given(const NativeArgs *a, uint32_t i) {
    if (i >= a->n || value_is_gone(a->at[i])) return false;
    return !value_is_none(a->at[i]) || i >= a->def->n_params || !(a->def->params[i].types & NATIVE_NONE_IS_ABSENT);
}
bool native_i64(Value v, int64_t *out, Error *err);       /* "got float, want int", "N out of range (want value in signed 64-bit range)" */
bool native_i32(Value v, int *out, Error *err);           /* "got float, want int", "N out of range" */
/* Argument i of a call, whose type has been checked, as 64 bits. "for parameter 2: N out of range …" */
bool native_arg_i64(const NativeArgs *a, uint32_t i, int64_t *out, Error *err);
/* Start and end of a slice of n items, from arguments i and i + 1 (each may be absent or None), clamped to 0 … n. */
bool native_arg_slice(const NativeArgs *a, uint32_t i, size_t n, size_t *start, size_t *end, Error *err);

/* Binds positional and named arguments to def's parameters in out[0 … n_params), with every check and the messages of
 * starlark-go: "len: got 0 arguments, want 1", "f: unexpected keyword argument \"x\"", "f: for parameter s: got int,
 * want string". */
bool native_bind_args(const NativeDef *def, const Value *at, uint32_t n, const NativeNamed *named, uint32_t n_named,
                      Value *out, Error *err);
/* Checks only the types of arguments that are already in place (the fast path of a positional call). */
bool native_check_types(const NativeDef *def, const Value *at, uint32_t n, Error *err);
