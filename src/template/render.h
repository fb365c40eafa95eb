/* Renders a template with its data. The two renderers differ in how they write texts, values and lists. */
#pragma once
#include "template/ast.h"

/* A context set by a block, innermost first. Only each and with create one. */
typedef struct RenderScope { Value v; const struct RenderScope *up; } RenderScope;
/* @index and the other @ values; one frame for each enclosing {{#each}}. */
typedef struct RenderFrame { Value index, key; bool first, last; const struct RenderFrame *up; } RenderFrame;

typedef struct Render {
    const Template *t;
    Buf *out;
    Value root;
    uint32_t steps;
    bool lead;                          /* commands: nothing of the current word has been written */
    Error *err;
} Render;

bool render_body(Render *r, const AstBody *b, const RenderScope *scope, const RenderFrame *frame);
bool render_fail(const Render *r, const AstNode *n, ErrorKind kind, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
bool render_run(const Template *t, Value context, Buf *out, Error *err);

bool render_quoted(Render *r, const AstNode *n, Value v); /* quote.c: a value in a command */
