/* The syntax tree of shell text. lexer.c reads words, parser.c commands; commands.c lists the commands in the tree. */
#pragma once
#include "base/arena.h"
#include "base/vec.h"
#include "shell/shell.h"

typedef struct SyntaxNode SyntaxNode;
typedef struct SyntaxWord SyntaxWord;

/* One mark for each byte of a word. */
typedef enum { SYNTAX_PLAIN, SYNTAX_QUOTED, SYNTAX_UNKNOWN /* splits */, SYNTAX_UNKNOWN_QUOTED } SyntaxMark;

struct SyntaxWord {
    char *text;                         /* quotes removed; SHELL_UNKNOWN for each expansion */
    uint8_t *marks;                     /* SyntaxMark of each byte */
    size_t n;
    bool quoted;                        /* has quotes, perhaps empty ones: an empty word is kept */
    bool process;                       /* has <(...) or >(...) */
    bool array;                         /* NAME=(items) */
    SyntaxNode **scripts;               /* commands in its substitutions */
    size_t scripts_n;
    SyntaxWord *items;
    size_t items_n;
    uint32_t from, to;
};

typedef struct SyntaxRedirect { ShellRedirectKind kind; int fd; bool both; /* &> */ SyntaxWord word; } SyntaxRedirect;

typedef enum {
    SYNTAX_SIMPLE,                      /* words, redirects */
    SYNTAX_PIPELINE,                    /* children: its commands */
    SYNTAX_LIST,                        /* children: ( ... ), { ... }, if, case, lists; in any order and number */
    SYNTAX_LOOP,                        /* children: condition (not for `for`) and body */
    SYNTAX_FUNCTION,                    /* name; child: the body */
    SYNTAX_WORDS,                       /* words that are only expanded: [[ ... ]], case patterns, (( ... )) */
} SyntaxKind;

struct SyntaxNode {
    SyntaxKind kind;
    bool background;
    bool endless;                       /* a loop that never ends */
    unsigned depth;                     /* of the reader, at the start of the node */
    Str name;
    SyntaxWord *words;
    size_t words_n;
    SyntaxRedirect **redirects;
    size_t redirects_n;
    SyntaxNode **children;
    size_t children_n;
    uint32_t from, to;
};

typedef struct SyntaxHeredoc { SyntaxRedirect *redirect; Str end; bool quoted, tabs; } SyntaxHeredoc;
typedef VEC(SyntaxHeredoc) SyntaxHeredocs;

/* Reads one text. `work` is the remaining budget, shared with nested readers. */
typedef struct SyntaxReader {
    Arena *arena;
    Str s;
    size_t i;
    unsigned depth;
    size_t *work;
    bool nested;                        /* s is a copy of part of the text: every position is `from` .. `to` */
    uint32_t from, to;
    const char *error;                  /* first syntax error; reading stops there */
    const char *doubt;                  /* something that shells parse differently */
    SyntaxHeredocs heredocs;            /* announced; their bodies follow the next line break */
} SyntaxReader;

/* A character of a variable's name. */
static inline bool syntax_is_name(char c, bool first) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (!first && c >= '0' && c <= '9');
}

/* lexer.c */
void syntax_fail(SyntaxReader *x, const char *why);
bool syntax_enter(SyntaxReader *x);                         /* one level deeper, undone by x->depth--; false: too
                                                             * deep */
char syntax_peek(const SyntaxReader *x, size_t ahead);      /* 0 at the end */
void syntax_skip_blanks(SyntaxReader *x);                   /* spaces, tabs, continued lines, a comment */
void syntax_skip_newline(SyntaxReader *x);                  /* the line break here and the here-documents after it */
bool syntax_read_word(SyntaxReader *x, SyntaxWord *out);    /* false: no word starts here */
/* Text from byte `from` to `to`, read as in double quotes: here-documents, arithmetic. */
SyntaxWord syntax_read_text(SyntaxReader *x, Str text, size_t from, size_t to);
size_t syntax_arithmetic_end(SyntaxReader *x, size_t i);    /* after the )) that closes the (( before byte i, or 0 */
Str syntax_literal(const SyntaxWord *w);                    /* its text; "" if partly unknown */

/* parser.c */
SyntaxNode *syntax_parse_until(SyntaxReader *x, char close);    /* a list and the character that closes it */
SyntaxNode *syntax_parse(SyntaxReader *x);                      /* all of x->s; never NULL, even after an error */
