/* The characters of a shell text: words, quotes, expansions. Between guard_lex.c and guard_parse.c. */
#pragma once
#include "base/vec.h"
#include "tool/guard_ast.h"

typedef struct GuardHeredoc { GuardRedirect *redirect; Str end; bool quoted, tabs; } GuardHeredoc;

typedef struct GuardLexer {
    Arena *arena;
    Str s;
    size_t i;
    unsigned depth;
    const char *error;                  /* the first thing that could not be read: everything ends there */
    const char *doubt;                  /* shells read this differently, or it is not certain how they do */
    VEC(GuardHeredoc) heredocs;         /* announced, to be read behind the next line break */
} GuardLexer;

void guard_lex_fail(GuardLexer *x, const char *why);
bool guard_lex_enter(GuardLexer *x);                      /* one level deeper; false: too deep. Then x->depth-- */
char guard_lex_peek(const GuardLexer *x, size_t ahead);   /* 0 behind the end */
void guard_lex_blanks(GuardLexer *x);                     /* spaces, joined lines, comments */
void guard_lex_newline(GuardLexer *x);                    /* at a line break: passes it and the here-documents behind it */
bool guard_lex_word(GuardLexer *x, GuardWord *out);       /* false: no word starts here */
GuardWord guard_lex_text(GuardLexer *x, Str text);        /* as in double quotes: for here-documents and arithmetic */
size_t guard_lex_arithmetic(Str s, size_t i);             /* behind the )) that closes the (( before i; 0: it is none */
Str guard_lex_plain(const GuardWord *w, Arena *arena);    /* its characters; "" when there is more to it than characters */
