/* Text to tokens. Lines and indentation become NEWLINE, INDENT and OUTDENT; inside brackets
 * they mean nothing. "\r\n" and "\r" count as "\n", also inside strings. The text must be
 * UTF-8 (strictly); a byte order mark is an unexpected input character. */
#pragma once
#include "base/arena.h"
#include "starlark/source.h"
#include "value/dict.h"
#include "value/int.h"

typedef enum Token {
#define TOKEN(name, text) TOKEN_##name,
#include "starlark/token.def"
    TOKEN_COUNT
} Token;

const char *token_text(Token t);                     /* "+", "and", "int literal" */
const char *token_quoted(Token t);                   /* the same, punctuation in quotes: "'+'" */
static inline bool token_is_augmented(Token t) { return t >= TOKEN_PLUS_EQ && t <= TOKEN_GTGT_EQ; }
static inline Token token_augmented_op(Token t) { return (Token)(t - TOKEN_PLUS_EQ + TOKEN_PLUS); }

/* One token. `value` is the String of an IDENT (interned), the value of an INT, FLOAT or
 * BYTES, the interned String of a STRING; GONE otherwise. */
typedef struct Lexeme { Token kind; Pos pos; Str raw; Value value; } Lexeme;

enum { LEXER_INDENT_MAX = 256 };                     /* more levels than the parser takes */

typedef struct Lexer {
    const Source *source;
    Heap *heap;
    Dict *names;
    Buf scratch;                                     /* text of a string literal with escapes */
    const char *at, *end;
    Pos pos;                                         /* of `at` */
    uint32_t depth;                                  /* of brackets */
    uint32_t levels, indent[LEXER_INDENT_MAX];       /* open indentation; indent[0] is 0 */
    int32_t dents;                                   /* INDENT (> 0) or OUTDENT (< 0) tokens to hand out first */
    bool line_start;
    bool unfinished;                                 /* failed because the text ends where a line must follow */
} Lexer;

/* The source, heap and names are borrowed. Fails when the text is not UTF-8 or too long
 * (LEXER_TEXT_MAX bytes). lexer_clear() is needed also then. */
enum { LEXER_TEXT_MAX = 8 * 1024 * 1024 };
bool lexer_init(Lexer *lx, const Source *source, Heap *heap, Dict *names, Error *err);
bool lexer_next(Lexer *lx, Lexeme *out, Error *err); /* after TOKEN_EOF: TOKEN_EOF again */
void lexer_clear(Lexer *lx);
