/* Width of text in terminal columns: a wide character takes two, a combining one none (libutf8proc; without it every character one). */
#pragma once
#include "base/str.h"

size_t width_of(Str text);
size_t width_of_terminal(int fd);                      /* its columns; 80 when it is not a terminal */
size_t width_if_known(int fd);                         /* 0 then */
/* Appends as much of `text` as fits into `columns`: all of it, or whole words and "…". A word that is longer than that is cut. */
void width_add_cut(Buf *out, Str text, size_t columns);
void width_add_spaces(Buf *out, size_t n);
