/* Calls. The callee (or the receiver) is in the top register; the arguments follow it. */
#include "starlark/compile/compile_private.h"

#include "starlark/vm/universe.h"

enum { ARGS_MAX = 255 };                                 /* an operand has 8 bits; longer calls use a shape */

static bool all_positional(const Expr *call) {
    for (uint32_t i = 0; i < call->call.n; i++)
        if (call->call.args[i].kind != ARG_POSITIONAL) return false;
    return true;
}

bool compile_call_simple(const Expr *call) { return call->call.n <= ARGS_MAX && all_positional(call); }

static void push_args(Fn *f, const Expr *call) {
    for (uint32_t i = 0; i < call->call.n; i++) compile_into_temp(f, call->call.args[i].value);
    f->pos = call->pos;
}

static void shape_call(Fn *f, const Expr *call, uint16_t at, uint16_t dst) {
    CodeShape shape = { .names = ARENA_ARRAY(f->unit->in->arena, String *, call->call.n ? call->call.n : 1) };
    if (call->call.n > CODE_REGS_MAX) { compile_fail(f, call->pos, "too many arguments"); return; }
    for (uint32_t i = 0; i < call->call.n; i++) {
        const AstArg *arg = &call->call.args[i];
        if (arg->kind == ARG_POSITIONAL) shape.n_pos++;
        else if (arg->kind == ARG_NAMED) shape.names[shape.n_named++] = arg->name;
        else if (arg->kind == ARG_STAR) shape.star = true;
        else shape.starstar = true;
    }
    push_args(f, call);
    if (f->shapes.n > UINT16_MAX) { compile_fail(f, call->pos, "function has too many calls with named arguments"); return; }
    compile_emit(f, OP_CALL_SHAPE, 0, at, (uint32_t)f->shapes.n, dst);
    VEC_PUSH(&f->shapes, shape);
}

void compile_call(Fn *f, const Expr *call, uint16_t at, uint16_t dst) {
    if (!compile_call_simple(call)) { shape_call(f, call, at, dst); return; }
    push_args(f, call);
    compile_emit(f, OP_CALL, call->call.n, at, 0, dst);
}

/* True if the expression is pure: it cannot fail and has no side effects. */
static bool is_quiet(const Expr *e) {
    return e->kind == EXPR_CONST || (e->kind == EXPR_NAME && e->name.bind->scope != SCOPE_GLOBAL);
}

static bool all_quiet(const Expr *call) {
    for (uint32_t i = 0; i < call->call.n; i++)
        if (!is_quiet(call->call.args[i].value)) return false;
    return true;
}

void compile_method_call(Fn *f, const Expr *call, String *name, uint16_t at, uint16_t dst) {
    uint32_t k = compile_string(f, name);
    if (k > UINT16_MAX) { compile_fail(f, call->pos, "function has too many constants (limit %d)", UINT16_MAX); return; }
    f->pos = call->call.fn->pos;
    if (!all_quiet(call)) compile_emit(f, OP_HAS_ATTR, 0, at, k, 0);   /* x.f is evaluated before the arguments */
    push_args(f, call);
    compile_emit(f, OP_CALL_METHOD, call->call.n, at, k, dst);
}

static bool is_native(Value v, const char *name) {
    return value_is(v, OBJECT_NATIVE) && strcmp(((Native *)value_object(v))->def->name, name) == 0;
}

bool compile_native_call(Fn *f, const Expr *call, Value native, uint16_t at, uint16_t dst) {
    if (!value_is(native, OBJECT_NATIVE) || !compile_call_simple(call)) return false;
    if (call->call.n == 1 && is_native(native, "len")) {
        uint16_t x = compile_operand(f, call->call.args[0].value);
        f->pos = call->pos;
        compile_emit(f, OP_LEN, 0, dst, x, 0);
        return true;
    }
    uint32_t k = compile_constant(f, native);
    if (k > UINT16_MAX) return false;
    push_args(f, call);
    compile_emit(f, OP_CALL_NATIVE, call->call.n, at, k, dst);
    return true;
}

const Expr *compile_range_call(Fn *f, const Expr *e) {
    Value v;
    if (e->kind != EXPR_CALL || e->call.n < 1 || e->call.n > 3 || !all_positional(e)) return NULL;
    if (e->call.fn->kind != EXPR_NAME || e->call.fn->name.bind->scope != SCOPE_UNIVERSAL) return NULL;
    return compile_const_value(f, e->call.fn, &v) && is_native(v, "range") ? e : NULL;
}
