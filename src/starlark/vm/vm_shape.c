/* Calls with more than positional arguments: names, *args, **kwargs, methods. */
#include "base/mem.h"
#include "starlark/vm/iter.h"
#include "starlark/vm/vm_private.h"
#include "starlark/vm/work.h"

/* The collected arguments of one call. Registers root all of it: `at` points to the registers
 * themselves, or into a tuple that replaced *args; values from **kwargs are also in a tuple that
 * replaced it, because a callback may change the dict. */
enum { NAMED_FEW = 8 };
typedef struct { const Value *at; uint32_t n; NativeNamed *named; uint32_t n_named; NativeNamed few[NAMED_FEW]; } Gathered;

static bool gather_star(Vm *vm, Gathered *g, const Value *pos, uint32_t n_pos, Value *star, Error *err) {
    if (!iter_is_iterable(*star))
        return error_set(err, ERR_SCRIPT, "argument after * must be iterable, not %s", value_type_name(*star));
    List *items;
    if (!iter_to_list(vm, *star, &items, err)) return false;
    Tuple *all = tuple_room(vm->heap, (size_t)n_pos + items->n, err);
    if (!all) return false;
    if (n_pos) memcpy(all->at, pos, n_pos * sizeof *pos);
    if (!work_copy_values(&(Work){ .vm = vm }, all->at + n_pos, items->at, items->n, err)) return false;
    *star = value_from_object(all);
    g->at = all->at;
    g->n = all->n;
    return true;
}

static bool gather_starstar(Vm *vm, Gathered *g, Value *starstar, Error *err) {
    Dict *d = value_dict(*starstar);
    Tuple *values = tuple_new(vm->heap, d->n, err);
    Entry *e;
    if (!values) return false;
    for (uint32_t i = 0, n = 0; dict_next(d, &i, &e); n++) {
        if (!value_is_string(e->key)) return error_set(err, ERR_SCRIPT, "keywords must be strings, not %s", value_type_name(e->key));
        values->at[n] = e->value;
        g->named[g->n_named++] = (NativeNamed){ value_string(e->key), e->value };
    }
    *starstar = value_from_object(values);
    return true;
}

static bool gather_named(Vm *vm, Gathered *g, const CodeShape *shape, const Value *values, Value *starstar, Error *err) {
    if (starstar && !value_is_dict(*starstar))
        return error_set(err, ERR_SCRIPT, "argument after ** must be a mapping, not %s", value_type_name(*starstar));
    size_t n = (size_t)shape->n_named + (starstar ? value_dict(*starstar)->n : 0);
    if (n > NAMED_FEW) g->named = mem_alloc(n * sizeof *g->named);
    for (uint32_t i = 0; i < shape->n_named; i++) g->named[g->n_named++] = (NativeNamed){ shape->names[i], values[i] };
    return !starstar || gather_starstar(vm, g, starstar, err);
}

static bool gather(Vm *vm, Gathered *g, const CodeShape *shape, Value *args, Error *err) {
    Value *named = args + shape->n_pos, *star = named + shape->n_named;
    *g = (Gathered){ .at = args, .n = shape->n_pos };
    g->named = g->few;
    if (!gather_named(vm, g, shape, named, shape->starstar ? star + shape->star : NULL, err)) return false;
    return !shape->star || gather_star(vm, g, args, shape->n_pos, star, err);
}

/* Calls any callable fn; for a script function, only pushes a frame. */
static bool call_any(Vm *vm, Value fn, const Value *at, uint32_t n, const NativeNamed *named, uint32_t n_named, Value *ret,
                     Error *err) {
    if (value_is_function(fn)) return vm_push_bound(vm, value_function(fn), at, n, named, n_named, ret, err);
    return vm_call_other(vm, fn, at, n, named, n_named, ret, err);
}

bool vm_call_shape(Vm *vm, Value *at, const CodeShape *shape, Value *ret, Error *err) {
    Gathered g;
    bool ok = gather(vm, &g, shape, at + 1, err) && call_any(vm, at[0], g.at, g.n, g.named, g.n_named, ret, err);
    if (g.named != g.few) free(g.named);
    return ok;
}

static const NativeDef *method_of(Value x, String *name) {
    return value_is_object(x) ? native_method((ObjectType)value_object(x)->type, string_str(name)) : NULL;
}

bool vm_has_method(Vm *vm, Value x, String *name, Error *err) {
    Value ignored;
    return method_of(x, name) || vm_attr(vm, x, name, &ignored, err);
}

bool vm_call_method(Vm *vm, Value *at, String *name, uint32_t n, Value *ret, Error *err) {
    const NativeDef *def = method_of(at[0], name);
    if (def) return vm_call_native(vm, def, at[0], at + 1, n, ret, err);
    Value fn;
    return vm_attr(vm, at[0], name, &fn, err) && call_any(vm, fn, at + 1, n, NULL, 0, ret, err);
}
