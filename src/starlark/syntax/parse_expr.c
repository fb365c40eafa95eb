/* Expressions. Binary operators use precedence climbing: one loop builds the left edge of the tree,
 * and only right operands recurse. */
#include "starlark/syntax/parse_private.h"

enum { PREC_NONE = -1, PREC_LOWEST, PREC_OR = 0, PREC_AND, PREC_NOT, PREC_COMPARE, PREC_PIPE, PREC_CARET, PREC_AMP,
       PREC_SHIFT, PREC_SUM, PREC_PRODUCT };

static int precedence(Token t) {
    switch (t) {
    case TOKEN_OR: return PREC_OR;
    case TOKEN_AND: return PREC_AND;
    case TOKEN_EQL: case TOKEN_NEQ: case TOKEN_LT: case TOKEN_GT: case TOKEN_LE: case TOKEN_GE:
    case TOKEN_IN: case TOKEN_NOT_IN: return PREC_COMPARE;
    case TOKEN_PIPE: return PREC_PIPE;
    case TOKEN_CIRCUMFLEX: return PREC_CARET;
    case TOKEN_AMP: return PREC_AMP;
    case TOKEN_LTLT: case TOKEN_GTGT: return PREC_SHIFT;
    case TOKEN_PLUS: case TOKEN_MINUS: return PREC_SUM;
    case TOKEN_STAR: case TOKEN_SLASH: case TOKEN_SLASHSLASH: case TOKEN_PERCENT: return PREC_PRODUCT;
    default: return PREC_NONE;
    }
}

static Expr *parse_suffixed(Parser *p);
static Expr *parse_operators(Parser *p, int lowest);

/* True for a token that may follow a trailing comma. */
static bool ends_list(Token t) {
    return t == TOKEN_EOF || t == TOKEN_NEWLINE || t == TOKEN_EQ || t == TOKEN_RBRACE || t == TOKEN_RBRACK ||
           t == TOKEN_RPAREN || t == TOKEN_SEMI;
}

/* ------------------------------------------------------------------ lists, tuples, dicts */

static Expr *finish_items(Parser *p, ExprKind kind, Pos pos, size_t mark) {
    Expr *e = parse_new_expr(p, kind, pos, pos);
    e->list.n = parse_list(p, mark, sizeof(Expr *), &e->list.at);
    return e;
}

/* Parses more items, each after a comma, onto the list stack. */
static bool parse_more(Parser *p, bool trailing_comma) {
    while (p->tok.kind == TOKEN_COMMA) {
        Pos comma;
        if (!parse_advance(p, &comma)) return false;
        if (ends_list(p->tok.kind))
            return trailing_comma || parse_fail(p, comma, "unparenthesized tuple with trailing comma");
        Expr *x = parse_test(p);
        if (!x) return false;
        parse_push(p, &x, sizeof x);
    }
    return true;
}

Expr *parse_expr(Parser *p, bool trailing_comma) {
    Expr *x = parse_test(p);
    if (!x || p->tok.kind != TOKEN_COMMA) return x;
    size_t mark = p->stack.n;
    parse_push(p, &x, sizeof x);
    return parse_more(p, trailing_comma) ? finish_items(p, EXPR_TUPLE, x->start, mark) : NULL;
}

Expr *parse_loop_vars(Parser *p) {
    Expr *x = parse_suffixed(p);                     /* not a test, which would consume the `in` */
    if (!x || p->tok.kind != TOKEN_COMMA) return x;
    Pos start = x->start;
    size_t mark = p->stack.n;
    parse_push(p, &x, sizeof x);
    while (p->tok.kind == TOKEN_COMMA) {
        if (!parse_advance(p, NULL)) return NULL;
        if (ends_list(p->tok.kind)) break;
        if (!(x = parse_suffixed(p))) return NULL;
        parse_push(p, &x, sizeof x);
    }
    return finish_items(p, EXPR_TUPLE, start, mark);
}

static bool parse_for_clause(Parser *p, AstClause *c) {
    c->is_for = true;
    if (!parse_advance(p, &c->pos) || !(c->vars = parse_loop_vars(p)) || !parse_expect(p, TOKEN_IN, NULL)) return false;
    return (c->x = parse_operators(p, PREC_LOWEST)) != NULL;
}

static Expr *parse_lambda(Parser *p, bool conditional);

static bool parse_if_clause(Parser *p, AstClause *c) {
    if (!parse_advance(p, &c->pos)) return false;
    c->x = p->tok.kind == TOKEN_LAMBDA ? parse_lambda(p, false) : parse_operators(p, PREC_LOWEST);
    return c->x != NULL;
}

/* Parses the clauses and the closing bracket. `value` is NULL for a list. */
static Expr *parse_comprehension(Parser *p, Pos open, Expr *body, Expr *value, Token close) {
    size_t mark = p->stack.n;
    while (p->tok.kind != close) {
        AstClause c = { 0 };
        bool ok;
        if (p->tok.kind == TOKEN_FOR) ok = parse_for_clause(p, &c);
        else if (p->tok.kind == TOKEN_IF) ok = parse_if_clause(p, &c);
        else ok = parse_fail_token(p, close == TOKEN_RBRACK ? "']', for, or if" : "'}', for, or if");
        if (!ok) return NULL;
        parse_push(p, &c, sizeof c);
    }
    if (!parse_advance(p, NULL)) return NULL;
    Expr *e = parse_new_expr(p, EXPR_COMPREHENSION, open, open);
    e->comp.body = body;
    e->comp.value = value;
    e->comp.n = parse_list(p, mark, sizeof(AstClause), &e->comp.clauses);
    return e;
}

static Expr *parse_list_display(Parser *p) {
    Pos open;
    size_t mark = p->stack.n;
    if (!parse_advance(p, &open)) return NULL;
    if (p->tok.kind != TOKEN_RBRACK) {
        Expr *x = parse_test(p);
        if (!x) return NULL;
        if (p->tok.kind == TOKEN_FOR) return parse_comprehension(p, open, x, NULL, TOKEN_RBRACK);
        parse_push(p, &x, sizeof x);
        if (!parse_more(p, true)) return NULL;
    }
    return parse_expect(p, TOKEN_RBRACK, NULL) ? finish_items(p, EXPR_LIST, open, mark) : NULL;
}

static bool parse_dict_item(Parser *p, AstDictItem *item) {
    return (item->key = parse_test(p)) && parse_expect(p, TOKEN_COLON, &item->pos) && (item->value = parse_test(p));
}

static Expr *parse_dict_display(Parser *p) {
    Pos open;
    size_t mark = p->stack.n;
    if (!parse_advance(p, &open)) return NULL;
    while (p->tok.kind != TOKEN_RBRACE) {
        AstDictItem item;
        if (!parse_dict_item(p, &item)) return NULL;
        if (p->tok.kind == TOKEN_FOR && p->stack.n == mark)
            return parse_comprehension(p, open, item.key, item.value, TOKEN_RBRACE);
        parse_push(p, &item, sizeof item);
        if (p->tok.kind != TOKEN_COMMA) break;
        if (!parse_advance(p, NULL)) return NULL;
    }
    if (!parse_expect(p, TOKEN_RBRACE, NULL)) return NULL;
    Expr *e = parse_new_expr(p, EXPR_DICT, open, open);
    e->dict.n = parse_list(p, mark, sizeof(AstDictItem), &e->dict.at);
    return e;
}

static Expr *parse_parens(Parser *p) {
    Pos open;
    if (!parse_advance(p, &open)) return NULL;
    Expr *e;
    if (p->tok.kind == TOKEN_RPAREN) e = finish_items(p, EXPR_TUPLE, open, p->stack.n);
    else if (!(e = parse_expr(p, true))) return NULL;
    if (!parse_expect(p, TOKEN_RPAREN, NULL)) return NULL;
    e->parens = true;
    e->start = open;
    return e;
}

/* ------------------------------------------------------------------ primaries */

Expr *parse_name(Parser *p) {
    if (p->tok.kind != TOKEN_IDENT) {
        parse_fail(p, p->tok.pos, "not an identifier");
        p->unexpected = true;
        return NULL;
    }
    Expr *e = parse_new_expr(p, EXPR_NAME, p->tok.pos, p->tok.pos);
    e->name.name = value_string(p->tok.value);
    return parse_advance(p, NULL) ? e : NULL;
}

static Expr *parse_constant(Parser *p) {
    Expr *e = parse_new_expr(p, EXPR_CONST, p->tok.pos, p->tok.pos);
    e->constant = p->tok.value;
    return parse_advance(p, NULL) ? e : NULL;
}

/* `operand` parses the operand of the operator. */
static Expr *parse_unary(Parser *p, Expr *(*operand)(Parser *)) {
    Pos pos;
    Token op = p->tok.kind;
    if (!parse_advance(p, &pos)) return NULL;
    Expr *x = operand(p);
    if (!x) return NULL;
    Expr *e = parse_new_expr(p, EXPR_UNARY, pos, pos);
    e->op = op;
    e->unary.x = x;
    return e;
}

static Expr *parse_primary(Parser *p) {
    switch (p->tok.kind) {
    case TOKEN_IDENT: return parse_name(p);
    case TOKEN_INT: case TOKEN_FLOAT: case TOKEN_STRING: case TOKEN_BYTES: return parse_constant(p);
    case TOKEN_LBRACK: return parse_list_display(p);
    case TOKEN_LBRACE: return parse_dict_display(p);
    case TOKEN_LPAREN: return parse_parens(p);
    case TOKEN_MINUS: case TOKEN_PLUS: case TOKEN_TILDE: return parse_unary(p, parse_suffixed);
    default: parse_fail_token(p, "primary expression"); return NULL;
    }
}

/* ------------------------------------------------------------------ suffixes */

static Expr *parse_dot(Parser *p, Expr *x) {
    Pos dot;
    if (!parse_advance(p, &dot)) return NULL;
    Pos name_pos = p->tok.pos;
    Expr *name = parse_name(p);
    if (!name) return NULL;
    Expr *e = parse_new_expr(p, EXPR_DOT, dot, x->start);
    e->dot.x = x;
    e->dot.name = name->name.name;
    e->dot.name_pos = name_pos;
    return e;
}

static bool at_slice_part(const Parser *p) { return p->tok.kind != TOKEN_COLON && p->tok.kind != TOKEN_RBRACK; }

/* Parses ":" and the optional expression after it. */
static bool parse_slice_part(Parser *p, Expr **out) {
    if (p->tok.kind != TOKEN_COLON) return true;
    return parse_advance(p, NULL) && (!at_slice_part(p) || (*out = parse_test(p)));
}

static Expr *parse_subscript(Parser *p, Expr *x) {
    Pos open;
    Expr *lo = NULL, *hi = NULL, *step = NULL;
    if (!parse_advance(p, &open)) return NULL;
    if (p->tok.kind != TOKEN_COLON) {
        if (!(lo = parse_expr(p, false))) return NULL;
        if (p->tok.kind == TOKEN_RBRACK) {
            Expr *e = parse_new_expr(p, EXPR_INDEX, open, x->start);
            e->index.x = x;
            e->index.index = lo;
            return parse_advance(p, NULL) ? e : NULL;
        }
    }
    if (!parse_slice_part(p, &hi) || !parse_slice_part(p, &step) || !parse_expect(p, TOKEN_RBRACK, NULL)) return NULL;
    Expr *e = parse_new_expr(p, EXPR_SLICE, open, x->start);
    e->slice.x = x;
    e->slice.lo = lo;
    e->slice.hi = hi;
    e->slice.step = step;
    return e;
}

static bool parse_arg(Parser *p, AstArg *arg) {
    *arg = (AstArg){ .pos = p->tok.pos };
    if (p->tok.kind == TOKEN_STAR || p->tok.kind == TOKEN_STARSTAR) {
        arg->kind = p->tok.kind == TOKEN_STAR ? ARG_STAR : ARG_STARSTAR;
        if (!parse_advance(p, NULL)) return false;
    }
    if (!(arg->value = parse_test(p))) return false;
    if (p->tok.kind != TOKEN_EQ || arg->kind != ARG_POSITIONAL) return true;
    if (arg->value->kind != EXPR_NAME || arg->value->parens)
        return parse_fail(p, p->tok.pos, "keyword argument must have form name=expr");
    arg->kind = ARG_NAMED;
    arg->name = arg->value->name.name;
    return parse_advance(p, NULL) && (arg->value = parse_test(p));
}

static Expr *parse_call(Parser *p, Expr *fn) {
    Pos open;
    size_t mark = p->stack.n;
    if (!parse_advance(p, &open)) return NULL;
    while (p->tok.kind != TOKEN_RPAREN && p->tok.kind != TOKEN_EOF) {
        AstArg arg;
        if (p->stack.n > mark && !parse_expect(p, TOKEN_COMMA, NULL)) return NULL;
        if (p->tok.kind == TOKEN_RPAREN) break;
        if (!parse_arg(p, &arg)) return NULL;
        parse_push(p, &arg, sizeof arg);
    }
    if (!parse_expect(p, TOKEN_RPAREN, NULL)) return NULL;
    Expr *e = parse_new_expr(p, EXPR_CALL, open, fn->start);
    e->call.fn = fn;
    e->call.n = parse_list(p, mark, sizeof(AstArg), &e->call.args);
    return e;
}

/* A primary and its suffixes: .name, [index], (arguments). */
static Expr *parse_suffixed(Parser *p) {
    if (!parse_enter(p)) return NULL;                /* every bracket and every sign passes here */
    Expr *x = parse_primary(p);
    while (x) {
        if (p->tok.kind == TOKEN_DOT) x = parse_dot(p, x);
        else if (p->tok.kind == TOKEN_LBRACK) x = parse_subscript(p, x);
        else if (p->tok.kind == TOKEN_LPAREN) x = parse_call(p, x);
        else break;
    }
    parse_leave(p);
    return x;
}

/* ------------------------------------------------------------------ operators */

static Expr *parse_not_operand(Parser *p) {
    if (!parse_enter(p)) return NULL;
    Expr *x = parse_operators(p, PREC_NOT);
    parse_leave(p);
    return x;
}

/* `not in` is two tokens; in operator position nothing else starts with `not`. */
static bool join_not_in(Parser *p) {
    if (!parse_advance(p, NULL)) return false;
    if (p->tok.kind != TOKEN_IN) return parse_fail_token(p, "in");
    p->tok.kind = TOKEN_NOT_IN;                      /* report the position of `in`, like the reference implementation */
    return true;
}

static Expr *parse_operators(Parser *p, int lowest) {
    Expr *x = p->tok.kind == TOKEN_NOT && lowest <= PREC_NOT ? parse_unary(p, parse_not_operand) : parse_suffixed(p);
    bool compared = false;                           /* is x a comparison made by this loop? */
    while (x) {
        if (p->tok.kind == TOKEN_NOT && !join_not_in(p)) return NULL;
        Token op = p->tok.kind;
        int prec = precedence(op);
        if (prec < lowest) return x;
        if (compared && prec == PREC_COMPARE) {      /* comparisons do not associate */
            parse_fail(p, p->tok.pos, "%s does not associate with %s (use parens)", token_text(x->op), token_text(op));
            return NULL;
        }
        if (op == TOKEN_GTGT && x->kind == EXPR_NAME && str_eq(string_str(x->name.name), STR("print"))) {
            parse_fail(p, p->tok.pos, "print is a function here; write print(x)");
            return NULL;
        }
        compared = prec == PREC_COMPARE;
        Pos pos;
        if (!parse_advance(p, &pos)) return NULL;
        Expr *y = parse_operators(p, prec + 1);
        if (!y) return NULL;
        Expr *e = parse_new_expr(p, EXPR_BINARY, pos, x->start);
        e->op = op;
        e->binary.x = x;
        e->binary.y = y;
        x = e;
    }
    return NULL;
}

/* Without `conditional`, an `if` ends the body, because it belongs to a comprehension. */
static Expr *parse_lambda(Parser *p, bool conditional) {
    Pos pos;
    if (!parse_enter(p) || !parse_advance(p, &pos)) return NULL;
    AstFunction *fn = ARENA_NEW(p->in->arena, AstFunction);
    fn->pos = pos;
    fn->name = string_intern(p->in->heap, p->in->names, STR("lambda"), p->err);
    if (!fn->name || !parse_params(p, fn) || !parse_expect(p, TOKEN_COLON, NULL)) return NULL;
    if (conditional) fn->result = parse_test(p);
    else fn->result = p->tok.kind == TOKEN_LAMBDA ? parse_lambda(p, false) : parse_operators(p, PREC_LOWEST);
    if (!fn->result) return NULL;
    parse_leave(p);
    Expr *e = parse_new_expr(p, EXPR_LAMBDA, pos, pos);
    e->lambda = fn;
    return e;
}

static Expr *parse_conditional(Parser *p, Expr *yes) {
    Pos pos;
    if (!parse_enter(p) || !parse_advance(p, &pos)) return NULL;
    Expr *test = parse_operators(p, PREC_LOWEST);
    if (!test) return NULL;
    if (p->tok.kind != TOKEN_ELSE) {
        parse_fail(p, pos, "conditional expression without else clause");
        return NULL;
    }
    if (!parse_advance(p, NULL)) return NULL;
    Expr *no = parse_test(p);
    if (!no) return NULL;
    parse_leave(p);
    Expr *e = parse_new_expr(p, EXPR_COND, pos, yes->start);
    e->cond.test = test;
    e->cond.yes = yes;
    e->cond.no = no;
    return e;
}

Expr *parse_test(Parser *p) {
    if (p->tok.kind == TOKEN_LAMBDA) return parse_lambda(p, true);
    Expr *x = parse_operators(p, PREC_LOWEST);
    return x && p->tok.kind == TOKEN_IF ? parse_conditional(p, x) : x;
}
