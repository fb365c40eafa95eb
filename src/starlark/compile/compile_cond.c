/* Conditions: compile a test directly to a jump, without materializing a bool. */
#include "starlark/compile/compile_private.h"

/* The operands of a chain `a and b and c` of one operator, left to right. */
typedef VEC(const Expr *) Chain;

static void flatten(const Expr *e, Token op, Chain *out) {
    while (e->kind == EXPR_BINARY && e->op == op) {
        VEC_PUSH(out, e->binary.y);
        e = e->binary.x;
    }
    VEC_PUSH(out, e);
    for (size_t i = 0; i < out->n / 2; i++) {
        const Expr *t = out->at[i];
        out->at[i] = out->at[out->n - 1 - i];
        out->at[out->n - 1 - i] = t;
    }
}

/* The first false operand decides `and`, the first true one `or`. */
static void logic(Fn *f, const Expr *e, bool sense, JumpList *to) {
    bool decides = e->op == TOKEN_OR;
    Chain chain = { 0 };
    JumpList skip = { 0 };
    flatten(e, e->op, &chain);
    uint64_t *before = compile_save_assigned(f);          /* later operands may not be evaluated */
    for (size_t i = 0; i < chain.n; i++) {
        bool last = i + 1 == chain.n;
        if (sense == decides || last) compile_cond(f, chain.at[i], sense, to);
        else compile_cond(f, chain.at[i], decides, &skip);
    }
    memcpy(f->assigned, before, f->assigned_words * sizeof *before);
    free(before);
    compile_patch(f, &skip, compile_here(f));
    VEC_CLEAR(&chain);
}

static const struct { Token token; Op op, imm; bool negate; } tests[] = {
    { TOKEN_EQL, OP_JUMP_EQ, OP_JUMP_EQI, false }, { TOKEN_NEQ, OP_JUMP_EQ, OP_JUMP_EQI, true },
    { TOKEN_LT, OP_JUMP_LT, OP_JUMP_LTI, false },  { TOKEN_LE, OP_JUMP_LE, OP_JUMP_LEI, false },
    { TOKEN_GT, OP_JUMP_GT, OP_JUMP_GTI, false },  { TOKEN_GE, OP_JUMP_GE, OP_JUMP_GEI, false },
    { TOKEN_IN, OP_JUMP_IN, OP_JUMP_IN, false },   { TOKEN_NOT_IN, OP_JUMP_IN, OP_JUMP_IN, true },
};

static bool comparison(Fn *f, const Expr *e, bool sense, JumpList *to) {
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        if (tests[i].token != e->op) continue;
        uint32_t save = f->top;
        int16_t small;
        uint16_t x = compile_operand(f, e->binary.x);
        if (tests[i].imm != tests[i].op && compile_small(f, e->binary.y, &small)) {
            f->pos = e->pos;
            compile_jump_compare(f, tests[i].imm, sense != tests[i].negate, x, (uint16_t)small, to);
        } else {
            uint16_t y = compile_operand(f, e->binary.y);
            f->pos = e->pos;
            compile_jump_compare(f, tests[i].op, sense != tests[i].negate, x, y, to);
        }
        f->top = save;
        return true;
    }
    return false;
}

void compile_cond(Fn *f, const Expr *e, bool sense, JumpList *to) {
    while (e->kind == EXPR_UNARY && e->op == TOKEN_NOT) {
        e = e->unary.x;
        sense = !sense;
    }
    Value v;
    if (compile_const_value(f, e, &v)) {
        if (value_truth(v) == sense) compile_jump(f, to);
        return;
    }
    if (e->kind == EXPR_BINARY && (e->op == TOKEN_AND || e->op == TOKEN_OR)) { logic(f, e, sense, to); return; }
    if (e->kind == EXPR_BINARY && comparison(f, e, sense, to)) return;
    uint32_t save = f->top;
    uint16_t x = compile_operand(f, e);
    compile_jump_if(f, sense, x, to);
    f->top = save;
}
