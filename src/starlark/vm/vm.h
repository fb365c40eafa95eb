/* The virtual machine: runs compiled functions on one thread, within limits.
 *
 * A Vm is cheap to create and to reuse (vm_reset). Its heap holds everything a call allocates;
 * values of frozen module heaps are referenced, not copied. */
#pragma once
#include "base/cancel.h"
#include "starlark/vm/native.h"

typedef struct Module Module;

typedef struct VmConfig {              /* zero means the defaults in docs/internals/starlark.md */
    uint64_t max_steps;                /* loop iterations and calls; 0: no limit */
    uint32_t max_depth;                /* of calls; 0: 200 */
    size_t max_output;                 /* bytes of print; 0: 1 MiB */
    bool allow_recursion;
    Cancel *cancel;                    /* flag and deadline; may be NULL */
    void (*print)(void *ctx, Str line);/* receives print() output; NULL discards it */
    void *print_ctx;
    void *host;                        /* for native functions: vm_host() */
    void *keep;                        /* same, for data that outlives the call: vm_keep() */
} VmConfig;

Vm *vm_new(Heap *heap, const VmConfig *config);           /* borrows the heap */
void vm_reset(Vm *vm, const VmConfig *config);            /* after heap_reset: prepares for another call; NULL keeps the settings */
void vm_free(Vm *vm);                                     /* call before freeing the heap */

Heap *vm_heap(Vm *vm);
void *vm_host(Vm *vm);
void *vm_keep(Vm *vm);
Cancel *vm_cancel(Vm *vm);
void vm_set_cancel(Vm *vm, Cancel *cancel);               /* between two calls: sets the cancel token of the next ones */

/* Sets the value of all predeclared slots (NativeSlot) until the next vm_reset: a frozen value, in the Vm's heap or a
 * frozen one. */
void vm_set_call_value(Vm *vm, Value v);

/* Calls any callable. `args` and the result live in the Vm's heap (or a frozen one). The call may
 * collect, so a native that calls back into scripts must pin (heap_pin) its own values that it still
 * needs. */
bool vm_call(Vm *vm, Value fn, const Value *args, uint32_t n, Value *out, Error *err);
bool vm_call_named(Vm *vm, Value fn, const Value *args, uint32_t n, const NativeNamed *named, uint32_t n_named, Value *out,
                   Error *err);

/* Long native operations report their work, about one unit per 10 ns, so that deadlines,
 * cancellation and the step limit apply inside them too. Call it in loops over data: vm_work(vm,
 * 16, err). */
bool vm_work(Vm *vm, size_t units, Error *err);
bool vm_print(Vm *vm, Str line, Error *err);
bool vm_count_output(Vm *vm, size_t n, Error *err);       /* counts a line of n bytes, printed elsewhere, towards max_output */
/* Interruptible value_equal and value_compare. */
bool vm_equal(Vm *vm, Value a, Value b, bool *out, Error *err);
bool vm_compare(Vm *vm, Value a, Value b, const char *op, int *out, Error *err);

/* Operators, for natives that need them. Error messages are the same as in scripts. */
bool vm_attr(Vm *vm, Value x, String *name, Value *out, Error *err);          /* x.name */
bool vm_contains(Vm *vm, Value x, Value container, bool *out, Error *err);    /* x in container */
bool vm_is_callable(Value v);

/* The stack of the last failed call, innermost first. */
typedef struct { Str name, file; uint32_t line, column; } VmPlace;  /* file is "<builtin>" and line 0 for a native */
size_t vm_traceback(const Vm *vm, const VmPlace **out);
/* "Traceback (most recent call last):\n  FILE:LINE:COL: in NAME\n…Error: MESSAGE\n". A native that failed itself has no
 * line in it: the message starts with its name. */
void vm_format_failure(const Vm *vm, const Error *err, Buf *out);
