/* Private header of the parser: parser.c (initialization, lists), parse_expr.c and parse_stmt.c.
 *
 * `tok` is one token of look-ahead. A function returns NULL or false after the first error, which it
 * stores in `err`. The parser then unwinds completely, so nothing restores `depth` or the list
 * stack. */
#pragma once
#include "starlark/syntax/parser.h"

typedef struct Parser {
    const ParserInput *in;
    Lexer lexer;
    Lexeme tok;
    Token want;                /* what parse_expect did not find; TOKEN_ILLEGAL: no single token */
    bool unexpected;           /* failed because `tok` may not be here */
    Buf stack;                 /* items of the lists being parsed, innermost last; see parse_push */
    uint32_t depth;
    Error *err;
} Parser;

/* ------------------------------------------------------------------ parser.c */

bool parse_advance(Parser *p, Pos *pos);             /* pos (may be NULL): position of the consumed token */
bool parse_expect(Parser *p, Token kind, Pos *pos);  /* "got X, want Y" */
bool parse_fail(Parser *p, Pos pos, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool parse_fail_token(Parser *p, const char *want);  /* "got X, want …" at the current token */

bool parse_enter(Parser *p);                         /* one level deeper; fails with "nested too deeply" */
static inline void parse_leave(Parser *p) { p->depth--; }

/* A list of unknown length: size_t mark = p->stack.n; parse_push(p, &item, sizeof item) …; n =
 * parse_list(p, mark, sizeof item, &at) moves the items into the arena. */
void parse_push(Parser *p, const void *item, size_t size);
uint32_t parse_list(Parser *p, size_t mark, size_t size, void *at);

Expr *parse_new_expr(Parser *p, ExprKind kind, Pos pos, Pos start);

/* ------------------------------------------------------------------ parse_expr.c */

Expr *parse_expr(Parser *p, bool trailing_comma);    /* a test, or a tuple without parentheses */
Expr *parse_test(Parser *p);                         /* a tuple needs parentheses */
Expr *parse_name(Parser *p);
Expr *parse_loop_vars(Parser *p);                    /* between `for` and `in` */

/* ------------------------------------------------------------------ parse_stmt.c */

bool parse_params(Parser *p, AstFunction *fn);       /* up to, not including, ")" or ":" */
bool parse_file(Parser *p, AstFunction *toplevel);
