/* Words of the syntax tree as the program will receive them: braces expanded, quotes removed, unknown parts marked. */
#pragma once
#include "shell/syntax.h"

typedef struct WordList { ShellWord *at; size_t n, cap; } WordList;     /* for VEC_PUSH */

/* Appends the words that `w` expands to: several with braces, none if it is empty and not quoted. Charges its text to
 * *work; false: too much. */
bool words_expand(const SyntaxWord *w, WordList *out, size_t *work, Arena *arena);

/* `w` from byte `from` as one word: a redirection's target, the value of an assignment (without patterns). */
ShellWord words_single(const SyntaxWord *w, size_t from, bool value, Arena *arena);

/* The byte after the = of NAME=, NAME+= or NAME[...]=, or 0 if the word is not an assignment. */
size_t words_assignment(const SyntaxWord *w, Str *name, bool *append);
