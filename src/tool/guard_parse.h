/* The part of the parser that the lexer needs: a script inside a word. */
#pragma once
#include "tool/guard_lex.h"

/* The script from here to `close`, which is passed; x->i stands behind what opened it. */
GuardNode *guard_parse_inside(GuardLexer *x, char close);
