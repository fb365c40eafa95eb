/* A script: compiled once, its top level run once, then called any number of times.
 *
 * Observable behaviour is as if the top level ran anew for each call. In fact it runs once;
 * then module_seal() finds out which globals are deeply immutable. Those are shared by all
 * calls. A call that touches another one gets a copy of its own, made at that moment, with
 * the sharing between globals preserved (vm.c). */
#pragma once
#include "base/arena.h"
#include "starlark/code.h"
#include "starlark/resolver.h"
#include "starlark/universe.h"
#include "starlark/vm.h"

typedef struct ModuleOptions {
    const Universe *universe;             /* required; outlives the module */
    Dict *predeclared;                    /* name → Value, for this module beside the universe; may be NULL; outlives it */
    bool allow_while, allow_toplevel;
    bool check_members;                   /* a predeclared module's member that does not exist is an error at once */
    bool expression;                      /* the text is one expression; module_load gives its value */
    const Str *params;                    /* of an expression: it becomes a function of these, for module_call_expression */
    size_t n_params;
    Module *after;                        /* at a prompt: sees and may rebind the globals of this one */
    /* Of many modules in one heap, so that small ones stay small. Both may be NULL: one of its own. */
    Arena *arena;                         /* for code and names; outlives the module, and so does its source then, which is not copied */
    Dict *interned;                       /* in the same heap: what is spelt alike is one string */
} ModuleOptions;

/* Parses, resolves and compiles. Everything is in `heap` (constants, later the globals) and in the
 * module itself. `source->file` and text are copied, unless there is an arena. `all` may be NULL. */
bool module_compile(Heap *heap, const Source *source, const ModuleOptions *options, Module **out, ResolverErrors *all,
                    Error *err);
bool module_check(const Source *source, const ModuleOptions *options, ResolverErrors *all, Error *err); /* parse and resolve only */
void module_free(Module *m);

bool module_load(Vm *vm, Module *m, Value *result, Error *err);   /* runs the top level, in vm's heap = the module's; result may be NULL */
void module_seal(Module *m);                                       /* after heap_freeze_all: ready for calls from any thread */

Value module_global(const Module *m, Str name);                    /* as loaded; GONE when there is none */
uint32_t module_globals(const Module *m, String *const **names, const Value **values);
const Source *module_source(const Module *m);                      /* for excerpts */

/* Each predeclared name that the code can get hold of, maybe more than once: ("fs", "write") for a member, wherever and however it
 * is used, ("env", "") for a name without members, ("fs", "") when the module itself becomes a value and so all of it is reached.
 * Code that the compiler left out does not count. */
void module_each_reached(const Module *m, void (*each)(void *ctx, Str name, Str member), void *ctx);

/* Calls global function `name` of a sealed module, in a fresh scope. */
bool module_call(Vm *vm, Module *m, Str name, const Value *args, uint32_t n, Value *out, Error *err);
/* Evaluates a sealed expression with one value per parameter. */
bool module_call_expression(Vm *vm, Module *m, const Value *args, uint32_t n, Value *out, Error *err);
