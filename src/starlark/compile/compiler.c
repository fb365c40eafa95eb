#include "starlark/compile/compiler.h"

#include "base/mem.h"
#include "starlark/compile/compile_private.h"

static void *keep(Arena *arena, const void *from, size_t n, size_t size) {
    void *to = arena_alloc(arena, n * size);
    if (n) memcpy(to, from, n * size);
    return to;
}

#define KEEP(arena, vec) keep((arena), (vec).at, (vec).n, sizeof *(vec).at)

static void drop(Fn *f) {
    VEC_CLEAR(&f->insn);
    VEC_CLEAR(&f->k);
    VEC_CLEAR(&f->inner);
    VEC_CLEAR(&f->shapes);
    VEC_CLEAR(&f->positions);
    VEC_CLEAR(&f->loops);
    free(f->k_slot);
    free(f->assigned);
}

/* Copies the emitted code into the Code, which lives as long as the module. */
static void finish(Fn *f) {
    Arena *arena = f->unit->in->arena;
    Code *c = f->code;
    c->insn = KEEP(arena, f->insn);
    c->k = KEEP(arena, f->k);
    c->inner = KEEP(arena, f->inner);
    c->shapes = KEEP(arena, f->shapes);
    c->positions = KEEP(arena, f->positions);
    c->loops = KEEP(arena, f->loops);
    c->n_insn = (uint32_t)f->insn.n;
    c->n_k = (uint32_t)f->k.n;
    c->n_inner = (uint32_t)f->inner.n;
    c->n_shapes = (uint32_t)f->shapes.n;
    c->n_positions = (uint32_t)f->positions.n;
    c->n_loops = (uint32_t)f->loops.n;
    c->n_regs = f->max_top ? f->max_top : 1;
}

static void describe(Fn *f) {
    Arena *arena = f->unit->in->arena;
    const AstFunction *ast = f->ast;
    Code *c = f->code;
    c->name = ast->name;
    c->module = f->unit->in->module;
    c->pos = ast->pos;
    c->doc = ast->doc;
    c->n_params = (uint16_t)ast->n_params;
    c->n_kwonly = (uint16_t)ast->n_kwonly;
    c->has_varargs = ast->has_varargs;
    c->has_kwargs = ast->has_kwargs;
    c->n_plain = (uint16_t)(ast->n_params - ast->n_kwonly - ast->has_varargs - ast->has_kwargs);
    c->simple = c->n_plain == c->n_params;
    c->n_locals = ast->n_locals;
    c->locals = ARENA_ARRAY(arena, String *, ast->n_locals ? ast->n_locals : 1);
    for (uint32_t i = 0; i < ast->n_locals; i++) c->locals[i] = ast->locals[i].name;
    c->n_captures = ast->n_frees;
    c->captures = ARENA_ARRAY(arena, CodeCapture, ast->n_frees ? ast->n_frees : 1);
    for (uint32_t i = 0; i < ast->n_frees; i++)
        c->captures[i] = (CodeCapture){ ast->frees[i]->name, ast->frees[i]->scope == SCOPE_FREE, (uint16_t)ast->frees[i]->index };
}

static void write_function(Fn *f) {
    const AstFunction *ast = f->ast;
    f->pos = ast->pos;
    f->top = f->max_top = ast->n_locals;
    if (ast->n_locals >= CODE_REGS_MAX) { compile_fail(f, ast->pos, "function has too many variables (limit %d)", CODE_REGS_MAX); return; }
    f->assigned_words = ast->n_locals / 64 + 1;
    f->assigned = mem_zero(f->assigned_words, sizeof *f->assigned);
    f->reachable = true;
    for (uint32_t i = 0; i < ast->n_params; i++) compile_set_assigned(f, i, true);
    for (uint32_t i = 0; i < ast->n_locals; i++)
        if (ast->locals[i].is_cell) compile_emit(f, OP_CELL_NEW, 0, i, 0, 0);
    if (ast->result) {
        uint16_t v = compile_operand(f, ast->result);
        compile_emit(f, OP_RETURN, 0, v, 0, 0);
    } else {
        compile_body(f, &ast->body);
        compile_emit(f, OP_RETURN_NONE, 0, 0, 0, 0);
    }
}

/* Compiles a function a second time with long jumps if its jumps do not fit 16 bits. */
static Code *compile_code(CompileUnit *unit, Fn *outer, AstFunction *ast, uint16_t n_defaults) {
    Code *code = ARENA_NEW(unit->in->arena, Code);
    bool far = false;
    for (;;) {
        Fn f = { .unit = unit, .outer = outer, .ast = ast, .code = code, .far = far };
        describe(&f);
        code->n_defaults = n_defaults;
        write_function(&f);
        bool again = f.overflow && !far && !unit->failed;
        if (!again && !unit->failed) finish(&f);
        drop(&f);
        if (!again) return code;
        far = true;
    }
}

/* Evaluates the defaults into consecutive registers in slot order: plain parameters from the first one
 * with a default, then keyword-only parameters. A keyword-only parameter without a default leaves its
 * register GONE. */
static uint16_t push_defaults(Fn *f, const AstFunction *ast) {
    uint16_t n = 0;
    bool keyword_only = false, started = false;
    for (uint32_t i = 0; i < ast->n_declared; i++) {
        const AstParam *p = &ast->params[i];
        if (p->kind == PARAM_STAR) keyword_only = true;
        if (p->kind != PARAM_PLAIN) continue;
        if (p->fallback) started = true;
        if (!started && !keyword_only) continue;
        if (p->fallback) compile_into_temp(f, p->fallback);
        else compile_emit(f, OP_CLEAR, 0, compile_temp(f), 0, 0);
        n++;
    }
    return n;
}

void compile_function(Fn *f, AstFunction *ast, Pos pos, uint16_t dst) {
    uint32_t save = f->top;
    uint16_t first = (uint16_t)f->top;
    uint16_t n = push_defaults(f, ast);
    Code *code = compile_code(f->unit, f, ast, n);
    if (f->inner.n > UINT16_MAX) compile_fail(f, pos, "too many functions (limit %d)", UINT16_MAX);
    f->pos = pos;
    compile_emit(f, OP_FUNC, 0, dst, first, (uint32_t)f->inner.n);
    VEC_PUSH(&f->inner, code);
    f->top = save;
}

bool compiler_module(const CompilerInput *in, Code **out, Error *err) {
    CompileUnit unit = { .in = in, .err = err };
    Code *code = compile_code(&unit, NULL, in->ast->toplevel, 0);
    if (unit.failed) return false;
    return *out = code, true;
}
