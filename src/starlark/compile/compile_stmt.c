/* Statements. */
#include "starlark/compile/compile_private.h"

/* ---- assignment ---- */

static void assign_name(Fn *f, const Expr *target, uint16_t value) {
    const Binding *b = target->name.bind;
    switch (b->scope) {
    case SCOPE_LOCAL:
        if (value != b->index) compile_emit(f, OP_MOVE, 0, b->index, value, 0);
        compile_set_assigned(f, b->index, true);
        return;
    case SCOPE_CELL: compile_emit(f, OP_CELL_SET, 0, b->index, value, 0); return;
    default: compile_emit_d(f, OP_GLOBAL_SET, value, (int32_t)b->index); return;
    }
}

static void assign_sequence(Fn *f, const Expr *target, uint16_t value) {
    uint32_t save = f->top;
    uint16_t first = compile_temps(f, target->list.n);
    Pos pos = f->pos;                                    /* position of the "=" or "for", for nested targets too */
    compile_emit(f, OP_UNPACK, 0, first, value, target->list.n);
    for (uint32_t i = 0; i < target->list.n; i++) {
        f->pos = pos;
        compile_assign(f, target->list.at[i], (uint16_t)(first + i));
    }
    f->top = save;
}

void compile_assign(Fn *f, const Expr *target, uint16_t value) {
    uint32_t save = f->top;
    switch (target->kind) {
    case EXPR_NAME: assign_name(f, target, value); return;
    case EXPR_TUPLE: case EXPR_LIST: assign_sequence(f, target, value); return;
    case EXPR_INDEX: {
        uint16_t x = compile_operand(f, target->index.x), i = compile_operand(f, target->index.index);
        f->pos = target->pos;
        compile_emit(f, OP_SET_INDEX, 0, x, i, value);
        break;
    }
    default: {
        uint16_t x = compile_operand(f, target->dot.x);
        f->pos = target->pos;
        compile_emit(f, OP_SET_ATTR, 0, x, compile_string(f, target->dot.name), value);
    }
    }
    f->top = save;
}

static bool is_display(const Expr *e) { return e->kind == EXPR_TUPLE || e->kind == EXPR_LIST; }

/* a, b = x, y needs no tuple: evaluate all values, then assign all targets. */
static bool assign_pairwise(Fn *f, const Expr *target, const Expr *value, Pos pos) {
    enum { PAIRS_MAX = 32 };
    if (!is_display(target) || !is_display(value) || target->list.n != value->list.n || value->list.n > PAIRS_MAX) return false;
    uint32_t save = f->top, n = value->list.n;
    uint16_t first = (uint16_t)f->top;
    for (uint32_t i = 0; i < n; i++) compile_into_temp(f, value->list.at[i]);
    for (uint32_t i = 0; i < n; i++) {
        f->pos = pos;
        compile_assign(f, target->list.at[i], (uint16_t)(first + i));
    }
    f->top = save;
    return true;
}

static void assign(Fn *f, const Stmt *s) {
    const Expr *target = s->assign.target, *value = s->assign.value;
    uint32_t save = f->top;
    if (assign_pairwise(f, target, value, s->pos)) return;
    if (target->kind == EXPR_NAME && target->name.bind->scope == SCOPE_LOCAL) {
        compile_to(f, value, (uint16_t)target->name.bind->index);
        compile_set_assigned(f, target->name.bind->index, true);
        return;
    }
    uint16_t v = compile_operand(f, value);
    f->pos = s->pos;
    compile_assign(f, target, v);
    f->top = save;
}

/* The operators that may modify their left operand in place: a list, a dict, a set. */
static bool op_in_place(Token t, Op *op) {
    switch (t) {
    case TOKEN_PLUS: return *op = OP_IADD, true;
    case TOKEN_PIPE: return *op = OP_IOR, true;
    case TOKEN_MINUS: return *op = OP_SUB, true;
    case TOKEN_AMP: return *op = OP_AND, true;
    case TOKEN_CIRCUMFLEX: return *op = OP_XOR, true;
    default: return false;
    }
}

/* R[dst] = R[x] op= value. */
static void augment(Fn *f, const Stmt *s, uint16_t dst, uint16_t x) {
    uint32_t save = f->top;
    f->pos = s->pos;
    int16_t small;
    Op op;
    if (!op_in_place(s->assign.op, &op) || compile_small(f, s->assign.value, &small)) {
        f->pos = s->pos;
        compile_emit_binary(f, s->assign.op, dst, x, s->assign.value);
    } else {
        uint16_t y = compile_operand(f, s->assign.value);
        f->pos = s->pos;
        compile_emit(f, op, op != OP_IADD && op != OP_IOR, dst, x, y);
    }
    f->top = save;
}

static void assign_augmented(Fn *f, const Stmt *s) {
    const Expr *target = s->assign.target;
    uint32_t save = f->top;
    uint16_t t = compile_temp(f);
    if (target->kind == EXPR_NAME) {
        uint16_t x = compile_operand(f, target);
        bool local = target->name.bind->scope == SCOPE_LOCAL;
        augment(f, s, local ? x : t, x);
        if (!local) assign_name(f, target, t);
    } else if (target->kind == EXPR_INDEX) {
        uint16_t x = compile_operand(f, target->index.x), i = compile_operand(f, target->index.index);
        f->pos = target->pos;
        compile_emit(f, OP_INDEX, 0, t, x, i);
        augment(f, s, t, t);
        f->pos = target->pos;
        compile_emit(f, OP_SET_INDEX, 0, x, i, t);
    } else {
        uint16_t x = compile_operand(f, target->dot.x);
        uint32_t name = compile_string(f, target->dot.name);
        f->pos = target->pos;
        compile_emit(f, OP_ATTR, 0, t, x, name);
        augment(f, s, t, t);
        f->pos = target->pos;
        compile_emit(f, OP_SET_ATTR, 0, x, name, t);
    }
    f->top = save;
}

/* ---- control ---- */

/* After an if, a variable is assigned when every arm that reaches its end assigns it. */
static void branch(Fn *f, const Stmt *s) {
    JumpList done = { 0 }, next = { 0 };
    uint64_t *met = NULL;
    bool otherwise = false;
    for (uint32_t i = 0; i < s->branch.n; i++) {
        const AstArm *arm = &s->branch.arms[i];
        compile_patch(f, &next, compile_here(f));
        f->reachable = true;
        if (arm->test) compile_cond(f, arm->test, false, &next);
        else otherwise = true;
        uint64_t *before = compile_save_assigned(f);
        compile_body(f, &arm->body);
        if (f->reachable) {
            if (met) {
                compile_meet_assigned(f, met);
                free(met);
            }
            met = compile_save_assigned(f);
            if (i + 1 < s->branch.n) compile_jump(f, &done);
        }
        memcpy(f->assigned, before, f->assigned_words * sizeof *before);
        free(before);
    }
    compile_patch(f, &next, compile_here(f));
    compile_patch(f, &done, compile_here(f));
    f->reachable = met || !otherwise;
    if (met && otherwise) memcpy(f->assigned, met, f->assigned_words * sizeof *met);
    free(met);
}

static void leave_loops(Fn *f) {
    for (const CompileLoop *l = f->loop; l; l = l->outer)
        if (l->iterates) compile_emit(f, OP_ITER_END, 0, l->reg, 0, 0);
}

static void return_from(Fn *f, const Stmt *s) {
    uint32_t save = f->top;
    if (!s->expr) {
        f->pos = s->pos;
        leave_loops(f);
        compile_emit(f, OP_RETURN_NONE, 0, 0, 0, 0);
    } else {
        uint16_t v = compile_operand(f, s->expr);
        f->pos = s->pos;
        leave_loops(f);
        compile_emit(f, OP_RETURN, 0, v, 0, 0);
    }
    f->top = save;
    f->reachable = false;
}

static void expression(Fn *f, const Expr *e) {
    if (e->kind == EXPR_CONST) return;                   /* a docstring */
    uint32_t save = f->top;
    compile_operand(f, e);
    f->top = save;
}

static void statement(Fn *f, const Stmt *s) {
    f->pos = s->pos;
    switch (s->kind) {
    case STMT_EXPR: expression(f, s->expr); return;
    case STMT_ASSIGN:
        if (s->assign.op == TOKEN_EQ) assign(f, s);
        else assign_augmented(f, s);
        return;
    case STMT_DEF: {
        uint32_t save = f->top;
        uint16_t t = compile_temp(f);
        compile_function(f, s->def.fn, s->pos, t);
        compile_assign(f, s->def.name, t);
        f->top = save;
        return;
    }
    case STMT_IF: branch(f, s); return;
    case STMT_FOR: compile_for(f, s); return;
    case STMT_WHILE: compile_while(f, s); return;
    case STMT_RETURN: return_from(f, s); return;
    case STMT_BREAK:
        if (f->loop->iterates) compile_emit(f, OP_ITER_END, 0, f->loop->reg, 0, 0);
        compile_jump(f, &f->loop->breaks);
        f->reachable = false;
        return;
    case STMT_CONTINUE:
        compile_jump(f, &f->loop->continues);
        f->reachable = false;
        return;
    case STMT_PASS: return;
    case STMT_LOAD: compile_fail(f, s->pos, "load statements are not supported"); return;
    }
}

/* Compiles unreachable code after return, break or continue too, which keeps the compiler simple.
 * Its assignments must not count. */
void compile_body(Fn *f, const AstBody *body) {
    bool ended = false;
    for (uint32_t i = 0; i < body->n && !f->unit->failed; i++) {
        statement(f, body->at[i]);
        if (!f->reachable) {
            ended = true;
            f->reachable = true;
        }
    }
    if (ended) f->reachable = false;
}
