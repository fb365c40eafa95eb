/* The parsed form of a template; private to src/template/. Everything is in the template's arena; texts are slices of
 * the template's own copy of its source. */
#pragma once
#include "base/arena.h"
#include "template/template.h"

typedef struct AstBody AstBody;

/* {{../a.b}}: depth 1, parts a and b. {{@../index}}: data, depth 1. {{this}}: no parts. */
typedef struct AstPath {
    Str *part;
    uint32_t n, depth;
    bool data;                          /* starts with @ */
    bool plain;                         /* a single name, which Handlebars would first look up among its helpers */
} AstPath;

typedef struct { bool open, close; } AstStrip;            /* the ~ on either side of a tag */

typedef enum { AST_TEXT, AST_VALUE, AST_COMMENT, AST_IF, AST_UNLESS, AST_EACH, AST_WITH } AstKind;
typedef enum { AST_BARE, AST_SINGLE, AST_DOUBLE, AST_RAW } AstQuote;
typedef enum { AST_LEAD_SAME, AST_LEAD_YES, AST_LEAD_NO } AstLead;

typedef struct AstNode {
    AstKind kind;
    uint32_t at;                        /* offset in the source */
    bool raw;                           /* {{{x}}} */
    AstStrip strip;                     /* of a value or comment; of a block's opening tag */
    AstPath path;                       /* of a value or block */

    Str text, original;                 /* AST_TEXT: the text after trimming, and before */
    bool left_stripped, right_stripped;

    AstBody *main, *other;              /* of a block; `other` may be NULL */
    bool chained;                       /* `other` is one block, from {{else if}} */
    AstStrip middle, end;               /* of {{else}} and of the closing tag */

    /* Set by the shell scanner, for commands. */
    AstQuote quote;                     /* AST_VALUE */
    bool must_quote;                    /* quote plain words too: the surrounding text would change their meaning */
    bool dash_ok;                       /* may begin a word with '-' */
    char not_first[8];                  /* further characters that may not begin a word: the program would take it as more than data */
    bool spread;                        /* an array may expand to several words here */
    bool may_drop;                      /* may be missing; then writes nothing */
    bool own_quotes;                    /* its quotes, already removed from the texts, are dropped with it if it is missing */
    AstLead lead;                       /* AST_TEXT: effect on Render.lead */
    int32_t param;                      /* index of the parameter at the start of the path, or -1 */
} AstNode;

struct AstBody { AstNode *node; size_t n; };

struct Template {
    Arena arena;
    Str text;
    AstBody body;
    size_t max_output;
    bool command, has_raw;
    TemplateParam *params;
    size_t n_params;
};

/* Line and column, from 1, of an offset; columns count characters. */
void ast_place(Str text, size_t at, uint32_t *line, uint32_t *column);
bool ast_error(Error *err, ErrorKind kind, Str text, size_t at, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
void ast_path_text(Buf *out, const AstPath *path);        /* approximately as it was written */

/* inline.c: the reason if the command's own code would run a parameter's value; NULL: it would not. */
const char *ast_inline_problem(const Template *t);

bool ast_parse(Template *t, Error *err);                  /* t->text → t->body */
void ast_trim(AstBody *root);                             /* Handlebars' white-space rules: ~ and tags alone on a line */

/* Length of the white-space character (JavaScript's \s) at the start of s; 0 if there is none. */
size_t ast_space(Str s);
