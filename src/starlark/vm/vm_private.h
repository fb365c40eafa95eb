/* Private header of the virtual machine: included by vm*.c and module.c only. */
#pragma once
#include "base/vec.h"
#include "starlark/vm/function.h"
#include "starlark/module.h"

/* An active call of a script function. Registers never move: when a stack segment is full, the next
 * frame starts a new one. */
typedef struct Frame {
    Function *fn;
    const Code *code;
    const Insn *pc;                      /* next instruction; saved before any code that may read it */
    Value *base;
    Value *globals;
    Value *ret;                          /* where to store the result */
} Frame;

typedef struct Segment { struct Segment *prev; Value *end; Value at[]; } Segment;

/* A module and this machine's own copies of its globals. */
typedef struct VmInstance { Module *module; Value *globals; Copier *copier; } VmInstance;

struct Vm {
    Heap *heap;
    int64_t fuel;                        /* work until the next check of limits and deadline … */
    int64_t granted;                     /* … and the amount granted by the last one */
    VEC(Frame) frames;
    Segment *segment;
    VmConfig config;
    uint64_t steps_left;
    uint32_t runs;                       /* nested C calls of vm_run */
    VEC(VmInstance) instances;
    size_t printed;
    VEC(VmPlace) trace;                  /* of the last failure, innermost first */
    bool loading;
    Value call_value;                    /* value of every NativeSlot; GONE: use the slot's fallback */
};

#ifdef HARNESS_HOSTILE
enum { SEGMENT_START = 8, FUEL_BATCH = 7 };
#else
enum { SEGMENT_START = 1000, FUEL_BATCH = 2000 };
#endif
enum { RUNS_MAX = 100 };                 /* limits use of the C stack */

/* vm.c */
bool vm_refuel(Vm *vm, Error *err);      /* out of fuel: checks limits, deadline and cancellation, then adds fuel */
Value *vm_globals(Vm *vm, Module *m);    /* the array that functions of m use */
bool vm_touch_global(Vm *vm, const Frame *f, uint32_t i, Value *out, Error *err); /* first use of a copied global, or unassigned */
bool vm_call_value(Vm *vm, Value slot, Value *out, Error *err);   /* current value of a NativeSlot */
Value *vm_top(const Vm *vm);             /* first register above the current frame */

static inline bool vm_safepoint(Vm *vm, Error *err) {
    heap_safepoint(vm->heap);
    return __builtin_expect(--vm->fuel >= 0, 1) || vm_refuel(vm, err);
}

/* vm_call.c */
bool vm_push(Vm *vm, Function *fn, Value *base, Value *ret, Error *err);      /* parameters are already in base[…] */
bool vm_push_bound(Vm *vm, Function *fn, const Value *at, uint32_t n, const NativeNamed *named, uint32_t n_named, Value *ret,
                   Error *err);                                               /* binds the arguments first */
void vm_pop(Vm *vm);
bool vm_room(Vm *vm, Value **base, uint32_t keep, uint32_t n_regs);           /* ensures room for registers at *base, or moves it */
bool vm_call_native(Vm *vm, const NativeDef *def, Value self, const Value *at, uint32_t n, Value *out, Error *err);
bool vm_failed_native(Vm *vm, const char *name);                              /* adds it to the traceback; returns false */
bool vm_call_other(Vm *vm, Value callee, const Value *at, uint32_t n, const NativeNamed *named, uint32_t n_named, Value *out,
                   Error *err);                                               /* fn is not a Function */

/* vm_shape.c: for a script function these only push a frame; anything else is called immediately */
bool vm_call_shape(Vm *vm, Value *at, const CodeShape *shape, Value *ret, Error *err);  /* at: the callee, then the arguments */
bool vm_call_method(Vm *vm, Value *at, String *name, uint32_t n, Value *ret, Error *err); /* at: the receiver, then the arguments */
bool vm_has_method(Vm *vm, Value x, String *name, Error *err);

/* vm_run.c */
bool vm_run(Vm *vm, size_t until, Error *err);                                /* runs until this many frames are left */

/* Module, opaque in module.h */
struct Module {
    Heap *heap;
    Arena *arena, own;                   /* code and names, and possibly text: see ModuleOptions */
    Source source;
    const Universe *universe;
    const Dict *predeclared;             /* may be NULL */
    Code *code;
    String **names;
    Value *globals;
    uint32_t n_globals;
    Value result;                        /* value of an expression */
    bool sealed;                         /* loaded, frozen, ready to be called */
    bool pure;                           /* sealed, and no global needs a copy */
    bool rooted;                         /* registered as a root of the heap */
    Dict *interned;
};
