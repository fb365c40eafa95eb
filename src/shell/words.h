/* Words of the syntax tree as the program will receive them: braces expanded, quotes gone, unknown parts marked. */
#pragma once
#include "shell/syntax.h"

typedef struct WordList { ShellWord *at; size_t n, cap; } WordList;     /* for VEC_PUSH */

/* Appends the words that `w` becomes: several with braces, none when it is empty and not quoted. Its text is charged to
 * *work; false: too much. */
bool words_expand(const SyntaxWord *w, WordList *out, size_t *work, Arena *arena);

/* `w` from byte `from` as one word: a redirection's target, the value of an assignment (no patterns there). */
ShellWord words_single(const SyntaxWord *w, size_t from, bool value, Arena *arena);

/* The byte behind the = of NAME=, NAME+= or NAME[...]=, or 0 when the word is no assignment. */
size_t words_assignment(const SyntaxWord *w, Str *name, bool *append);
