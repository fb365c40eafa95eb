/* A script: compiled once, its top level run once, then called any number of times.
 *
 * The observable behaviour is as if the top level ran again for each call. In fact it runs once;
 * then module_seal() determines which globals are deeply immutable. All calls share those. A call
 * that uses another global gets a private copy of it on first use, which preserves sharing between
 * globals (vm.c). */
#pragma once
#include "base/arena.h"
#include "starlark/vm/code.h"
#include "starlark/syntax/resolver.h"
#include "starlark/vm/universe.h"
#include "starlark/vm/vm.h"

typedef struct ModuleOptions {
    const Universe *universe;             /* required; outlives the module */
    Dict *predeclared;                    /* name → Value, for this module in addition to the universe; may be NULL; outlives it */
    bool allow_while, allow_toplevel;
    bool check_members;                   /* reject unknown members of predeclared modules at compile time */
    bool expression;                      /* the text is one expression; module_load returns its value */
    const Str *params;                    /* parameters of an expression, for module_call_expression */
    size_t n_params;
    Module *after;                        /* at a prompt: sees and may rebind this module's globals */
    /* Shared by many small modules of one heap to save memory. NULL: the module creates its own. */
    Arena *arena;                         /* for code and names; outlives the module, and so must the source, which is not copied */
    Dict *interned;                       /* in the same heap: interns equal strings */
} ModuleOptions;

/* Parses, resolves and compiles. Constants and later the globals live in `heap`, the rest in the
 * module. Copies `source->file` and text, unless options have an arena. `all` may be NULL. */
bool module_compile(Heap *heap, const Source *source, const ModuleOptions *options, Module **out, ResolverErrors *all,
                    Error *err);
bool module_check(const Source *source, const ModuleOptions *options, ResolverErrors *all, Error *err); /* parse and resolve only */
void module_free(Module *m);

bool module_load(Vm *vm, Module *m, Value *result, Error *err);   /* runs the top level in the module's heap; result may be NULL */
void module_seal(Module *m);                                       /* after heap_freeze_all: makes it callable from any thread */

Value module_global(const Module *m, Str name);                    /* value after loading; GONE if undefined */
uint32_t module_globals(const Module *m, String *const **names, const Value **values);
const Source *module_source(const Module *m);                      /* for excerpts */

/* Reports each predeclared name that the code can use, possibly more than once: ("fs", "write") for a member, however
 * it is used; ("env", "") for a name without members; ("fs", "") when the module itself becomes a value, so that all of
 * it is reachable. Ignores code that the compiler removed. */
void module_each_reached(const Module *m, void (*each)(void *ctx, Str name, Str member), void *ctx);

/* Calls global function `name` of a sealed module with fresh globals. */
bool module_call(Vm *vm, Module *m, Str name, const Value *args, uint32_t n, Value *out, Error *err);
/* Evaluates a sealed expression with one value per parameter. */
bool module_call_expression(Vm *vm, Module *m, const Value *args, uint32_t n, Value *out, Error *err);
