/* Expressions. */
#include "starlark/compile/compile_private.h"

#include "starlark/syntax/habits.h"
#include "value/int.h"

/* Longer displays are built in pieces, to bound the number of registers. */
enum { DISPLAY_MAX = 32 };

/* ---- constants ---- */

static bool negated(Fn *f, Value v, Value *out) {
    if (value_is_float(v)) return *out = value_from_float(-value_float(v)), true;
    return value_is_int(v) && int_neg(f->unit->in->heap, v, out, NULL);
}

static bool const_tuple(Fn *f, const Expr *e, Value *out) {
    VEC(Value) items = { 0 };
    bool ok = true;
    for (uint32_t i = 0; i < e->list.n && ok; i++) {
        Value v;
        ok = compile_const_value(f, e->list.at[i], &v);
        if (ok) VEC_PUSH(&items, v);
    }
    if (ok) {
        Tuple *t = tuple_from(f->unit->in->heap, items.at, items.n, f->unit->err);
        if (t) *out = value_from_object(t);
        else f->unit->failed = true;
    }
    VEC_CLEAR(&items);
    return ok && !f->unit->failed;
}

bool compile_const_value(Fn *f, const Expr *e, Value *out) {
    switch (e->kind) {
    case EXPR_CONST: return *out = e->constant, true;
    case EXPR_NAME: {
        const Binding *b = e->name.bind;
        if (b->scope != SCOPE_PREDECLARED && b->scope != SCOPE_UNIVERSAL) return false;
        Value v = f->unit->in->lookup(f->unit->in->ctx, b->scope, e->name.name);
        return !native_is_slot(v) && (*out = v, true);
    }
    case EXPR_TUPLE: return const_tuple(f, e, out);
    case EXPR_UNARY: {
        Value v;
        return e->op == TOKEN_MINUS && e->unary.x->kind == EXPR_CONST && compile_const_value(f, e->unary.x, &v) &&
               negated(f, v, out);
    }
    default: return false;
    }
}

bool compile_small(Fn *f, const Expr *e, int16_t *out) {
    Value v;
    if ((e->kind != EXPR_CONST && e->kind != EXPR_UNARY) || !compile_const_value(f, e, &v) || !value_is_small(v))
        return false;
    int64_t i = value_small(v);
    if (i < INT16_MIN || i > INT16_MAX) return false;
    return *out = (int16_t)i, true;
}

/* ---- names ---- */

static void load_name(Fn *f, const Expr *e, uint16_t dst) {
    const Binding *b = e->name.bind;
    f->pos = e->pos;
    switch (b->scope) {
    case SCOPE_LOCAL:
        if (!compile_is_assigned(f, b->index)) {
            compile_emit(f, OP_CHECK, 0, b->index, 0, 0);
            compile_set_assigned(f, b->index, true);
        }
        if (dst != b->index) compile_emit(f, OP_MOVE, 0, dst, b->index, 0);
        return;
    case SCOPE_CELL: compile_emit(f, OP_CELL_GET, 0, dst, b->index, 0); return;
    case SCOPE_FREE: compile_emit_d(f, OP_FREE_GET, dst, (int32_t)b->index); return;
    case SCOPE_GLOBAL: compile_emit_d(f, OP_GLOBAL_GET, dst, (int32_t)b->index); return;
    default: {
        Value v = f->unit->in->lookup(f->unit->in->ctx, b->scope, e->name.name);
        compile_emit_d(f, native_is_slot(v) ? OP_CALL_VALUE : OP_LOADK, dst, (int32_t)compile_constant(f, v));
    }
    }
}

uint16_t compile_operand(Fn *f, const Expr *e) {
    if (e->kind == EXPR_NAME && e->name.bind->scope == SCOPE_LOCAL) {
        uint16_t reg = (uint16_t)e->name.bind->index;
        load_name(f, e, reg);                            /* emits at most a check */
        return reg;
    }
    uint16_t t = compile_temp(f);
    compile_to(f, e, t);
    return t;
}

void compile_into_temp(Fn *f, const Expr *e) {
    uint16_t t = compile_temp(f);
    compile_to(f, e, t);
}

/* ---- displays ---- */

static void load_constant(Fn *f, Value v, uint16_t dst) {
    compile_emit_d(f, OP_LOADK, dst, (int32_t)compile_constant(f, v));
}

static void short_display(Fn *f, const Expr *e, uint16_t dst) {
    uint32_t save = f->top;
    uint16_t first = (uint16_t)f->top;
    for (uint32_t i = 0; i < e->list.n; i++) compile_into_temp(f, e->list.at[i]);
    f->pos = e->pos;
    compile_emit(f, e->kind == EXPR_LIST ? OP_LIST : OP_TUPLE, 0, dst, first, e->list.n);
    f->top = save;
}

static void long_display(Fn *f, const Expr *e, uint16_t dst) {
    uint32_t save = f->top;
    uint16_t acc = compile_temp(f);
    compile_emit(f, OP_LIST, 0, acc, 0, 0);
    for (uint32_t i = 0; i < e->list.n; i++) {
        uint32_t inner = f->top;
        uint16_t item = compile_operand(f, e->list.at[i]);
        f->pos = e->pos;
        compile_emit(f, OP_APPEND, 0, acc, item, 0);
        f->top = inner;
    }
    if (e->kind == EXPR_TUPLE) compile_emit(f, OP_TO_TUPLE, 0, acc, 0, 0);
    compile_emit(f, OP_MOVE, 0, dst, acc, 0);
    f->top = save;
}

static void display(Fn *f, const Expr *e, uint16_t dst) {
    Value v;
    f->pos = e->pos;
    if (e->kind == EXPR_TUPLE && const_tuple(f, e, &v)) { load_constant(f, v, dst); return; }
    if (e->kind == EXPR_LIST && e->list.n > 2 && const_tuple(f, e, &v)) {
        compile_emit_d(f, OP_LISTK, dst, (int32_t)compile_constant(f, v));
        return;
    }
    if (e->list.n <= DISPLAY_MAX) short_display(f, e, dst);
    else long_display(f, e, dst);
}

static void dict_display(Fn *f, const Expr *e, uint16_t dst) {
    uint32_t save = f->top;
    uint16_t acc = compile_temp(f);
    f->pos = e->pos;
    compile_emit_d(f, OP_DICT, acc, (int32_t)(e->dict.n < 1000000 ? e->dict.n : 1000000));
    for (uint32_t i = 0; i < e->dict.n; i++) {
        uint32_t inner = f->top;
        const AstDictItem *item = &e->dict.at[i];
        uint16_t key = compile_operand(f, item->key), value = compile_operand(f, item->value);
        f->pos = item->pos;
        compile_emit(f, OP_DICT_NEW, 0, acc, key, value);
        f->top = inner;
    }
    if (dst != acc) compile_emit(f, OP_MOVE, 0, dst, acc, 0);
    f->top = save;
}

/* ---- operators ---- */

static const struct { Token token; Op op, imm; } binary_ops[] = {
    { TOKEN_PLUS, OP_ADD, OP_ADDI }, { TOKEN_MINUS, OP_SUB, OP_SUBI }, { TOKEN_STAR, OP_MUL, OP_MULI },
    { TOKEN_SLASH, OP_DIV, OP_MOVE }, { TOKEN_SLASHSLASH, OP_FLOORDIV, OP_FLOORDIVI }, { TOKEN_PERCENT, OP_MOD, OP_MODI },
    { TOKEN_AMP, OP_AND, OP_ANDI }, { TOKEN_PIPE, OP_OR, OP_MOVE }, { TOKEN_CIRCUMFLEX, OP_XOR, OP_MOVE },
    { TOKEN_LTLT, OP_SHL, OP_SHLI }, { TOKEN_GTGT, OP_SHR, OP_SHRI }, { TOKEN_EQL, OP_EQ, OP_MOVE },
    { TOKEN_NEQ, OP_NE, OP_MOVE }, { TOKEN_LT, OP_LT, OP_MOVE }, { TOKEN_LE, OP_LE, OP_MOVE },
    { TOKEN_GT, OP_GT, OP_MOVE }, { TOKEN_GE, OP_GE, OP_MOVE }, { TOKEN_IN, OP_IN, OP_MOVE },
    { TOKEN_NOT_IN, OP_NOT_IN, OP_MOVE },
};

static size_t binary_row(Token op) {
    for (size_t i = 0; i < sizeof binary_ops / sizeof binary_ops[0]; i++)
        if (binary_ops[i].token == op) return i;
    return 0;
}

void compile_emit_binary(Fn *f, Token op, uint16_t dst, uint16_t left, const Expr *right) {
    size_t row = binary_row(op);
    Pos pos = f->pos;
    int16_t small;
    if (binary_ops[row].imm != OP_MOVE && compile_small(f, right, &small)) {
        f->pos = pos;
        compile_emit(f, binary_ops[row].imm, 0, dst, left, (uint16_t)small);
        return;
    }
    uint32_t save = f->top;
    uint16_t y = compile_operand(f, right);
    f->pos = pos;
    compile_emit(f, binary_ops[row].op, 0, dst, left, y);
    f->top = save;
}

static void unary(Fn *f, const Expr *e, uint16_t dst) {
    Value v;
    if (compile_const_value(f, e, &v)) { load_constant(f, v, dst); return; }
    uint32_t save = f->top;
    uint16_t x = compile_operand(f, e->unary.x);
    Op op = e->op == TOKEN_MINUS ? OP_NEG : e->op == TOKEN_PLUS ? OP_POS : e->op == TOKEN_TILDE ? OP_INVERT : OP_NOT;
    f->pos = e->pos;
    compile_emit(f, op, 0, dst, x, 0);
    f->top = save;
}

static void conditional(Fn *f, const Expr *e, uint16_t dst) {
    uint32_t save = f->top;
    uint16_t t = compile_temp(f);
    JumpList no = { 0 }, done = { 0 };
    compile_cond(f, e->cond.test, false, &no);
    uint64_t *before = compile_save_assigned(f);
    compile_to(f, e->cond.yes, t);
    compile_jump(f, &done);
    compile_patch(f, &no, compile_here(f));
    memcpy(f->assigned, before, f->assigned_words * sizeof *before);
    compile_to(f, e->cond.no, t);
    compile_patch(f, &done, compile_here(f));
    memcpy(f->assigned, before, f->assigned_words * sizeof *before);
    compile_emit(f, OP_MOVE, 0, dst, t, 0);
    free(before);
    f->top = save;
}

static void slice(Fn *f, const Expr *e, uint16_t dst, uint16_t x) {
    uint32_t save = f->top;
    uint16_t first = compile_temp(f);
    const Expr *parts[] = { e->slice.lo, e->slice.hi, e->slice.step };
    compile_emit(f, OP_MOVE, 0, first, x, 0);
    for (int i = 0; i < 3; i++) {
        uint16_t t = compile_temp(f);
        if (parts[i]) compile_to(f, parts[i], t);
        else load_constant(f, VALUE_NONE, t);
    }
    f->pos = e->pos;
    compile_emit(f, OP_SLICE, 0, dst, first, 0);
    f->top = save;
}

static void index_into(Fn *f, const Expr *e, uint16_t dst, uint16_t x) {
    int16_t small;
    const Expr *i = e->index.index;
    if (compile_small(f, i, &small)) {
        f->pos = e->pos;
        compile_emit(f, OP_INDEXI, 0, dst, x, (uint16_t)small);
    } else if (i->kind == EXPR_CONST && value_is_string(i->constant) && compile_constant(f, i->constant) <= UINT16_MAX) {
        f->pos = e->pos;
        compile_emit(f, OP_INDEXK, 0, dst, x, compile_constant(f, i->constant));
    } else {
        uint32_t save = f->top;
        uint16_t key = compile_operand(f, i);
        f->pos = e->pos;
        compile_emit(f, OP_INDEX, 0, dst, x, key);
        f->top = save;
    }
}

/* Attribute names are constants with a 16-bit index; a function with more distinct names is rejected. */
static uint32_t name_constant(Fn *f, const Expr *e, String *name) {
    uint32_t k = compile_string(f, name);
    if (k > UINT16_MAX) compile_fail(f, e->pos, "function has too many constants (limit %d)", UINT16_MAX);
    return k;
}

/* ---- the left edge ----
 *
 * Chains such as a + b + c, a.b.c and f(x)(y) nest on the left without limit, so a loop compiles
 * them from the innermost outwards. Between two steps the intermediate value is in `cur`: the
 * accumulator `t`, or the register of a local. */
typedef struct { Fn *f; uint16_t t, cur; } Spine;

static void spine_logic(Spine *s, const Expr *e, uint16_t dst) {
    Fn *f = s->f;
    JumpList done = { 0 };
    uint64_t *before = compile_save_assigned(f);
    if (s->cur != s->t) compile_emit(f, OP_MOVE, 0, s->t, s->cur, 0);
    compile_jump_if(f, e->op == TOKEN_OR, s->t, &done);
    compile_to(f, e->binary.y, s->t);
    compile_patch(f, &done, compile_here(f));
    memcpy(f->assigned, before, f->assigned_words * sizeof *before);
    free(before);
    if (dst != s->t) compile_emit(f, OP_MOVE, 0, dst, s->t, 0);
}

static void spine_into_t(Spine *s) {
    if (s->cur != s->t) compile_emit(s->f, OP_MOVE, 0, s->t, s->cur, 0);
}

static void spine_step(Spine *s, const Expr *e, uint16_t dst) {
    Fn *f = s->f;
    f->pos = e->pos;
    switch (e->kind) {
    case EXPR_BINARY:
        if (e->op == TOKEN_AND || e->op == TOKEN_OR) spine_logic(s, e, dst);
        else compile_emit_binary(f, e->op, dst, s->cur, e->binary.y);
        break;
    case EXPR_INDEX: index_into(f, e, dst, s->cur); break;
    case EXPR_SLICE: slice(f, e, dst, s->cur); break;
    case EXPR_DOT: compile_emit(f, OP_ATTR, 0, dst, s->cur, name_constant(f, e, e->dot.name)); break;
    default:
        spine_into_t(s);
        compile_call(f, e, s->t, dst);
        break;
    }
    s->cur = dst;
}

static void no_member(Fn *f, const Expr *dot, const NativeModule *m) {
    enum { NAMES_MAX = 64 };
    Str names[NAMES_MAX];
    size_t n = 0;
    Entry *e;
    for (uint32_t i = 0; n < NAMES_MAX && dict_next(m->members, &i, &e);) names[n++] = value_str(e->key);
    Str module = string_str(m->name), name = string_str(dot->dot.name), near = str_nearest(name, names, n);
    const char *advice = habits_member(module, name);
    if (advice) compile_fail(f, dot->dot.name_pos, STR_FMT " has no member " STR_FMT " (%s)", STR_ARG(module), STR_ARG(name), advice);
    else if (near.n)
        compile_fail(f, dot->dot.name_pos, STR_FMT " has no member " STR_FMT " (did you mean " STR_FMT "?)", STR_ARG(module), STR_ARG(name),
                     STR_ARG(near));
    else compile_fail(f, dot->dot.name_pos, STR_FMT " has no member " STR_FMT, STR_ARG(module), STR_ARG(name));
}

/* The value of `json` or `json.encode`, if both the module and its member are constant. */
static bool known_member(Fn *f, const Expr *dot, Value *out) {
    Value m;
    if (dot->dot.x->kind != EXPR_NAME || !compile_const_value(f, dot->dot.x, &m) || !value_is(m, OBJECT_MODULE)) return false;
    Value *found = dict_find(((NativeModule *)value_object(m))->members, dot->dot.name);
    if (!found && f->unit->in->check_members) no_member(f, dot, (NativeModule *)value_object(m));
    return found && (*out = *found, true);
}

/* Compiles innermost calls of a known native, such as len(x) or json.encode(x), in one step. Returns the number of
 * nodes of the edge that it consumed. A known member is a constant even where it is not called, so a module itself
 * becomes a constant only where the script uses it as a whole (module_each_reached). */
static size_t spine_native(Spine *s, Expr *const *edge, size_t n, const Expr *base, const Expr *whole, uint16_t dst) {
    Value native;
    const Expr *call = NULL, *dot = edge[n - 1]->kind == EXPR_DOT && known_member(s->f, edge[n - 1], &native) ? edge[n - 1] : NULL;
    if (edge[n - 1]->kind == EXPR_CALL && compile_const_value(s->f, base, &native)) call = edge[n - 1];
    else if (dot && n >= 2 && edge[n - 2]->kind == EXPR_CALL) call = edge[n - 2];
    if (!call && !dot) return 0;
    const Expr *last = call ? call : dot;
    uint16_t to = last == whole ? dst : s->t;
    s->f->pos = last->pos;
    s->cur = to;
    if (call && compile_native_call(s->f, call, native, s->t, to)) return dot ? 2 : 1;
    if (!dot) return 0;
    s->cur = dot == whole ? dst : s->t;
    load_constant(s->f, native, s->cur);
    return 1;
}

static void spine(Fn *f, const Expr *e, uint16_t dst) {
    VEC(Expr *) edge = { 0 };
    uint32_t save = f->top;
    const Expr *base = e;
    while (ast_left(base)) {
        VEC_PUSH(&edge, (Expr *)(uintptr_t)base);
        base = ast_left(base);
    }
    Spine s = { f, compile_temp(f), 0 };
    size_t taken = spine_native(&s, edge.at, edge.n, base, e, dst);
    if (!taken) {
        bool local = base->kind == EXPR_NAME && base->name.bind->scope == SCOPE_LOCAL;
        if (local) s.cur = compile_operand(f, base);
        else compile_to(f, base, s.cur = s.t);
    }
    for (size_t i = edge.n - taken; i-- > 0;) {
        const Expr *node = edge.at[i];
        f->top = s.t + 1u;
        bool method = node->kind == EXPR_DOT && i > 0 && edge.at[i - 1]->kind == EXPR_CALL && compile_call_simple(edge.at[i - 1]);
        if (method) {                                    /* x.name(…): skip the bound method */
            const Expr *call = edge.at[--i];
            spine_into_t(&s);
            uint16_t to = call == e ? dst : s.t;
            compile_method_call(f, call, node->dot.name, s.t, to);
            s.cur = to;
        } else
            spine_step(&s, node, node == e ? dst : s.t);
    }
    VEC_CLEAR(&edge);
    f->top = save;
}

void compile_to(Fn *f, const Expr *e, uint16_t dst) {
    f->pos = e->pos;
    switch (e->kind) {
    case EXPR_NAME: load_name(f, e, dst); return;
    case EXPR_CONST: load_constant(f, e->constant, dst); return;
    case EXPR_LIST: case EXPR_TUPLE: display(f, e, dst); return;
    case EXPR_DICT: dict_display(f, e, dst); return;
    case EXPR_COND: conditional(f, e, dst); return;
    case EXPR_UNARY: unary(f, e, dst); return;
    case EXPR_COMPREHENSION: compile_comprehension(f, e, dst); return;
    case EXPR_LAMBDA: compile_function(f, e->lambda, e->pos, dst); return;
    case EXPR_INDEX: case EXPR_SLICE: case EXPR_DOT: case EXPR_CALL: case EXPR_BINARY: spine(f, e, dst); return;
    }
}
