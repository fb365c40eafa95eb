/* The walk over the tree: statements in order, expressions along their left edge. */
#include "starlark/syntax/resolve_private.h"
#include <stdio.h>
#include <stdlib.h>

static void walk_expr(Resolver *r, Expr *e);
static void walk_function(Resolver *r, AstFunction *fn);
static void walk_body(Resolver *r, const AstBody *body);

/* ------------------------------------------------------------------ errors */

static bool is_before(SourcePlace a, const Error *b) {
    return a.line != b->line ? a.line < b->line : a.column < b->column;
}

/* Keeps the first errors by position; errors at the same position stay in the order found. */
void resolve_error(Resolver *r, Pos pos, const char *fmt, ...) {
    ResolverErrors *list = r->errors;
    SourcePlace place = source_place(r->module->source, pos);
    list->total++;
    size_t i = list->n;
    while (i > 0 && is_before(place, &list->at[i - 1])) i--;
    if (i == RESOLVER_ERRORS_MAX) return;
    if (list->n < RESOLVER_ERRORS_MAX) list->n++;
    memmove(&list->at[i + 1], &list->at[i], (list->n - i - 1) * sizeof(Error));
    char text[ERROR_MSG_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    list->at[i] = (Error){ 0 };
    source_error(r->module->source, &list->at[i], pos, "%s", text);
}

static bool at_toplevel(const Resolver *r) { return r->fn->parent == NULL; }

/* ------------------------------------------------------------------ declarations */

static void declare_target(Resolver *r, Expr *e) {
    if (e->kind == EXPR_NAME) resolve_declare(r, e);
    else if (e->kind == EXPR_TUPLE || e->kind == EXPR_LIST)
        for (uint32_t i = 0; i < e->list.n; i++) declare_target(r, e->list.at[i]);
}

static void declare_load(Resolver *r, const Stmt *s) {
    for (uint32_t i = 0; i < s->load.n; i++) {
        Expr *to = s->load.names[i].to;
        if (!resolve_declare_local(r, to) && !r->options->allow_toplevel)
            resolve_error(r, to->pos, "cannot reassign top-level " STR_FMT, STR_ARG(string_str(to->name.name)));
    }
}

/* Declares all names bound by the statements of a function or module body, including nested blocks. */
static void declare_body(Resolver *r, const AstBody *body) {
    for (uint32_t i = 0; i < body->n; i++) {
        const Stmt *s = body->at[i];
        switch (s->kind) {
        case STMT_ASSIGN: declare_target(r, s->assign.target); break;
        case STMT_DEF: resolve_declare(r, s->def.name); break;
        case STMT_IF:
            for (uint32_t arm = 0; arm < s->branch.n; arm++) declare_body(r, &s->branch.arms[arm].body);
            break;
        case STMT_FOR: declare_target(r, s->loop.vars); declare_body(r, &s->loop.body); break;
        case STMT_WHILE: declare_body(r, &s->loop.body); break;
        case STMT_LOAD: declare_load(r, s); break;
        default: break;
        }
    }
}

/* ------------------------------------------------------------------ targets */

static const char *kind_name(ExprKind kind) {
    switch (kind) {
    case EXPR_CONST: return "literal";
    case EXPR_DICT: return "dictexpr";
    case EXPR_COND: return "condexpr";
    case EXPR_SLICE: return "sliceexpr";
    case EXPR_CALL: return "callexpr";
    case EXPR_UNARY: return "unaryexpr";
    case EXPR_BINARY: return "binaryexpr";
    case EXPR_COMPREHENSION: return "comprehension";
    case EXPR_LAMBDA: return "lambdaexpr";
    default: return "expression";
    }
}

static void walk_target(Resolver *r, Expr *e, bool augmented) {
    switch (e->kind) {
    case EXPR_NAME: resolve_bind(r, e); break;
    case EXPR_INDEX: case EXPR_DOT: walk_expr(r, e); break;
    case EXPR_TUPLE: case EXPR_LIST:
        if (augmented)
            resolve_error(r, e->start, "can't use %s expression in augmented assignment",
                          e->kind == EXPR_TUPLE ? "tuple" : "list");
        for (uint32_t i = 0; i < e->list.n; i++) walk_target(r, e->list.at[i], augmented);
        break;
    default: resolve_error(r, e->start, "can't assign to %s", kind_name(e->kind)); break;
    }
}

/* ------------------------------------------------------------------ calls */

typedef struct { uint32_t positional, named; bool star, starstar; } ArgsSeen;

static void check_named(Resolver *r, const AstArg *arg, ArgsSeen *seen) {
    if (seen->starstar) resolve_error(r, arg->pos, "keyword argument may not follow **kwargs");
    else if (seen->star) resolve_error(r, arg->pos, "keyword argument may not follow *args");
    ResolveName *name = resolve_name(r, arg->name);
    if (name->call == r->calls)
        resolve_error(r, arg->pos, "keyword argument \"" STR_FMT "\" is repeated", STR_ARG(string_str(arg->name)));
    name->call = r->calls;
    seen->named++;
}

static void check_arg(Resolver *r, const AstArg *arg, ArgsSeen *seen) {
    switch (arg->kind) {
    case ARG_POSITIONAL:
        if (seen->star) resolve_error(r, arg->pos, "positional argument may not follow *args");
        else if (seen->starstar) resolve_error(r, arg->pos, "positional argument may not follow **kwargs");
        else if (seen->named) resolve_error(r, arg->pos, "positional argument may not follow named");
        seen->positional++;
        break;
    case ARG_NAMED: check_named(r, arg, seen); break;
    case ARG_STAR:
        if (seen->starstar) resolve_error(r, arg->pos, "*args may not follow **kwargs");
        else if (seen->star) resolve_error(r, arg->pos, "multiple *args not allowed");
        seen->star = true;
        break;
    case ARG_STARSTAR:
        if (seen->starstar) resolve_error(r, arg->pos, "multiple **kwargs not allowed");
        seen->starstar = true;
        break;
    }
}

static void walk_args(Resolver *r, const Expr *call) {
    enum { ARGS_MAX = 255 };
    ArgsSeen seen = { 0 };
    r->calls++;
    for (uint32_t i = 0; i < call->call.n; i++) check_arg(r, &call->call.args[i], &seen);
    if (seen.positional > ARGS_MAX)
        resolve_error(r, call->start, "%u positional arguments in call, limit is %d", seen.positional, ARGS_MAX);
    if (seen.named > ARGS_MAX)
        resolve_error(r, call->start, "%u keyword arguments in call, limit is %d", seen.named, ARGS_MAX);
    for (uint32_t i = 0; i < call->call.n; i++) walk_expr(r, call->call.args[i].value);
}

/* ------------------------------------------------------------------ expressions */

static void walk_comprehension(Resolver *r, Expr *e) {
    AstClause *clauses = e->comp.clauses;
    walk_expr(r, clauses[0].x);                      /* in the enclosing scope: consider [x for x in x] */
    ResolveBlock block;
    resolve_open(r, &block, true);
    for (uint32_t i = 0; i < e->comp.n; i++)
        if (clauses[i].is_for) declare_target(r, clauses[i].vars);
    for (uint32_t i = 0; i < e->comp.n; i++) {
        if (i > 0) walk_expr(r, clauses[i].x);
        if (clauses[i].is_for) walk_target(r, clauses[i].vars, false);
    }
    walk_expr(r, e->comp.body);
    if (e->comp.value) walk_expr(r, e->comp.value);
    resolve_close(r);
}

static void walk_if_any(Resolver *r, Expr *e) {
    if (e) walk_expr(r, e);
}

/* Walks the children of e except the one on the left edge. */
static void walk_parts(Resolver *r, Expr *e) {
    switch (e->kind) {
    case EXPR_NAME: resolve_use(r, e); break;
    case EXPR_CONST: case EXPR_DOT: break;
    case EXPR_LIST: case EXPR_TUPLE:
        for (uint32_t i = 0; i < e->list.n; i++) walk_expr(r, e->list.at[i]);
        break;
    case EXPR_DICT:
        for (uint32_t i = 0; i < e->dict.n; i++) walk_expr(r, e->dict.at[i].key), walk_expr(r, e->dict.at[i].value);
        break;
    case EXPR_COND: walk_expr(r, e->cond.test), walk_expr(r, e->cond.yes), walk_expr(r, e->cond.no); break;
    case EXPR_INDEX: walk_expr(r, e->index.index); break;
    case EXPR_SLICE: walk_if_any(r, e->slice.lo), walk_if_any(r, e->slice.hi), walk_if_any(r, e->slice.step); break;
    case EXPR_CALL: walk_args(r, e); break;
    case EXPR_UNARY: walk_expr(r, e->unary.x); break;
    case EXPR_BINARY: walk_expr(r, e->binary.y); break;
    case EXPR_COMPREHENSION: walk_comprehension(r, e); break;
    case EXPR_LAMBDA: walk_function(r, e->lambda); break;
    }
}

/* Goes down the left edge, then up again, so that names are resolved and errors found in source order. */
static void walk_expr(Resolver *r, Expr *e) {
    size_t mark = r->edge.n;
    for (Expr *left; (left = ast_left(e)); e = left) VEC_PUSH(&r->edge, e);
    walk_parts(r, e);
    while (r->edge.n > mark) walk_parts(r, VEC_POP(&r->edge));
}

/* ------------------------------------------------------------------ functions */

typedef struct { const AstParam *star, *starstar; bool optional; } ParamsSeen;

static void declare_param(Resolver *r, const AstParam *param, Pos pos) {
    if (!resolve_declare_local(r, param->name))
        resolve_error(r, pos, "duplicate parameter: " STR_FMT, STR_ARG(string_str(param->name->name.name)));
    resolve_bind(r, param->name);
}

static void check_plain_param(Resolver *r, AstFunction *fn, const AstParam *param, ParamsSeen *seen) {
    if (seen->starstar)
        resolve_error(r, param->pos, "%s parameter may not follow **" STR_FMT, param->fallback ? "optional" : "required",
                      STR_ARG(string_str(seen->starstar->name->name.name)));
    else if (seen->star) fn->n_kwonly++;
    else if (seen->optional && !param->fallback)
        resolve_error(r, param->pos, "required parameter may not follow optional");
    if (param->fallback) seen->optional = true;
    declare_param(r, param, param->pos);
}

static void check_star_param(Resolver *r, const AstParam *param, ParamsSeen *seen) {
    if (param->kind == PARAM_STARSTAR) {
        if (seen->starstar) resolve_error(r, param->pos, "multiple ** parameters not allowed");
        seen->starstar = param;
    } else if (seen->starstar) {
        resolve_error(r, param->pos, "* parameter may not follow **" STR_FMT,
                      STR_ARG(string_str(seen->starstar->name->name.name)));
    } else if (seen->star) resolve_error(r, param->pos, "multiple * parameters not allowed");
    else seen->star = param;
}

/* Declares *args and **kwargs last, so that the other parameters have the first slots without a gap. */
static void walk_params(Resolver *r, AstFunction *fn) {
    ParamsSeen seen = { 0 };
    for (uint32_t i = 0; i < fn->n_declared; i++) {
        const AstParam *param = &fn->params[i];
        if (param->kind == PARAM_PLAIN) check_plain_param(r, fn, param, &seen);
        else check_star_param(r, param, &seen);
    }
    if (seen.star && seen.star->name) {
        fn->has_varargs = true;
        declare_param(r, seen.star, seen.star->name->pos);
    } else if (seen.star && fn->n_kwonly == 0)
        resolve_error(r, seen.star->pos, "bare * must be followed by keyword-only parameters");
    if (seen.starstar) {
        fn->has_kwargs = true;
        declare_param(r, seen.starstar, seen.starstar->name->pos);
    }
    fn->n_params = r->fn->vars.n;
}

static void collect_frees(Resolver *r, AstFunction *fn) {
    fn->n_frees = r->fn->frees.n;
    fn->frees = ARENA_ARRAY(r->arena, Binding *, fn->n_frees);
    for (ResolveVar *v = r->fn->frees.first; v; v = v->next) fn->frees[v->bind.index] = v->captured;
}

static void walk_function(Resolver *r, AstFunction *fn) {
    for (uint32_t i = 0; i < fn->n_declared; i++) walk_if_any(r, fn->params[i].fallback);
    ResolveFn state;
    ResolveBlock block;
    uint32_t loops = r->loops;
    r->loops = 0;
    resolve_open_fn(r, &state, &block, fn);
    walk_params(r, fn);
    declare_body(r, &fn->body);
    walk_body(r, &fn->body);
    walk_if_any(r, fn->result);
    collect_frees(r, fn);
    resolve_close_fn(r);
    r->loops = loops;
}

/* ------------------------------------------------------------------ statements */

static void need_function(Resolver *r, const Stmt *s, const char *what) {
    if (!r->options->allow_toplevel && at_toplevel(r)) resolve_error(r, s->pos, "%s not within a function", what);
}

static void walk_if(Resolver *r, const Stmt *s) {
    need_function(r, s, "if statement");
    r->ifs++;
    for (uint32_t i = 0; i < s->branch.n; i++) {
        walk_if_any(r, s->branch.arms[i].test);
        walk_body(r, &s->branch.arms[i].body);
    }
    r->ifs--;
}

static void walk_loop(Resolver *r, const Stmt *s) {
    if (s->kind == STMT_WHILE && !r->options->allow_while) resolve_error(r, s->pos, "Starlark has no while; use for i in range(N) and break");
    need_function(r, s, s->kind == STMT_FOR ? "for loop" : "while loop");
    walk_expr(r, s->loop.x);
    if (s->kind == STMT_FOR) walk_target(r, s->loop.vars, false);
    r->loops++;
    walk_body(r, &s->loop.body);
    r->loops--;
}

static void check_load_name(Resolver *r, const AstLoadName *name) {
    Str from = string_str(name->from);
    if (from.n == 0) resolve_error(r, name->from_pos, "load: empty identifier");
    else if (from.at[0] == '_')
        resolve_error(r, name->from_pos, "load: names with leading underscores are not exported: " STR_FMT, STR_ARG(from));
}

static void walk_load(Resolver *r, const Stmt *s) {
    if (!r->options->allow_load) resolve_error(r, s->pos,
        "Starlark scripts have no load; define the function in this script, or call another tool with meta.call_tool");
    else if (!at_toplevel(r)) resolve_error(r, s->pos, "load statement within a function");
    else if (r->loops > 0) resolve_error(r, s->pos, "load statement within a loop");
    else if (r->ifs > 0) resolve_error(r, s->pos, "load statement within a conditional");
    for (uint32_t i = 0; i < s->load.n; i++) {
        check_load_name(r, &s->load.names[i]);
        resolve_bind(r, s->load.names[i].to);
    }
}

static void walk_stmt(Resolver *r, Stmt *s) {
    switch (s->kind) {
    case STMT_EXPR: walk_expr(r, s->expr); break;
    case STMT_ASSIGN:
        walk_expr(r, s->assign.value);
        walk_target(r, s->assign.target, s->assign.op != TOKEN_EQ);
        break;
    case STMT_DEF: resolve_bind(r, s->def.name); walk_function(r, s->def.fn); break;
    case STMT_IF: walk_if(r, s); break;
    case STMT_FOR: case STMT_WHILE: walk_loop(r, s); break;
    case STMT_RETURN:
        if (at_toplevel(r)) resolve_error(r, s->pos, "return statement not within a function");
        walk_if_any(r, s->expr);
        break;
    case STMT_BREAK: case STMT_CONTINUE:
        if (r->loops == 0) resolve_error(r, s->pos, "%s not in a loop", s->kind == STMT_BREAK ? "break" : "continue");
        break;
    case STMT_PASS: break;
    case STMT_LOAD: walk_load(r, s); break;
    }
}

static void walk_body(Resolver *r, const AstBody *body) {
    for (uint32_t i = 0; i < body->n; i++) walk_stmt(r, body->at[i]);
}

/* ------------------------------------------------------------------ the module */

static void collect_globals(Resolver *r) {
    AstModule *m = r->module;
    m->n_globals = r->globals.n;
    m->globals = ARENA_ARRAY(r->arena, String *, m->n_globals);
    for (ResolveVar *v = r->globals.first; v; v = v->next) m->globals[v->bind.index] = v->bind.name;
}

bool resolver_module(AstModule *m, const ResolverOptions *options, Arena *arena, ResolverErrors *all, Error *err) {
    ResolverErrors *errors = all ? all : ARENA_NEW(arena, ResolverErrors);
    errors->n = errors->total = 0;
    Resolver r = { .module = m, .options = options, .arena = arena, .errors = errors };
    ResolveFn state;
    ResolveBlock block;
    resolve_open_fn(&r, &state, &block, m->toplevel);
    for (uint32_t i = 0; i < options->n_known; i++) resolve_seed(&r, options->known[i]);
    declare_body(&r, &m->toplevel->body);
    walk_body(&r, &m->toplevel->body);
    walk_if_any(&r, m->toplevel->result);
    resolve_close_fn(&r);
    collect_globals(&r);
    free(r.slot);
    VEC_CLEAR(&r.edge);
    if (errors->n == 0) return true;
    if (err) *err = errors->at[0];
    return false;
}
