#include "starlark/module.h"

#include "base/mem.h"
#include "starlark/compile/compiler.h"
#include "starlark/vm/vm_private.h"
#include "starlark/syntax/parser.h"

/* ---- compiling ---- */

static Value lookup(void *ctx, Scope scope, String *name) {
    const ModuleOptions *o = ctx;
    if (scope == SCOPE_PREDECLARED) return *dict_find_str(o->predeclared, string_str(name));
    return universe_get(o->universe, string_str(name));
}

static bool is_predeclared(void *ctx, Str name) {
    const ModuleOptions *o = ctx;
    return o->predeclared && dict_find_str(o->predeclared, name);
}

static bool is_universal(void *ctx, Str name) {
    const ModuleOptions *o = ctx;
    return !value_is_gone(universe_get(o->universe, name));
}

/* Collects every name that a misspelled one could have meant. */
static Str *known_names(Arena *arena, const ModuleOptions *o, size_t *n) {
    size_t most = o->universe->names->n + (o->predeclared ? o->predeclared->n : 0);
    Str *names = ARENA_ARRAY(arena, Str, most ? most : 1);
    Entry *e;
    *n = 0;
    for (uint32_t i = 0; dict_next(o->universe->names, &i, &e);) names[(*n)++] = value_str(e->key);
    for (uint32_t i = 0; o->predeclared && dict_next(o->predeclared, &i, &e);) names[(*n)++] = value_str(e->key);
    return names;
}

/* expr  ->  lambda p1, p2, …: expr */
static bool add_params(const ParserInput *in, const ModuleOptions *o, AstModule *m, Error *err) {
    AstFunction *top = m->toplevel, *lambda = ARENA_NEW(in->arena, AstFunction);
    *lambda = (AstFunction){ .pos = top->result->start, .result = top->result, .n_declared = (uint32_t)o->n_params };
    lambda->name = string_intern(in->heap, in->names, STR("lambda"), err);
    lambda->params = ARENA_ARRAY(in->arena, AstParam, o->n_params);
    for (size_t i = 0; i < o->n_params; i++) {
        Expr *name = ARENA_NEW(in->arena, Expr);
        *name = (Expr){ .kind = EXPR_NAME, .pos = lambda->pos, .start = lambda->pos };
        if (!(name->name.name = string_intern(in->heap, in->names, o->params[i], err))) return false;
        lambda->params[i] = (AstParam){ .kind = PARAM_PLAIN, .pos = lambda->pos, .name = name };
    }
    Expr *e = ARENA_NEW(in->arena, Expr);
    *e = (Expr){ .kind = EXPR_LAMBDA, .pos = lambda->pos, .start = lambda->pos, .lambda = lambda };
    top->result = e;
    return lambda->name != NULL;
}

static bool parse(const ParserInput *in, const ModuleOptions *o, AstModule **out, ResolverErrors *all, Error *err) {
    ModuleOptions copy = *o;
    ResolverOptions ro = { .allow_while = o->allow_while, .allow_toplevel = o->allow_toplevel, .is_predeclared = is_predeclared,
                           .is_universal = is_universal, .ctx = &copy };
    ro.suggest = known_names(in->arena, o, &ro.n_suggest);
    if (o->after) {
        ro.known = o->after->names;
        ro.n_known = o->after->n_globals;
    }
    if (!(o->expression ? parser_expression : parser_module)(in, out, err)) return false;
    if (o->expression && o->params && !add_params(in, o, *out, err)) return false;
    return resolver_module(*out, &ro, in->arena, all, err);
}

bool module_check(const Source *source, const ModuleOptions *o, ResolverErrors *all, Error *err) {
    Heap *own = o->after ? NULL : heap_new(0);           /* names are compared by identity: share the heap of known ones */
    Heap *heap = own ? own : o->after->heap;
    Arena arena = { 0 };
    AstModule *ast;
    Dict *names = own ? dict_new(own, 0, err) : o->after->interned;
    bool ok = names && parse(&(ParserInput){ source, &arena, heap, names }, o, &ast, all, err);
    arena_clear(&arena);
    heap_free(own);
    return ok;
}

static void trace_code(Tracer *t, const Code *c) {
    tracer_value(t, value_from_object(c->name));
    if (c->doc) tracer_value(t, value_from_object(c->doc));
    for (uint32_t i = 0; i < c->n_k; i++) tracer_value(t, c->k[i]);
    for (uint32_t i = 0; i < c->n_inner; i++) trace_code(t, c->inner[i]);
}

static void trace_module(Tracer *t, void *ctx) {
    Module *m = ctx;
    tracer_value(t, value_from_object(m->interned));
    tracer_value(t, m->result);
    for (uint32_t i = 0; i < m->n_globals; i++) tracer_value(t, m->globals[i]);
    if (m->code) trace_code(t, m->code);
}

static bool compile(Module *m, const ModuleOptions *o, ResolverErrors *all, Error *err) {
    Arena scratch = { 0 };
    AstModule *ast;
    bool ok = parse(&(ParserInput){ &m->source, &scratch, m->heap, m->interned }, o, &ast, all, err);
    ModuleOptions copy = *o;
    CompilerInput in = { .module = m, .arena = m->arena, .heap = m->heap, .lookup = lookup, .ctx = &copy,
                         .check_members = o->check_members };
    if (ok) {
        in.ast = ast;
        m->n_globals = ast->n_globals;
        m->names = ARENA_ARRAY(m->arena, String *, ast->n_globals);
        m->globals = ARENA_ARRAY(m->arena, Value, ast->n_globals);
        for (uint32_t i = 0; i < ast->n_globals; i++) m->names[i] = ast->globals[i];
        if (o->after) memcpy(m->globals, o->after->globals, o->after->n_globals * sizeof(Value));
        ok = compiler_module(&in, &m->code, err);
    }
    arena_clear(&scratch);
    return ok;
}

bool module_compile(Heap *heap, const Source *source, const ModuleOptions *o, Module **out, ResolverErrors *all, Error *err) {
    Module *m = mem_zero(1, sizeof *m);
    m->heap = heap;
    m->arena = o->arena ? o->arena : &m->own;
    m->universe = o->universe;
    m->predeclared = o->predeclared;
    m->source = *source;
    if (!o->arena) {
        m->source.file = arena_str(m->arena, source->file);
        m->source.text = arena_str(m->arena, source->text);
    }
    m->interned = o->after ? o->after->interned : o->interned ? o->interned : dict_new(heap, 0, err);
    if (!m->interned || !compile(m, o, all, err)) {
        module_free(m);
        return false;
    }
    heap_add_roots(heap, trace_module, m);
    m->rooted = true;
    return *out = m, true;
}

void module_free(Module *m) {
    if (!m) return;
    if (m->rooted) heap_remove_roots(m->heap, trace_module, m);
    arena_clear(&m->own);
    free(m);
}

/* ---- loading ---- */

bool module_load(Vm *vm, Module *m, Value *result, Error *err) {
    Function *top = function_new(m->heap, m->code, err);
    if (!top) return false;
    Value v;
    bool was = vm->loading;
    vm->loading = true;
    bool ok = vm_call(vm, value_from_object(top), NULL, 0, &v, err);
    vm->loading = was;
    if (ok) m->result = v;
    if (ok && result) *result = v;
    return ok;
}

/* True if nothing mutable is reachable from the frozen value v. A cycle passes through a mutable object
 * or exceeds the depth limit; both return false, which only costs a copy. */
static bool pure(Value v, int depth) {
    if (!value_is_object(v)) return true;
    Object *o = value_object(v);
    if (o->flags & OBJECT_PURE) return true;
    bool yes = depth < 50;
    switch ((ObjectType)o->type) {
    case OBJECT_STRING: case OBJECT_BYTES: case OBJECT_INT: case OBJECT_RANGE: case OBJECT_NATIVE: case OBJECT_MODULE: return true;
    case OBJECT_TUPLE:
        for (uint32_t i = 0; yes && i < ((Tuple *)o)->n; i++) yes = pure(((Tuple *)o)->at[i], depth + 1);
        break;
    case OBJECT_FUNCTION: {
        Function *f = (Function *)o;
        for (uint32_t i = 0; yes && i < f->code->n_defaults + f->code->n_captures; i++) yes = pure(f->slot[i], depth + 1);
        break;
    }
    case OBJECT_CELL: yes = yes && pure(((Cell *)o)->value, depth + 1); break;
    case OBJECT_BOUND: yes = yes && pure(((Native *)o)->self, depth + 1); break;
    default: return false;
    }
    if (yes && (o->flags & OBJECT_SHARED)) o->flags |= OBJECT_PURE;
    return yes;
}

void module_seal(Module *m) {
    heap_remove_roots(m->heap, trace_module, m);
    m->rooted = false;
    m->pure = true;
    for (uint32_t i = 0; i < m->n_globals; i++)
        if (!pure(m->globals[i], 0)) m->pure = false;
    m->sealed = true;
}

/* ---- queries ---- */

static ptrdiff_t global_index(const Module *m, Str name) {
    for (uint32_t i = 0; i < m->n_globals; i++)
        if (str_eq(string_str(m->names[i]), name)) return i;
    return -1;
}

Value module_global(const Module *m, Str name) {
    ptrdiff_t i = global_index(m, name);
    return i < 0 ? VALUE_GONE : m->globals[i];
}

uint32_t module_globals(const Module *m, String *const **names, const Value **values) {
    *names = m->names;
    *values = m->globals;
    return m->n_globals;
}

const Source *module_source(const Module *m) { return &m->source; }

/* ---- reachable names ---- */

typedef struct { const Module *module; void (*each)(void *ctx, Str name, Str member); void *ctx; } Reach;

/* Reports the object under the name the script uses: fs, or fs.write. Reports an object that has several names
 * under each. */
static void reach_object(const Reach *r, Value v) {
    Entry *e, *inner;
    for (uint32_t i = 0; dict_next(r->module->predeclared, &i, &e);) {
        if (value_same(e->value, v)) r->each(r->ctx, value_str(e->key), (Str){ 0 });
        if (!native_is_module(e->value)) continue;
        for (uint32_t j = 0; dict_next(((NativeModule *)value_object(e->value))->members, &j, &inner);)
            if (value_same(inner->value, v)) r->each(r->ctx, value_str(e->key), value_str(inner->key));
    }
}

static void reach_value(const Reach *r, Value v) {
    if (!value_is_object(v)) return;
    switch ((ObjectType)value_object(v)->type) {
    case OBJECT_STRING: case OBJECT_BYTES: case OBJECT_INT: return;
    case OBJECT_TUPLE:                                   /* a tuple of constants; as deep as the source was */
        for (uint32_t i = 0; i < ((Tuple *)value_object(v))->n; i++) reach_value(r, ((Tuple *)value_object(v))->at[i]);
        return;
    default: reach_object(r, v);
    }
}

static void reach_code(const Reach *r, const Code *c) {
    for (uint32_t i = 0; i < c->n_k; i++) reach_value(r, c->k[i]);
    for (uint32_t i = 0; i < c->n_inner; i++) reach_code(r, c->inner[i]);
}

void module_each_reached(const Module *m, void (*each)(void *ctx, Str name, Str member), void *ctx) {
    if (m->predeclared) reach_code(&(Reach){ m, each, ctx }, m->code);
}

bool module_call_expression(Vm *vm, Module *m, const Value *args, uint32_t n, Value *out, Error *err) {
    return vm_call(vm, m->result, args, n, out, err);    /* a lambda without defaults or captures: nothing to copy */
}

bool module_call(Vm *vm, Module *m, Str name, const Value *args, uint32_t n, Value *out, Error *err) {
    ptrdiff_t i = global_index(m, name);
    if (i < 0) return error_set(err, ERR_SCRIPT, "module has no function " STR_FMT, STR_ARG(name));
    Frame at = { .code = m->code, .globals = vm_globals(vm, m) };
    Value fn = at.globals[i];
    if (value_is_gone(fn) && !vm_touch_global(vm, &at, (uint32_t)i, &fn, err)) return false;
    return vm_call(vm, fn, args, n, out, err);
}
