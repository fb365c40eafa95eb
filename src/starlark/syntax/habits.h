/* Explains what Starlark has instead of the Python, C or JavaScript that a script uses. Only error paths call these. */
#pragma once
#include "base/error.h"
#include "starlark/syntax/lexer.h"

/* Replaces the message of a syntax error at `tok` when the text around it is a known habit of another language; else leaves it.
 * `want` is the token that was expected; TOKEN_ILLEGAL: none in particular. */
void habits_explain(const Source *source, const Lexeme *tok, Token want, Error *err);

const char *habits_name(Str name);                   /* advice for an undefined name; NULL if there is none */
const char *habits_member(Str type, Str name);       /* advice for a missing member of a type or module; NULL if there is none */
