/* Calls: frames, binding of arguments to parameters, natives. */
#include "base/mem.h"
#include "starlark/vm/iter.h"
#include "starlark/vm/vm_private.h"
#include "starlark/vm/repr.h"
#include "starlark/vm/work.h"

enum { NATIVE_PARAMS_MAX = 16 };

/* ---- frames ---- */

static bool fits(const Segment *s, const Value *base, uint32_t n) {
    return base >= s->at && base <= s->end && (size_t)(s->end - base) >= n;
}

bool vm_room(Vm *vm, Value **base, uint32_t keep, uint32_t n_regs) {
    if (__builtin_expect(fits(vm->segment, *base, n_regs), 1)) return true;
    size_t n = (size_t)(vm->segment->end - vm->segment->at) * 2;
    if (n < n_regs) n = n_regs;
    Segment *s = mem_alloc(sizeof *s + n * sizeof(Value));
    s->prev = vm->segment;
    s->end = s->at + n;
    vm->segment = s;
    if (keep) memcpy(s->at, *base, keep * sizeof(Value));
    *base = s->at;
    return true;
}

static bool check_depth(Vm *vm, const Code *code, Error *err) {
    if (vm->frames.n >= vm->config.max_depth)
        return error_set(err, ERR_LIMIT, "Starlark stack overflow: call depth limit of %u reached", vm->config.max_depth);
    if (vm->config.allow_recursion) return true;
    for (size_t i = vm->frames.n; i-- > 0;)              /* compare code, not values: another closure of it is recursion too */
        if (vm->frames.at[i].code == code)
            return error_set(err, ERR_SCRIPT, "function " STR_FMT " called recursively (Starlark has no recursion; use a loop)",
                STR_ARG(string_str(code->name)));
    return true;
}

bool vm_push(Vm *vm, Function *fn, Value *base, Value *ret, Error *err) {
    const Code *code = fn->code;
    if (!check_depth(vm, code, err)) return false;
    vm_room(vm, &base, code->n_params, code->n_regs);
    memset(base + code->n_params, 0, (code->n_regs - code->n_params) * sizeof(Value));
    Module *m = code->module;
    Value *globals = vm->frames.n && VEC_LAST(&vm->frames).code->module == m ? VEC_LAST(&vm->frames).globals : vm_globals(vm, m);
    VEC_PUSH(&vm->frames, (Frame){ fn, code, code->insn, base, globals, ret });
    return true;
}

void vm_pop(Vm *vm) {
    vm->frames.n--;
    while (vm->segment->prev) {                          /* is the frame below in an older segment? */
        const Value *top = vm->frames.n ? VEC_LAST(&vm->frames).base : NULL;
        Segment *s = vm->segment;
        if (top && top >= s->at && top < s->end) break;
        vm->segment = s->prev;
        free(s);
    }
}

/* ---- parameters ---- */

static bool too_many(const Function *fn, uint32_t given, Error *err) {
    const Code *c = fn->code;
    return error_set(err, ERR_SCRIPT, "function " STR_FMT " accepts %s%u positional argument%s (%u given)",
                     STR_ARG(string_str(c->name)), c->n_defaults > c->n_kwonly ? "at most " : "", c->n_plain,
                     c->n_plain == 1 ? "" : "s", given);
}

static ptrdiff_t find_param(const Code *c, const String *name) {
    uint32_t n = (uint32_t)c->n_plain + c->n_kwonly;
    for (uint32_t i = 0; i < n; i++)
        if (c->locals[i] == name) return i;
    for (uint32_t i = 0; i < n; i++)                     /* names from **kwargs are not interned */
        if (string_same(c->locals[i], name)) return i;
    return -1;
}

/* `got` says what is wrong with keyword argument `name`, which the message quotes. */
static bool bad_keyword(const Code *c, const char *got, const String *name, Error *err) {
    Buf text = { 0 };
    repr_string(&text, string_str(name));
    error_set(err, ERR_SCRIPT, "function " STR_FMT " got %s " STR_FMT, STR_ARG(string_str(c->name)), got, STR_ARG(buf_str(&text)));
    buf_clear(&text);
    return false;
}

static bool bind_named(Vm *vm, const Code *c, Value *base, const NativeNamed *named, uint32_t n, Dict *rest, Error *err) {
    for (uint32_t i = 0; i < n; i++) {
        String *name = named[i].name;
        ptrdiff_t p = find_param(c, name);
        bool fresh = true;
        if (p >= 0) {
            fresh = value_is_gone(base[p]);
            base[p] = named[i].value;
        } else if (rest) {
            Value *at;
            if (!dict_insert(vm->heap, rest, value_from_object(name), named[i].value, &at, &fresh, err)) return false;
        } else
            return bad_keyword(c, "an unexpected keyword argument", name, err);
        if (!fresh) return bad_keyword(c, "multiple values for parameter", name, err);
    }
    return true;
}

static bool missing(const Code *c, const Value *base, uint32_t n, Error *err) {
    Buf names = { 0 };
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        if (value_is_gone(base[i])) {
            if (count++) buf_add(&names, STR(", "));
            buf_add(&names, string_str(c->locals[i]));
        }
    error_set(err, ERR_SCRIPT, "function " STR_FMT " missing %u argument%s (" STR_FMT ")", STR_ARG(string_str(c->name)), count,
              count > 1 ? "s" : "", STR_ARG(buf_str(&names)));
    buf_clear(&names);
    return false;
}

static bool fill_defaults(Function *fn, Value *base, Error *err) {
    const Code *c = fn->code;
    uint32_t n = (uint32_t)c->n_plain + c->n_kwonly, first = n - c->n_defaults;
    bool complete = true;
    for (uint32_t i = 0; i < n; i++) {
        if (!value_is_gone(base[i])) continue;
        if (i >= first) base[i] = function_defaults(fn)[i - first];
        if (value_is_gone(base[i])) complete = false;
    }
    return complete || missing(c, base, n, err);
}

static bool bind(Vm *vm, Function *fn, Value *base, const Value *at, uint32_t n, const NativeNamed *named, uint32_t n_named,
                 Error *err) {
    const Code *c = fn->code;
    if (c->n_params == 0 && n + n_named > 0)
        return error_set(err, ERR_SCRIPT, "function " STR_FMT " accepts no arguments (%u given)", STR_ARG(string_str(c->name)),
                         n + n_named);
    uint32_t plain = n < c->n_plain ? n : c->n_plain, rest = (uint32_t)c->n_plain + c->n_kwonly;
    if (n > c->n_plain && !c->has_varargs) return too_many(fn, n, err);
    memset(base, 0, c->n_params * sizeof(Value));
    if (plain) memcpy(base, at, plain * sizeof(Value));
    if (c->has_varargs) {
        if (!work_tuple(&(Work){ .vm = vm }, n > plain ? at + plain : NULL, n - plain, &base[rest++], err)) return false;
    }
    Dict *named_rest = NULL;
    if (c->has_kwargs) {
        if (!(named_rest = dict_new(vm->heap, 0, err))) return false;
        base[rest] = value_from_object(named_rest);
    }
    return bind_named(vm, c, base, named, n_named, named_rest, err) && fill_defaults(fn, base, err);
}

bool vm_push_bound(Vm *vm, Function *fn, const Value *at, uint32_t n, const NativeNamed *named, uint32_t n_named, Value *ret,
                   Error *err) {
    Value *base = vm_top(vm);
    Segment *before = vm->segment;
    if (!check_depth(vm, fn->code, err)) return false;
    vm_room(vm, &base, 0, fn->code->n_regs);
    if (bind(vm, fn, base, at, n, named, n_named, err) && vm_push(vm, fn, base, ret, err)) return true;
    if (vm->segment != before) {                         /* allocated for a frame that was not pushed */
        Segment *s = vm->segment;
        vm->segment = s->prev;
        free(s);
    }
    return false;
}

/* ---- natives ---- */

static bool wrap_native(const NativeDef *def, Error *err) {
    if (def->flags & NATIVE_PLAIN_ERRORS) return false;
    return error_wrap(err, "%s", def->name);
}

/* A host call may take long; it counts as this many steps. */
enum { HOST_WORK = 256 };

/* Prevents host functions from having effects after the deadline. Every call of a host function passes here. */
static bool allowed_now(Vm *vm, const NativeDef *def, Error *err) {
    if (!(def->flags & NATIVE_HOST)) return true;
    if (!vm->loading) return vm_work(vm, HOST_WORK, err) && cancel_check(vm->config.cancel, err);
    return error_set(err, ERR_SCRIPT, "%s: host functions are not available at load time", def->name);
}

/* A host function that ran past the deadline ends the script, even if it succeeded. */
static bool in_time(Vm *vm, const NativeDef *def, Error *err) { return !(def->flags & NATIVE_HOST) || cancel_check(vm->config.cancel, err); }

static bool run_native(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    Value result = VALUE_NONE;
    if (!a->def->fn(vm, a, &result, err) || !in_time(vm, a->def, err)) return wrap_native(a->def, err);
    vm->trace.n = 0;                                     /* drop the trace of a failure that it handled */
    return *out = result, true;
}

static bool call_declared(Vm *vm, const NativeDef *def, Value self, const Value *at, uint32_t n, const NativeNamed *named,
                          uint32_t n_named, Value *out, Error *err) {
    Value bound[NATIVE_PARAMS_MAX];
    NativeArgs a = { .def = def, .self = self, .at = bound, .n = def->n_params };
    if (!native_bind_args(def, at, n, named, n_named, bound, err)) return false;
    return run_native(vm, &a, out, err);
}

/* Passes positional arguments without a copy if all parameters are given. */
static bool call_positional(Vm *vm, const NativeDef *def, Value self, const Value *at, uint32_t n, Value *out, Error *err) {
    if (!allowed_now(vm, def, err)) return false;
    if (!(def->flags & NATIVE_VARIADIC) && n != def->n_params) return call_declared(vm, def, self, at, n, NULL, 0, out, err);
    NativeArgs a = { .def = def, .self = self, .at = at, .n = n };
    if (def->flags & NATIVE_VARIADIC) {
        if (n < def->min && !native_bind_args(def, at, n, NULL, 0, NULL, err)) return false;
    } else if (!native_check_types(def, at, n, err))
        return false;
    return run_native(vm, &a, out, err);
}

/* Adds a native to the traceback, after the frames that it called. */
bool vm_failed_native(Vm *vm, const char *name) {
    VEC_PUSH(&vm->trace, (VmPlace){ .name = str_from(name), .file = STR("<builtin>") });
    return false;
}

bool vm_call_native(Vm *vm, const NativeDef *def, Value self, const Value *at, uint32_t n, Value *out, Error *err) {
    return call_positional(vm, def, self, at, n, out, err) || vm_failed_native(vm, def->name);
}

static bool call_named(Vm *vm, const NativeDef *def, Value self, const Value *at, uint32_t n, const NativeNamed *named,
                       uint32_t n_named, Value *out, Error *err) {
    if (!allowed_now(vm, def, err)) return false;
    if (!(def->flags & NATIVE_VARIADIC)) return call_declared(vm, def, self, at, n, named, n_named, out, err);
    NativeArgs a = { .def = def, .self = self, .at = at, .n = n, .named = named, .n_named = n_named };
    return run_native(vm, &a, out, err);
}

static bool call_class(Vm *vm, Value callee, const Value *at, uint32_t n, const NativeNamed *named, uint32_t n_named, Value *out,
                       Error *err) {
    const NativeClass *cls = (const NativeClass *)((Classed *)value_object(callee))->cls;
    NativeArgs a = { .self = callee, .at = at, .n = n, .named = named, .n_named = n_named };
    Value result = VALUE_NONE;
    if (!cls->call(vm, callee, &a, &result, err)) return false;
    return *out = result, true;
}

static bool class_callable(Value v) {
    return value_is_object(v) && value_object(v)->type >= OBJECT_CLASSED &&
           ((const NativeClass *)((Classed *)value_object(v))->cls)->call;
}

bool vm_is_callable(Value v) {
    if (!value_is_object(v)) return false;
    switch (value_object(v)->type) {
    case OBJECT_FUNCTION: case OBJECT_NATIVE: case OBJECT_BOUND: return true;
    case OBJECT_MODULE: return !value_is_gone(((NativeModule *)value_object(v))->call);
    default: return class_callable(v);
    }
}

bool vm_call_other(Vm *vm, Value callee, const Value *at, uint32_t n, const NativeNamed *named, uint32_t n_named, Value *out,
                   Error *err) {
    if (value_is(callee, OBJECT_NATIVE) || value_is(callee, OBJECT_BOUND)) {
        Native *f = (Native *)value_object(callee);
        if (n_named == 0) return vm_call_native(vm, f->def, f->self, at, n, out, err);
        return call_named(vm, f->def, f->self, at, n, named, n_named, out, err) || vm_failed_native(vm, f->def->name);
    }
    if (value_is(callee, OBJECT_MODULE) && vm_is_callable(callee))
        return vm_call_other(vm, ((NativeModule *)value_object(callee))->call, at, n, named, n_named, out, err);
    if (class_callable(callee)) return call_class(vm, callee, at, n, named, n_named, out, err);
    return error_set(err, ERR_SCRIPT, "invalid call of non-function (%s)", value_type_name(callee));
}

/* ---- from C ---- */

bool vm_call_named(Vm *vm, Value fn, const Value *args, uint32_t n, const NativeNamed *named, uint32_t n_named, Value *out,
                   Error *err) {
    MEM_UNSET Error ignored;
    if (!err) err = &ignored;
    if (vm->frames.n == 0) vm->trace.n = 0;              /* a new call from outside? */
    if (!value_is_function(fn)) return vm_call_other(vm, fn, args, n, named, n_named, out, err);
    if (vm->runs >= RUNS_MAX) return error_set(err, ERR_LIMIT, "calls nested too deeply through built-in functions");
    Value result = VALUE_NONE;
    size_t until = vm->frames.n;
    if (!vm_push_bound(vm, value_function(fn), args, n, named, n_named, &result, err)) return false;
    vm->runs++;
    bool ok = vm_run(vm, until, err);
    vm->runs--;
    if (ok) *out = result;
    return ok;
}

bool vm_call(Vm *vm, Value fn, const Value *args, uint32_t n, Value *out, Error *err) {
    return vm_call_named(vm, fn, args, n, NULL, 0, out, err);
}
