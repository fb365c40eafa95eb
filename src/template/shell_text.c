/* Writes a command template as shell text, for callers that check which programs it runs. */
#include "template/ast.h"

typedef struct ShellText { Buf *out; unsigned way; bool more; } ShellText;      /* more: an alternative with a higher number exists */

static void write_body(ShellText *s, const AstBody *b);

/* The name is for messages only: ${dir}. */
static void write_variable(ShellText *s, const AstNode *n) {
    buf_add(s->out, STR("${"));
    buf_add(s->out, n->path.n ? n->path.part[0] : STR("this"));
    buf_add_char(s->out, '}');
}

static void write_value(ShellText *s, const AstNode *n) {
    const char *quote = n->quote == AST_BARE || n->own_quotes ? "\"" : n->quote == AST_SINGLE ? "'\"" : "";
    buf_add(s->out, str_from(quote));
    if (n->spread) buf_add(s->out, STR("$@"));
    else write_variable(s, n);
    buf_add(s->out, str_from(n->quote == AST_SINGLE && !n->own_quotes ? "\"'" : quote));
}

static void write_block(ShellText *s, const AstNode *n) {
    unsigned way = s->way;
    while (way > 0 && n->other && n->chained) {
        n = &n->other->node[0];
        way--;
    }
    s->more |= n->other && way == 0;
    write_body(s, way > 0 && n->other ? n->other : n->main);
}

static void write_body(ShellText *s, const AstBody *b) {
    for (size_t i = 0; i < b->n; i++) {
        const AstNode *n = &b->node[i];
        switch (n->kind) {
        case AST_TEXT: buf_add(s->out, n->text); break;
        case AST_COMMENT: break;
        case AST_VALUE: write_value(s, n); break;
        case AST_IF: case AST_UNLESS: case AST_EACH: case AST_WITH: write_block(s, n); break;
        }
    }
}

bool template_shell_text(const Template *t, unsigned way, Buf *out) {
    ShellText before = { .out = out, .way = way ? way - 1 : 0 }, s = { .out = out, .way = way };
    buf_reset(out);
    if (way > 0) write_body(&before, &t->body);
    if (way > 0 && !before.more) return false;
    buf_reset(out);
    write_body(&s, &t->body);
    return true;
}
