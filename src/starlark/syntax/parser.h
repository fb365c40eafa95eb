/* Recursive-descent parser from tokens to a syntax tree. Stops at the first error. Position and
 * message match the reference implementation where it has one. Nesting beyond PARSER_DEPTH_MAX (ast.h)
 * fails with "nested too deeply". */
#pragma once
#include "starlark/syntax/ast.h"

/* Where the results go. The tree is in `arena`; names and literals are Values of `heap`, strings
 * are interned in `names`. The source must outlive the tree. */
typedef struct ParserInput { const Source *source; Arena *arena; Heap *heap; Dict *names; } ParserInput;

bool parser_module(const ParserInput *in, AstModule **out, Error *err);
/* Parses a single expression (a tuple needs no parentheses) into toplevel->result. */
bool parser_expression(const ParserInput *in, AstModule **out, Error *err);

/* For a prompt: true if the text is the beginning of a statement that needs more lines. That is the case when it
 * ends inside brackets, in a triple-quoted string or after a backslash, or when a compound statement is still
 * open, that is, its last line is not blank. */
bool parser_wants_more(Str text);
