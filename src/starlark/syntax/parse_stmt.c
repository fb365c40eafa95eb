/* Statements, blocks and parameter lists. */
#include "starlark/syntax/parse_private.h"

static bool parse_suite(Parser *p, AstBody *out);

static Stmt *new_stmt(Parser *p, StmtKind kind, Pos pos) {
    Stmt *s = ARENA_NEW(p->in->arena, Stmt);
    s->kind = kind;
    s->pos = pos;
    return s;
}

/* ------------------------------------------------------------------ functions */

static bool parse_param(Parser *p, AstParam *param) {
    *param = (AstParam){ .kind = PARAM_PLAIN, .pos = p->tok.pos };
    bool star = p->tok.kind == TOKEN_STAR, starstar = p->tok.kind == TOKEN_STARSTAR;
    if (star || starstar) {
        param->kind = star ? PARAM_STAR : PARAM_STARSTAR;
        if (!parse_advance(p, NULL)) return false;
        return (star && p->tok.kind != TOKEN_IDENT) || (param->name = parse_name(p));
    }
    if (!(param->name = parse_name(p))) return false;
    if (p->tok.kind != TOKEN_EQ) return true;
    return parse_advance(p, &param->pos) && (param->fallback = parse_test(p));
}

static bool ends_params(Token t) { return t == TOKEN_RPAREN || t == TOKEN_COLON || t == TOKEN_EOF; }

bool parse_params(Parser *p, AstFunction *fn) {
    size_t mark = p->stack.n;
    while (!ends_params(p->tok.kind)) {
        AstParam param;
        if (p->stack.n > mark && !parse_expect(p, TOKEN_COMMA, NULL)) return false;
        if (p->tok.kind == TOKEN_RPAREN) break;      /* trailing comma, not allowed in a lambda */
        if (!parse_param(p, &param)) return false;
        parse_push(p, &param, sizeof param);
    }
    fn->n_declared = parse_list(p, mark, sizeof(AstParam), &fn->params);
    return true;
}

static String *docstring(const AstBody *body) {
    if (body->n == 0 || body->at[0]->kind != STMT_EXPR) return NULL;
    const Expr *e = body->at[0]->expr;
    return e->kind == EXPR_CONST && value_is_string(e->constant) ? value_string(e->constant) : NULL;
}

static Stmt *parse_def(Parser *p) {
    Pos pos;
    if (!parse_advance(p, &pos)) return NULL;
    Stmt *s = new_stmt(p, STMT_DEF, pos);
    AstFunction *fn = s->def.fn = ARENA_NEW(p->in->arena, AstFunction);
    if (!(s->def.name = parse_name(p)) || !parse_expect(p, TOKEN_LPAREN, NULL) || !parse_params(p, fn) ||
        !parse_expect(p, TOKEN_RPAREN, NULL) || !parse_expect(p, TOKEN_COLON, NULL) || !parse_suite(p, &fn->body))
        return NULL;
    fn->pos = pos;
    fn->name = s->def.name->name.name;
    fn->doc = docstring(&fn->body);
    return s;
}

/* ------------------------------------------------------------------ compound statements */

static bool parse_arm(Parser *p, bool has_test) {
    AstArm arm = { 0 };
    if (!parse_advance(p, &arm.pos) || (has_test && !(arm.test = parse_test(p)))) return false;
    if (!parse_expect(p, TOKEN_COLON, NULL) || !parse_suite(p, &arm.body)) return false;
    parse_push(p, &arm, sizeof arm);
    return true;
}

static Stmt *parse_if(Parser *p) {
    Stmt *s = new_stmt(p, STMT_IF, p->tok.pos);
    size_t mark = p->stack.n;
    do {
        if (!parse_arm(p, true)) return NULL;
    } while (p->tok.kind == TOKEN_ELIF);
    if (p->tok.kind == TOKEN_ELSE && !parse_arm(p, false)) return NULL;
    s->branch.n = parse_list(p, mark, sizeof(AstArm), &s->branch.arms);
    return s;
}

static Stmt *parse_for(Parser *p) {
    Stmt *s = new_stmt(p, STMT_FOR, p->tok.pos);
    if (!parse_advance(p, NULL) || !(s->loop.vars = parse_loop_vars(p)) || !parse_expect(p, TOKEN_IN, NULL) ||
        !(s->loop.x = parse_expr(p, false)) || !parse_expect(p, TOKEN_COLON, NULL) || !parse_suite(p, &s->loop.body))
        return NULL;
    return s;
}

static Stmt *parse_while(Parser *p) {
    Stmt *s = new_stmt(p, STMT_WHILE, p->tok.pos);
    if (!parse_advance(p, NULL) || !(s->loop.x = parse_test(p)) || !parse_expect(p, TOKEN_COLON, NULL) ||
        !parse_suite(p, &s->loop.body))
        return NULL;
    return s;
}

/* ------------------------------------------------------------------ load */

static Expr *load_name(Parser *p, String *name, Pos pos) {
    Expr *e = parse_new_expr(p, EXPR_NAME, pos, pos);
    e->name.name = name;
    return e;
}

/* Reads a name from a string literal; its position is that of the character after the quote. */
static bool load_string(Parser *p, String **name, Pos *pos) {
    *name = value_string(p->tok.value);
    if (!parse_advance(p, pos)) return false;
    pos->col++;
    return true;
}

static bool parse_load_name(Parser *p, AstLoadName *out) {
    if (p->tok.kind == TOKEN_STRING) {
        if (!load_string(p, &out->from, &out->from_pos)) return false;
        out->to = load_name(p, out->from, out->from_pos);
        return true;
    }
    if (p->tok.kind != TOKEN_IDENT)
        return parse_fail(p, p->tok.pos, "load operand must be \"name\" or localname=\"name\" (got %s)", token_quoted(p->tok.kind));
    if (!(out->to = parse_name(p))) return false;
    Str name = string_str(out->to->name.name);
    name.n = name.n < 100 ? name.n : 100;
    if (p->tok.kind != TOKEN_EQ)
        return parse_fail(p, p->tok.pos,
                          "load operand must be \"" STR_FMT "\" or " STR_FMT "=\"originalname\" (want '=' after " STR_FMT ")",
                          STR_ARG(name), STR_ARG(name), STR_ARG(name));
    if (!parse_advance(p, NULL)) return false;
    if (p->tok.kind != TOKEN_STRING)
        return parse_fail(p, p->tok.pos, "original name of loaded symbol must be quoted: " STR_FMT "=\"originalname\"", STR_ARG(name));
    return load_string(p, &out->from, &out->from_pos);
}

static Stmt *parse_load(Parser *p) {
    Stmt *s = new_stmt(p, STMT_LOAD, p->tok.pos);
    Pos open;
    if (!parse_advance(p, NULL) || !parse_expect(p, TOKEN_LPAREN, &open)) return NULL;
    if (p->tok.kind != TOKEN_STRING) {
        parse_fail(p, p->tok.pos, "first operand of load statement must be a string literal");
        return NULL;
    }
    s->load.module = value_string(p->tok.value);
    if (!parse_advance(p, NULL)) return NULL;
    size_t mark = p->stack.n;
    while (p->tok.kind != TOKEN_RPAREN && p->tok.kind != TOKEN_EOF) {
        AstLoadName name = { 0 };
        if (!parse_expect(p, TOKEN_COMMA, NULL)) return NULL;
        if (p->tok.kind == TOKEN_RPAREN) break;
        if (!parse_load_name(p, &name)) return NULL;
        parse_push(p, &name, sizeof name);
    }
    if (!parse_expect(p, TOKEN_RPAREN, NULL)) return NULL;
    s->load.n = parse_list(p, mark, sizeof(AstLoadName), &s->load.names);
    if (s->load.n > 0) return s;
    parse_fail(p, open, "load statement must import at least 1 symbol");
    return NULL;
}

/* ------------------------------------------------------------------ simple statements */

static Stmt *parse_return(Parser *p) {
    Stmt *s = new_stmt(p, STMT_RETURN, p->tok.pos);
    if (!parse_advance(p, NULL)) return NULL;
    bool empty = p->tok.kind == TOKEN_EOF || p->tok.kind == TOKEN_NEWLINE || p->tok.kind == TOKEN_SEMI;
    return empty || (s->expr = parse_expr(p, false)) ? s : NULL;
}

static Stmt *parse_word(Parser *p, StmtKind kind) {
    Stmt *s = new_stmt(p, kind, p->tok.pos);
    return parse_advance(p, NULL) ? s : NULL;
}

static Stmt *parse_assign_or_expr(Parser *p) {
    Expr *x = parse_expr(p, false);
    if (!x) return NULL;
    Token op = p->tok.kind;
    if (op != TOKEN_EQ && !token_is_augmented(op)) {
        Stmt *s = new_stmt(p, STMT_EXPR, x->start);
        s->expr = x;
        return s;
    }
    Stmt *s = new_stmt(p, STMT_ASSIGN, p->tok.pos);
    s->assign.op = op == TOKEN_EQ ? op : token_augmented_op(op);
    s->assign.target = x;
    return parse_advance(p, NULL) && (s->assign.value = parse_expr(p, false)) ? s : NULL;
}

static Stmt *parse_small(Parser *p) {
    switch (p->tok.kind) {
    case TOKEN_RETURN: return parse_return(p);
    case TOKEN_BREAK: return parse_word(p, STMT_BREAK);
    case TOKEN_CONTINUE: return parse_word(p, STMT_CONTINUE);
    case TOKEN_PASS: return parse_word(p, STMT_PASS);
    case TOKEN_LOAD: return parse_load(p);
    default: return parse_assign_or_expr(p);
    }
}

/* Parses `a; b; c` and a newline onto the list stack. */
static bool parse_simple_line(Parser *p) {
    for (;;) {
        Stmt *s = parse_small(p);
        if (!s) return false;
        parse_push(p, &s, sizeof s);
        if (p->tok.kind != TOKEN_SEMI) break;
        if (!parse_advance(p, NULL)) return false;
        if (p->tok.kind == TOKEN_NEWLINE || p->tok.kind == TOKEN_EOF) break;
    }
    return p->tok.kind == TOKEN_EOF || parse_expect(p, TOKEN_NEWLINE, NULL);   /* the last line may lack one */
}

/* ------------------------------------------------------------------ blocks */

static bool parse_stmt(Parser *p) {
    Stmt *s;
    switch (p->tok.kind) {
    case TOKEN_DEF: s = parse_def(p); break;
    case TOKEN_IF: s = parse_if(p); break;
    case TOKEN_FOR: s = parse_for(p); break;
    case TOKEN_WHILE: s = parse_while(p); break;
    default: return parse_simple_line(p);
    }
    if (s) parse_push(p, &s, sizeof s);
    return s != NULL;
}

static bool parse_suite(Parser *p, AstBody *out) {
    size_t mark = p->stack.n;
    if (!parse_enter(p)) return false;
    if (p->tok.kind != TOKEN_NEWLINE) {
        if (!parse_simple_line(p)) return false;
    } else {
        if (!parse_advance(p, NULL) || !parse_expect(p, TOKEN_INDENT, NULL)) return false;
        while (p->tok.kind != TOKEN_OUTDENT && p->tok.kind != TOKEN_EOF)
            if (!parse_stmt(p)) return false;
        if (!parse_expect(p, TOKEN_OUTDENT, NULL)) return false;
    }
    parse_leave(p);
    out->n = parse_list(p, mark, sizeof(Stmt *), &out->at);
    return true;
}

bool parse_file(Parser *p, AstFunction *toplevel) {
    size_t mark = p->stack.n;
    while (p->tok.kind != TOKEN_EOF)
        if (!(p->tok.kind == TOKEN_NEWLINE ? parse_advance(p, NULL) : parse_stmt(p))) return false;
    toplevel->body.n = parse_list(p, mark, sizeof(Stmt *), &toplevel->body.at);
    toplevel->doc = docstring(&toplevel->body);
    return true;
}
