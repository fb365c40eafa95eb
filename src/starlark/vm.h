/* The virtual machine: runs compiled functions for one thread, within limits.
 *
 * A Vm is cheap to make and to reuse (vm_reset). Its heap holds everything a call
 * makes; values of frozen module heaps are referenced, not copied. */
#pragma once
#include "base/cancel.h"
#include "starlark/native.h"

typedef struct Module Module;

typedef struct VmConfig {              /* the zero value means the defaults of docs/internals/starlark.md */
    uint64_t max_steps;                /* loop rounds and calls; 0: no limit */
    uint32_t max_depth;                /* of calls; 0: 200 */
    size_t max_output;                 /* bytes of print; 0: 1 MiB */
    bool allow_recursion;
    Cancel *cancel;                    /* flag and deadline; may be NULL */
    void (*print)(void *ctx, Str line);/* where print() goes; NULL: nowhere */
    void *print_ctx;
    void *host;                        /* for native functions: vm_host() */
    void *keep;                        /* the same, but for what outlives the call: vm_keep() */
} VmConfig;

Vm *vm_new(Heap *heap, const VmConfig *config);           /* the heap is borrowed */
void vm_reset(Vm *vm, const VmConfig *config);            /* as new, for another call; NULL: same settings; after heap_reset */
void vm_free(Vm *vm);                                     /* before the heap */

Heap *vm_heap(Vm *vm);
void *vm_host(Vm *vm);
void *vm_keep(Vm *vm);
Cancel *vm_cancel(Vm *vm);
void vm_set_cancel(Vm *vm, Cancel *cancel);               /* between two calls: the next ones end with this token */

/* What predeclared slots (NativeSlot) stand for until the next vm_reset: a frozen value, in the Vm's heap or a frozen one. */
void vm_set_call_value(Vm *vm, Value v);

/* Calls any callable. `args` and the result live in the Vm's heap (or a frozen one). A native that calls
 * back into scripts must pin (heap_pin) what it still needs of its own values: the call may collect. */
bool vm_call(Vm *vm, Value fn, const Value *args, uint32_t n, Value *out, Error *err);
bool vm_call_named(Vm *vm, Value fn, const Value *args, uint32_t n, const NativeNamed *named, uint32_t n_named, Value *out,
                   Error *err);

/* Long native work reports itself, about one unit per 10 ns, so that deadlines, cancellation and
 * the step limit hold inside it too. Call it in loops over data: vm_work(vm, 16, err). */
bool vm_work(Vm *vm, size_t units, Error *err);
bool vm_print(Vm *vm, Str line, Error *err);
bool vm_count_output(Vm *vm, size_t n, Error *err);       /* a line of n bytes goes out elsewhere: it counts as if printed */
/* value_equal and value_compare that can be interrupted. */
bool vm_equal(Vm *vm, Value a, Value b, bool *out, Error *err);
bool vm_compare(Vm *vm, Value a, Value b, const char *op, int *out, Error *err);

/* Operators, for natives that need them. Words of errors as in scripts. */
bool vm_attr(Vm *vm, Value x, String *name, Value *out, Error *err);          /* x.name */
bool vm_contains(Vm *vm, Value x, Value container, bool *out, Error *err);    /* x in container */
bool vm_is_callable(Value v);

/* Where the last failed call was, innermost first. */
typedef struct { Str name, file; uint32_t line, column; } VmPlace;  /* file is "<builtin>" and line 0 for a native */
size_t vm_traceback(const Vm *vm, const VmPlace **out);
/* "Traceback (most recent call last):\n  FILE:LINE:COL: in NAME\n…Error: MESSAGE\n". A native that failed itself has no
 * line of its own: the message starts with its name. */
void vm_format_failure(const Vm *vm, const Error *err, Buf *out);
