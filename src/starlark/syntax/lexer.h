/* Text to tokens. Lines and indentation become NEWLINE, INDENT and OUTDENT, except inside brackets,
 * where they are ignored. "\r\n" and "\r" count as "\n", also inside strings. The text must be
 * valid UTF-8; a byte order mark is an unexpected input character. */
#pragma once
#include "base/arena.h"
#include "starlark/syntax/source.h"
#include "value/dict.h"
#include "value/int.h"

typedef enum Token {
#define TOKEN(name, text) TOKEN_##name,
#include "starlark/syntax/token.def"
    TOKEN_COUNT
} Token;

const char *token_text(Token t);                     /* "+", "and", "int literal" */
const char *token_quoted(Token t);                   /* same, with punctuation in quotes: "'+'" */
static inline bool token_is_augmented(Token t) { return t >= TOKEN_PLUS_EQ && t <= TOKEN_GTGT_EQ; }
static inline Token token_augmented_op(Token t) { return (Token)(t - TOKEN_PLUS_EQ + TOKEN_PLUS); }

/* One token. `value` is the String of an IDENT (interned), the value of an INT, FLOAT or
 * BYTES, the interned String of a STRING; GONE otherwise. */
typedef struct Lexeme { Token kind; Pos pos; Str raw; Value value; } Lexeme;

enum { LEXER_INDENT_MAX = 256 };                     /* more levels than the parser accepts */

typedef struct Lexer {
    const Source *source;
    Heap *heap;
    Dict *names;
    Buf scratch;                                     /* text of a string literal with escapes */
    const char *at, *end;
    Pos pos;                                         /* position of `at` */
    uint32_t depth;                                  /* nesting of brackets */
    uint32_t levels, indent[LEXER_INDENT_MAX];       /* open indentation; indent[0] is 0 */
    int32_t dents;                                   /* pending INDENT (> 0) or OUTDENT (< 0) tokens */
    bool line_start;
    bool unfinished;                                 /* failed because the text ends too early: more lines may help */
} Lexer;

/* Borrows the source, heap and names. Fails if the text is not UTF-8 or longer than LEXER_TEXT_MAX
 * bytes; the caller must call lexer_clear() in that case too. */
enum { LEXER_TEXT_MAX = 8 * 1024 * 1024 };
bool lexer_init(Lexer *lx, const Source *source, Heap *heap, Dict *names, Error *err);
bool lexer_next(Lexer *lx, Lexeme *out, Error *err); /* returns TOKEN_EOF again after TOKEN_EOF */
void lexer_clear(Lexer *lx);
