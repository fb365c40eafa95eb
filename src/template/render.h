/* Walking a template with its data; what text, a value and a list become is up to the two renderers. */
#pragma once
#include "template/ast.h"

/* What a block put in place of the context: the innermost first. Only each and with make one. */
typedef struct RenderScope { Value v; const struct RenderScope *up; } RenderScope;
/* @index and its like; one for each {{#each}} around. */
typedef struct RenderFrame { Value index, key; bool first, last; const struct RenderFrame *up; } RenderFrame;

typedef struct Render {
    const Template *t;
    Buf *out;
    Value root;
    uint32_t steps;
    bool lead;                          /* commands: nothing of the current word has been written yet */
    Error *err;
} Render;

bool render_body(Render *r, const AstBody *b, const RenderScope *scope, const RenderFrame *frame);
bool render_fail(const Render *r, const AstNode *n, ErrorKind kind, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
bool render_run(const Template *t, Value context, Buf *out, Error *err);

bool render_quoted(Render *r, const AstNode *n, Value v); /* quote.c: a value in a command */
