#include "ast_dump.h"
#include "base/number.h"
#include "base/vec.h"

typedef struct { Buf *out; bool scopes; } Dump;

static void dump_expr(Dump *d, const Expr *e);
static void dump_body(Dump *d, const AstBody *body);

static void word(Dump *d, const char *s) { buf_add(d->out, str_from(s)); }
static void text(Dump *d, const String *s) { buf_add(d->out, string_str(s)); }

static void space_expr(Dump *d, const Expr *e) {
    word(d, " ");
    if (e) dump_expr(d, e);
    else word(d, "_");
}

static void dump_quoted(Dump *d, Str s) {
    word(d, "\"");
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.at[i];
        if (c == '"' || c == '\\') buf_add_fmt(d->out, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f) buf_add_fmt(d->out, "\\x%02x", c);
        else buf_add_char(d->out, (char)c);
    }
    word(d, "\"");
}

static void dump_constant(Dump *d, Value v) {
    if (value_is_float(v)) {
        char digits[NUMBER_TEXT_SIZE];
        buf_add(d->out, (Str){ digits, number_write_double(value_float(v), digits) });
    } else if (value_is_int(v)) int_text(d->out, v, 10);
    else {
        if (value_is_bytes(v)) word(d, "b");
        dump_quoted(d, value_str(v));
    }
}

static void dump_name(Dump *d, const Expr *e) {
    static const char *const scopes[] = { "undefined", "local", "cell", "free", "global", "predeclared", "universal" };
    text(d, e->name.name);
    const Binding *b = e->name.bind;
    if (!d->scopes || !b) return;
    buf_add_fmt(d->out, "@%s", scopes[b->scope]);
    if (b->scope >= SCOPE_LOCAL && b->scope <= SCOPE_GLOBAL) buf_add_fmt(d->out, "%u", b->index);
}

static void dump_params(Dump *d, const AstFunction *fn) {
    static const char *const stars[] = { "", "*", "**" };
    word(d, "(");
    for (uint32_t i = 0; i < fn->n_declared; i++) {
        const AstParam *param = &fn->params[i];
        word(d, i ? " " : "");
        word(d, stars[param->kind]);
        if (param->name) dump_name(d, param->name);
        if (param->fallback) word(d, "="), dump_expr(d, param->fallback);
    }
    word(d, ")");
}

/* locals=x,y! frees=a: "!" marks a cell. */
static void dump_slots(Dump *d, const AstFunction *fn) {
    if (!d->scopes) return;
    for (uint32_t i = 0; i < fn->n_locals; i++) {
        word(d, i ? "," : " locals=");
        text(d, fn->locals[i].name);
        word(d, fn->locals[i].is_cell ? "!" : "");
    }
    for (uint32_t i = 0; i < fn->n_frees; i++) {
        word(d, i ? "," : " frees=");
        text(d, fn->frees[i]->name);
        buf_add_fmt(d->out, "@%s%u", fn->frees[i]->scope == SCOPE_CELL ? "cell" : "free", fn->frees[i]->index);
    }
}

static void dump_function(Dump *d, const AstFunction *fn) {
    dump_params(d, fn);
    dump_slots(d, fn);
    if (fn->result) space_expr(d, fn->result);
    dump_body(d, &fn->body);
}

static void dump_args(Dump *d, const Expr *e) {
    for (uint32_t i = 0; i < e->call.n; i++) {
        const AstArg *arg = &e->call.args[i];
        word(d, " ");
        if (arg->kind == ARG_NAMED) text(d, arg->name), word(d, "=");
        else if (arg->kind != ARG_POSITIONAL) word(d, arg->kind == ARG_STAR ? "*" : "**");
        dump_expr(d, arg->value);
    }
}

static void dump_clauses(Dump *d, const Expr *e) {
    for (uint32_t i = 0; i < e->comp.n; i++) {
        const AstClause *c = &e->comp.clauses[i];
        word(d, c->is_for ? " (for" : " (if");
        if (c->is_for) space_expr(d, c->vars);
        space_expr(d, c->x);
        word(d, ")");
    }
}

/* Writes the part before the child on the left edge. */
static void dump_opening(Dump *d, const Expr *e) {
    switch (e->kind) {
    case EXPR_BINARY: buf_add_fmt(d->out, "(%s ", e->op == TOKEN_NOT_IN ? "not-in" : token_text(e->op)); break;
    case EXPR_INDEX: word(d, "(index "); break;
    case EXPR_SLICE: word(d, "(slice "); break;
    case EXPR_DOT: word(d, "(dot "); break;
    default: word(d, "(call "); break;
    }
}

static void dump_closing(Dump *d, const Expr *e) {
    switch (e->kind) {
    case EXPR_BINARY: space_expr(d, e->binary.y); break;
    case EXPR_INDEX: space_expr(d, e->index.index); break;
    case EXPR_SLICE: space_expr(d, e->slice.lo), space_expr(d, e->slice.hi), space_expr(d, e->slice.step); break;
    case EXPR_DOT: word(d, " "), text(d, e->dot.name); break;
    default: dump_args(d, e); break;
    }
    word(d, ")");
}

static void dump_leaf(Dump *d, const Expr *e) {
    switch (e->kind) {
    case EXPR_NAME: dump_name(d, e); return;
    case EXPR_CONST: dump_constant(d, e->constant); return;
    case EXPR_LIST: case EXPR_TUPLE:
        word(d, e->kind == EXPR_LIST ? "(list" : "(tuple");
        for (uint32_t i = 0; i < e->list.n; i++) space_expr(d, e->list.at[i]);
        break;
    case EXPR_DICT:
        word(d, "(dict");
        for (uint32_t i = 0; i < e->dict.n; i++) space_expr(d, e->dict.at[i].key), space_expr(d, e->dict.at[i].value);
        break;
    case EXPR_COND: word(d, "(if"), space_expr(d, e->cond.test), space_expr(d, e->cond.yes), space_expr(d, e->cond.no); break;
    case EXPR_UNARY: buf_add_fmt(d->out, "(%s", token_text(e->op)), space_expr(d, e->unary.x); break;
    case EXPR_COMPREHENSION:
        word(d, e->comp.value ? "(dictcomp" : "(listcomp");
        space_expr(d, e->comp.body);
        if (e->comp.value) space_expr(d, e->comp.value);
        dump_clauses(d, e);
        break;
    default: word(d, "(lambda "), dump_function(d, e->lambda); break;
    }
    word(d, ")");
}

static void dump_expr(Dump *d, const Expr *e) {
    VEC(const Expr *) edge = { 0 };
    for (const Expr *left; (left = ast_left(e)); e = left) {
        dump_opening(d, e);
        VEC_PUSH(&edge, e);
    }
    dump_leaf(d, e);
    while (edge.n > 0) dump_closing(d, VEC_POP(&edge));
    VEC_CLEAR(&edge);
}

static void dump_if(Dump *d, const Stmt *s) {
    word(d, "(if");
    for (uint32_t i = 0; i < s->branch.n; i++) {
        space_expr(d, s->branch.arms[i].test);
        word(d, " (");
        dump_body(d, &s->branch.arms[i].body);
        word(d, ")");
    }
}

static void dump_stmt(Dump *d, const Stmt *s) {
    switch (s->kind) {
    case STMT_EXPR: dump_expr(d, s->expr); return;
    case STMT_ASSIGN:
        buf_add_fmt(d->out, "(%s%s", token_text(s->assign.op), s->assign.op == TOKEN_EQ ? "" : "=");
        space_expr(d, s->assign.target), space_expr(d, s->assign.value);
        break;
    case STMT_DEF: word(d, "(def "), dump_name(d, s->def.name), word(d, " "), dump_function(d, s->def.fn); break;
    case STMT_IF: dump_if(d, s); break;
    case STMT_FOR: word(d, "(for"), space_expr(d, s->loop.vars), space_expr(d, s->loop.x), dump_body(d, &s->loop.body); break;
    case STMT_WHILE: word(d, "(while"), space_expr(d, s->loop.x), dump_body(d, &s->loop.body); break;
    case STMT_RETURN:
        word(d, "(return");
        if (s->expr) space_expr(d, s->expr);
        break;
    case STMT_BREAK: word(d, "(break"); break;
    case STMT_CONTINUE: word(d, "(continue"); break;
    case STMT_PASS: word(d, "(pass"); break;
    case STMT_LOAD:
        word(d, "(load "), dump_quoted(d, string_str(s->load.module));
        for (uint32_t i = 0; i < s->load.n; i++) {
            word(d, " "), dump_name(d, s->load.names[i].to), word(d, "=");
            dump_quoted(d, string_str(s->load.names[i].from));
        }
        break;
    }
    word(d, ")");
}

static void dump_body(Dump *d, const AstBody *body) {
    for (uint32_t i = 0; i < body->n; i++) {
        if (d->out->n > 0 && d->out->at[d->out->n - 1] != '(') word(d, " ");
        dump_stmt(d, body->at[i]);
    }
}

void ast_dump(const AstModule *m, bool scopes, Buf *out) {
    Dump d = { out, scopes };
    if (m->toplevel->result) dump_expr(&d, m->toplevel->result);
    dump_body(&d, &m->toplevel->body);
}
