#include "starlark/syntax/parse_private.h"
#include <stdio.h>
#include "starlark/syntax/habits.h"

/* ------------------------------------------------------------------ tokens and errors */

bool parse_advance(Parser *p, Pos *pos) {
    if (pos) *pos = p->tok.pos;
    return lexer_next(&p->lexer, &p->tok, p->err);
}

bool parse_expect(Parser *p, Token kind, Pos *pos) {
    if (p->tok.kind != kind) {
        p->want = kind;
        parse_fail_token(p, token_quoted(kind));
        if (kind == TOKEN_INDENT) error_hint(p->err, "the lines that belong to def, for and if are indented");
        return false;
    }
    return parse_advance(p, pos);
}

bool parse_fail(Parser *p, Pos pos, const char *fmt, ...) {
    char text[ERROR_MSG_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return source_error(p->in->source, p->err, pos, "%s", text);
}

bool parse_fail_token(Parser *p, const char *want) {
    parse_fail(p, p->tok.pos, "got %s, want %s", token_quoted(p->tok.kind), want);
    p->unexpected = true;
    if (p->tok.kind == TOKEN_INDENT) error_hint(p->err, "this line is indented more than the one before it");
    return false;
}

bool parse_enter(Parser *p) {                        /* > not >=: the innermost level nests nothing */
    if (p->depth > PARSER_DEPTH_MAX) return parse_fail(p, p->tok.pos, "nested too deeply");
    p->depth++;
    return true;
}

/* ------------------------------------------------------------------ nodes and lists */

void parse_push(Parser *p, const void *item, size_t size) { buf_add(&p->stack, (Str){ item, size }); }

uint32_t parse_list(Parser *p, size_t mark, size_t size, void *at) {
    size_t bytes = p->stack.n - mark;
    void *items = NULL;
    if (bytes > 0) {
        items = arena_alloc(p->in->arena, bytes);
        memcpy(items, p->stack.at + mark, bytes);
        p->stack.n = mark;
    }
    memcpy(at, &items, sizeof items);                /* `at` points to a pointer of any object type */
    return (uint32_t)(bytes / size);
}

Expr *parse_new_expr(Parser *p, ExprKind kind, Pos pos, Pos start) {
    Expr *e = ARENA_NEW(p->in->arena, Expr);
    e->kind = kind;
    e->pos = pos;
    e->start = start;
    return e;
}

/* ------------------------------------------------------------------ entry points */

static bool start(Parser *p, const ParserInput *in, Error *err) {
    *p = (Parser){ .in = in, .err = err };
    return lexer_init(&p->lexer, in->source, in->heap, in->names, err) && parse_advance(p, NULL);
}

static void stop(Parser *p) {
    lexer_clear(&p->lexer);
    buf_clear(&p->stack);
}

static AstModule *new_module(const ParserInput *in, Error *err) {
    AstModule *m = ARENA_NEW(in->arena, AstModule);
    m->source = in->source;
    m->toplevel = ARENA_NEW(in->arena, AstFunction);
    m->toplevel->pos = (Pos){ 1, 1 };
    m->toplevel->name = string_intern(in->heap, in->names, STR("<toplevel>"), err);
    return m->toplevel->name ? m : NULL;
}

static bool parse_whole(Parser *p, AstModule *m) { return parse_file(p, m->toplevel); }

static bool parse_one_expression(Parser *p, AstModule *m) {
    m->toplevel->result = parse_expr(p, false);
    if (!m->toplevel->result) return false;
    if (p->tok.kind == TOKEN_NEWLINE && !parse_advance(p, NULL)) return false;
    if (p->tok.kind != TOKEN_EOF)
        return parse_fail(p, p->tok.pos, "got %s after expression, want EOF", token_quoted(p->tok.kind));
    return true;
}

static bool run(const ParserInput *in, bool (*rule)(Parser *, AstModule *), AstModule **out, Error *err) {
    Parser p;
    bool ok = start(&p, in, err);
    AstModule *m = ok ? new_module(in, err) : NULL;
    ok = m && rule(&p, m);
    if (ok) *out = m;
    else if (p.unexpected || p.tok.kind == TOKEN_ILLEGAL) habits_explain(in->source, &p.tok, p.want, err);
    stop(&p);
    return ok;
}

bool parser_module(const ParserInput *in, AstModule **out, Error *err) { return run(in, parse_whole, out, err); }

bool parser_expression(const ParserInput *in, AstModule **out, Error *err) {
    return run(in, parse_one_expression, out, err);
}

/* ------------------------------------------------------------------ interactive input */

static bool ends_in_blank_line(Str text) {
    if (str_ends(text, STR("\n"))) text.n--;
    size_t from = text.n;
    while (from > 0 && text.at[from - 1] != '\n') from--;
    return str_trim(str_sub(text, from, text.n)).n == 0;
}

static bool is_compound(const AstBody *body) {
    if (body->n == 0) return false;
    StmtKind kind = body->at[body->n - 1]->kind;
    return kind == STMT_DEF || kind == STMT_IF || kind == STMT_FOR || kind == STMT_WHILE;
}

static bool wants_more(Parser *p, bool ok, const AstBody *body) {
    if (ok) return is_compound(body) && !ends_in_blank_line(p->in->source->text);
    if (p->lexer.unfinished) return true;
    if (p->lexer.at < p->lexer.end) return false;    /* an error before the end: more lines cannot help */
    if (p->lexer.depth > 0) return p->tok.kind == TOKEN_EOF;
    bool ended = p->tok.kind == TOKEN_EOF || p->tok.kind == TOKEN_OUTDENT;   /* a block is expected here */
    return ended && !ends_in_blank_line(p->in->source->text);
}

bool parser_wants_more(Str text) {
    Arena arena = { 0 };
    Error err = { 0 };
    Heap *heap = heap_new(0);
    Buf lines = { 0 };                               /* the last line may lack its newline */
    buf_add(&lines, text);
    if (!str_ends(text, STR("\n"))) buf_add_char(&lines, '\n');
    Source source = { .text = buf_str(&lines) };
    ParserInput in = { &source, &arena, heap, dict_new(heap, 0, &err) };
    Parser p;
    AstFunction toplevel = { 0 };
    bool ok = start(&p, &in, &err) && parse_file(&p, &toplevel);
    bool more = wants_more(&p, ok, &toplevel.body);
    stop(&p);
    buf_clear(&lines);
    arena_clear(&arena);
    heap_free(heap);
    return more;
}
