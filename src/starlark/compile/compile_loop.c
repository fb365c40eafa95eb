/* Loops and comprehensions.
 *
 *         ITER it
 *         JUMP test
 * body:   …
 * test:   NEXT it, item -> body
 *
 * NEXT tests, fetches the item and jumps in one instruction per iteration. */
#include "starlark/compile/compile_private.h"

/* Registers of an iteration: up to three for its state, and one for an item to unpack. */
enum { ITER_ITEM = 3, ITER_REGS = 4 };

typedef struct Iter { uint16_t reg; bool range; uint32_t body; JumpList test; } Iter;

/* The register NEXT may write an item to: the variable itself, if it is a plain local. */
static bool item_register(const Expr *vars, uint16_t *out) {
    if (vars->kind != EXPR_NAME || vars->name.bind->scope != SCOPE_LOCAL) return false;
    return *out = (uint16_t)vars->name.bind->index, true;
}

static void iter_begin(Fn *f, Iter *it, const Expr *x, const Expr *vars, Pos pos) {
    const Expr *range = f->far ? NULL : compile_range_call(f, x);
    *it = (Iter){ .reg = compile_temps(f, ITER_REGS), .range = range != NULL };
    if (range) {
        for (uint32_t i = 0; i < range->call.n; i++) compile_to(f, range->call.args[i].value, (uint16_t)(it->reg + i));
        f->pos = range->pos;
        compile_emit(f, OP_RANGE, 0, it->reg, range->call.n, 0);
    } else {
        compile_to(f, x, it->reg);
        f->pos = pos;
        compile_emit(f, OP_ITER, 0, it->reg, 0, 0);
    }
    compile_jump(f, &it->test);
    it->body = compile_here(f);
    uint16_t item;
    if (item_register(vars, &item)) { compile_set_assigned(f, item, true); return; }
    f->pos = pos;
    compile_assign(f, vars, (uint16_t)(it->reg + ITER_ITEM));
}

static void iter_end(Fn *f, Iter *it, const Expr *vars) {
    uint16_t item;
    if (!item_register(vars, &item)) item = (uint16_t)(it->reg + ITER_ITEM);
    compile_patch(f, &it->test, compile_here(f));
    uint32_t next;
    if (f->far) {
        next = compile_emit(f, OP_NEXT_LONG, 0, it->reg, item, 0);
        compile_emit_d(f, OP_JUMP, 0, (int32_t)((int64_t)it->body - compile_here(f) - 1));
    } else {
        next = compile_emit(f, it->range ? OP_NEXT_RANGE : OP_NEXT, 0, it->reg, item, 0);
        JumpList back = { 0 };
        VEC_PUSH(&back, next);
        compile_patch(f, &back, it->body);
    }
    if (!it->range) VEC_PUSH(&f->loops, (CodeLoop){ it->body, next + 1, it->reg });
}

void compile_for(Fn *f, const Stmt *s) {
    uint32_t save = f->top;
    Iter it;
    Pos pos = s->pos;
    CompileLoop loop = { .outer = f->loop };
    uint64_t *before = compile_save_assigned(f);          /* the body may never run */
    iter_begin(f, &it, s->loop.x, s->loop.vars, pos);
    loop.iterates = !it.range;
    loop.reg = it.reg;
    f->loop = &loop;
    compile_body(f, &s->loop.body);
    f->loop = loop.outer;
    f->pos = pos;
    compile_patch(f, &loop.continues, compile_here(f));
    iter_end(f, &it, s->loop.vars);
    compile_patch(f, &loop.breaks, compile_here(f));
    memcpy(f->assigned, before, f->assigned_words * sizeof *before);
    f->reachable = true;
    free(before);
    f->top = save;
}

void compile_while(Fn *f, const Stmt *s) {
    CompileLoop loop = { .outer = f->loop };
    JumpList exit = { 0 };
    uint32_t test = compile_here(f);
    compile_cond(f, s->loop.x, false, &exit);
    uint64_t *before = compile_save_assigned(f);
    f->loop = &loop;
    compile_body(f, &s->loop.body);
    f->loop = loop.outer;
    f->pos = s->pos;
    compile_patch(f, &loop.continues, compile_here(f));
    compile_emit_d(f, OP_LOOP, 0, (int32_t)((int64_t)test - compile_here(f) - 1));
    compile_patch(f, &exit, compile_here(f));
    compile_patch(f, &loop.breaks, compile_here(f));
    memcpy(f->assigned, before, f->assigned_words * sizeof *before);
    f->reachable = true;
    free(before);
}

/* ---- comprehensions ---- */

typedef struct { const AstClause *clause; Iter it; } OpenFor;

/* A later clause's variable could be read before its own `for` binds it, and its slot may still
 * hold a value from an earlier comprehension. */
static void clear_vars(Fn *f, const Expr *vars) {
    if (vars->kind == EXPR_NAME) {
        if (vars->name.bind->scope != SCOPE_LOCAL) return;
        compile_set_assigned(f, vars->name.bind->index, false);
        compile_emit(f, OP_CLEAR, 0, vars->name.bind->index, 0, 0);
    } else if (vars->kind == EXPR_TUPLE || vars->kind == EXPR_LIST)
        for (uint32_t i = 0; i < vars->list.n; i++) clear_vars(f, vars->list.at[i]);
}

static void emit_item(Fn *f, const Expr *e, uint16_t acc) {
    uint32_t save = f->top;
    uint16_t item = compile_operand(f, e->comp.body);
    if (e->comp.value) {
        uint16_t value = compile_operand(f, e->comp.value);
        f->pos = e->comp.body->pos;                      /* report an unhashable key at its own position */
        compile_emit(f, OP_DICT_PUT, 0, acc, item, value);
    } else
        compile_emit(f, OP_APPEND, 0, acc, item, 0);
    f->top = save;
}

void compile_comprehension(Fn *f, const Expr *e, uint16_t dst) {
    uint32_t save = f->top;
    uint16_t acc = compile_temp(f);
    VEC(OpenFor) open = { 0 };
    VEC(JumpList) tests = { 0 };                         /* failed tests of each open for */
    if (e->comp.value) compile_emit_d(f, OP_DICT, acc, 0);
    else compile_emit(f, OP_LIST, 0, acc, 0, 0);
    for (uint32_t i = 1; i < e->comp.n; i++)
        if (e->comp.clauses[i].is_for) clear_vars(f, e->comp.clauses[i].vars);
    uint64_t *before = compile_save_assigned(f);
    for (uint32_t i = 0; i < e->comp.n; i++) {
        const AstClause *clause = &e->comp.clauses[i];
        if (!clause->is_for) { compile_cond(f, clause->x, false, &VEC_LAST(&tests)); continue; }
        OpenFor o = { .clause = clause };
        iter_begin(f, &o.it, clause->x, clause->vars, clause->pos);
        VEC_PUSH(&open, o);
        VEC_PUSH(&tests, (JumpList){ 0 });
    }
    emit_item(f, e, acc);
    while (open.n) {
        OpenFor o = VEC_POP(&open);
        compile_patch(f, &VEC_LAST(&tests), compile_here(f));
        tests.n--;
        f->pos = o.clause->pos;
        iter_end(f, &o.it, o.clause->vars);
    }
    memcpy(f->assigned, before, f->assigned_words * sizeof *before);
    free(before);
    VEC_CLEAR(&open);
    VEC_CLEAR(&tests);
    if (dst != acc) compile_emit(f, OP_MOVE, 0, dst, acc, 0);
    f->top = save;
}
