/* Tokens to a syntax tree, by recursive descent. Stops at the first error; its place and words are
 * those of the reference implementation where there is one. Nesting beyond PARSER_DEPTH_MAX (ast.h) is
 * the error "nested too deeply". */
#pragma once
#include "starlark/ast.h"

/* Where things go. The tree is in `arena`; names and literals are Values of `heap`, strings
 * interned in `names`. The source must outlive the tree. */
typedef struct ParserInput { const Source *source; Arena *arena; Heap *heap; Dict *names; } ParserInput;

bool parser_module(const ParserInput *in, AstModule **out, Error *err);
/* One expression (a tuple needs no parentheses) and nothing else: toplevel->result. */
bool parser_expression(const ParserInput *in, AstModule **out, Error *err);

/* For a prompt: is this text the beginning of a statement that needs more lines? True when it ends
 * inside brackets, a triple-quoted string or behind a backslash, or when a compound statement is still open, that
 * is, its last line is not blank. */
bool parser_wants_more(Str text);
