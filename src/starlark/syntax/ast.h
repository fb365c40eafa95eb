/* The syntax tree, allocated in an arena. The parser builds it; the resolver fills in bindings.
 *
 * Depth. Blocks, brackets, unary operators, lambdas and the `else` of conditional expressions
 * together nest at most PARSER_DEPTH_MAX deep; the right operands of binary operators add up to ten
 * levels of precedence to each. So a walk may recurse (at most AST_RECURSION_MAX deep) over every
 * edge of the tree except one: the *left edge* (ast_left). Chains such as `a + b + c …`, `a or b or
 * c …`, `a.b.c …` and `f(x)(y) …` grow along it without limit, so a walk must loop down the left
 * edge. `elif` does not nest: an if statement is a list of arms.
 *
 * Parentheses have no node of their own: `parens` is set, and `start` is the opening one.
 *
 * `pos` is the position that a runtime error reports: of a call its "(", of an index or slice its
 * "[", of an attribute its ".", of a binary or unary operator the operator, of a conditional
 * expression the "if", of an assignment the "=" or "+="; otherwise the first character. */
#pragma once
#include "starlark/syntax/lexer.h"

enum { PARSER_DEPTH_MAX = 200, AST_RECURSION_MAX = 12 * (PARSER_DEPTH_MAX + 1) };

typedef struct Expr Expr;
typedef struct Stmt Stmt;
typedef struct AstFunction AstFunction;

/* ------------------------------------------------------------------ bindings */

typedef enum Scope {
    SCOPE_UNDEFINED,
    SCOPE_LOCAL,               /* a slot of the function */
    SCOPE_CELL,                /* a slot that holds a cell, because an inner function captures the variable */
    SCOPE_FREE,                /* index into the function's `frees` */
    SCOPE_GLOBAL,              /* index into the module's `globals` */
    SCOPE_PREDECLARED,         /* by name: supplied by the caller for this module */
    SCOPE_UNIVERSAL,           /* by name: None, len, … */
} Scope;

/* What a name refers to. All uses of one variable in one function share one Binding. It is final
 * once the resolver is done; until then a LOCAL may still become a CELL. */
typedef struct Binding {
    Scope scope;
    uint32_t index;
    String *name;
    Pos first;                 /* position of the first binding use; line 0: none */
} Binding;

/* ------------------------------------------------------------------ expressions */

typedef enum ExprKind {
    EXPR_NAME, EXPR_CONST, EXPR_LIST, EXPR_TUPLE, EXPR_DICT, EXPR_COND, EXPR_INDEX, EXPR_SLICE,
    EXPR_DOT, EXPR_CALL, EXPR_UNARY, EXPR_BINARY, EXPR_COMPREHENSION, EXPR_LAMBDA,
} ExprKind;

typedef struct AstDictItem { Expr *key, *value; Pos pos; } AstDictItem;      /* pos: of the colon */

typedef enum ArgKind { ARG_POSITIONAL, ARG_NAMED, ARG_STAR, ARG_STARSTAR } ArgKind;
typedef struct AstArg { ArgKind kind; Pos pos; String *name; Expr *value; } AstArg;  /* name: of ARG_NAMED only */

/* `for vars in x` or `if x`. The first clause is always a for. */
typedef struct AstClause { bool is_for; Pos pos; Expr *vars, *x; } AstClause;

struct Expr {
    ExprKind kind;
    Token op;                  /* of UNARY (+ - ~ not) and BINARY (arithmetic, comparison, in, not in, and, or) */
    bool parens;
    Pos pos, start;
    union {
        struct { String *name; Binding *bind; } name;
        Value constant;        /* int, float, string, bytes */
        struct { Expr **at; uint32_t n; } list;                              /* LIST, TUPLE */
        struct { AstDictItem *at; uint32_t n; } dict;
        struct { Expr *test, *yes, *no; } cond;
        struct { Expr *x, *index; } index;
        struct { Expr *x, *lo, *hi, *step; } slice;                          /* lo, hi, step may be NULL */
        struct { Expr *x; String *name; Pos name_pos; } dot;
        struct { Expr *fn; AstArg *args; uint32_t n; } call;                 /* in source order; positional, named, *, ** */
        struct { Expr *x; } unary;
        struct { Expr *x, *y; } binary;
        struct { Expr *body, *value; AstClause *clauses; uint32_t n; } comp; /* of a dict: body is the key; of a list: value is NULL */
        AstFunction *lambda;
    };
};

/* The child on the left edge, or NULL. */
static inline Expr *ast_left(const Expr *e) {
    switch (e->kind) {
    case EXPR_BINARY: return e->binary.x;
    case EXPR_INDEX: return e->index.x;
    case EXPR_SLICE: return e->slice.x;
    case EXPR_DOT: return e->dot.x;
    case EXPR_CALL: return e->call.fn;
    default: return NULL;
    }
}

/* ------------------------------------------------------------------ statements */

typedef enum StmtKind {
    STMT_EXPR, STMT_ASSIGN, STMT_DEF, STMT_IF, STMT_FOR, STMT_WHILE, STMT_RETURN,
    STMT_BREAK, STMT_CONTINUE, STMT_PASS, STMT_LOAD,
} StmtKind;

typedef struct AstBody { Stmt **at; uint32_t n; } AstBody;
typedef struct AstArm { Pos pos; Expr *test; AstBody body; } AstArm;        /* test is NULL for `else` (always last) */
typedef struct AstLoadName { Expr *to; String *from; Pos from_pos; } AstLoadName;

struct Stmt {
    StmtKind kind;
    Pos pos;                   /* of the operator for ASSIGN, else of the first token */
    union {
        Expr *expr;            /* EXPR; RETURN, where it may be NULL */
        struct { Token op; Expr *target, *value; } assign;                   /* op: TOKEN_EQ, or TOKEN_PLUS … TOKEN_GTGT when augmented */
        struct { Expr *name; AstFunction *fn; } def;
        struct { AstArm *arms; uint32_t n; } branch;                         /* IF */
        struct { Expr *vars, *x; AstBody body; } loop;                       /* FOR; WHILE: vars is NULL, x the test */
        struct { String *module; AstLoadName *names; uint32_t n; } load;
    };
};
/* Targets (of assign, for, a for clause) are NAME, INDEX, DOT, or TUPLE and LIST of targets,
 * after the resolver has accepted the tree. An augmented one is NAME, INDEX or DOT. */

/* ------------------------------------------------------------------ functions */

typedef enum ParamKind { PARAM_PLAIN, PARAM_STAR, PARAM_STARSTAR } ParamKind;
/* In source order. PLAIN: `name` or `name=fallback`. STAR: `*name`, or `*` alone (name is NULL). */
typedef struct AstParam { ParamKind kind; Pos pos; Expr *name, *fallback; } AstParam;

/* Slot order: parameters that may be positional, keyword-only parameters, *args, **kwargs, other
 * variables, variables of comprehensions. Comprehensions that are never active together may share
 * slots, so `name` is that of the first user. A cell is never shared. */
typedef struct AstLocal { String *name; bool is_cell; } AstLocal;

/* A def, a lambda, or the top level of a module (a body) or of an expression (a result). */
struct AstFunction {
    String *name;              /* "lambda"; "<toplevel>" */
    Pos pos;
    AstParam *params;
    uint32_t n_declared;       /* entries of params, a bare * included */
    AstBody body;              /* empty when there is a result */
    Expr *result;              /* the expression of a lambda, or NULL */
    String *doc;               /* text of a leading string literal, or NULL; the statement stays in the body */

    /* Set by the resolver: */
    AstLocal *locals;          /* all slots */
    uint32_t n_locals;
    Binding **frees;           /* variables to capture: each a CELL or FREE of the *enclosing* function */
    uint32_t n_frees;
    uint32_t n_params;         /* slots that are parameters, *args and **kwargs included */
    uint32_t n_kwonly;         /* of those, keyword-only */
    bool has_varargs, has_kwargs;
};

typedef struct AstModule {
    const Source *source;
    AstFunction *toplevel;
    String **globals;          /* set by the resolver */
    uint32_t n_globals;
} AstModule;
