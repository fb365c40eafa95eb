/* Breaks streamed text into lines at words, to fit the width of the terminal. The last word is held back until it is
 * complete. Continued lines are indented like their first line; those of list items and quotes align with its text.
 * The result does not depend on how the text was split. */
#pragma once
#include "base/str.h"

typedef struct Wrap {                    /* zero-initialise; wrap_clear at the end */
    size_t width;                        /* may change at any time; 0: text passes unchanged */
    bool hard;                           /* also breaks words that are longer than a line; otherwise the terminal does */
    bool fences;                         /* leaves lines between ``` and ``` alone */
    size_t column, spaces, hang;         /* spaces: held back before the word. hang: indent of continued lines */
    bool quote, started, verbatim;       /* quote: continued lines begin with a bar. started: the line has a word. verbatim: see fences */
    bool wide;                           /* the word is one wide character: a line may end behind it */
    Buf word;                            /* with effects */
    size_t word_columns;
} Wrap;

void wrap_text(Wrap *w, Str text, Buf *out);         /* valid UTF-8 in whole characters, without escape sequences */
void wrap_effect(Wrap *w, Str sequence, Buf *out);   /* takes no columns */
void wrap_verbatim(Wrap *w, Str text, Buf *out);     /* within one line; not broken */
void wrap_flush(Wrap *w, Buf *out);                  /* writes everything that is held back */
void wrap_clear(Wrap *w);

/* A whole text, each line indented by `indent` spaces and broken at `width` columns, also inside long words. */
void wrap_lines(Buf *out, Str text, size_t indent, size_t width);
/* One line of a message, with a newline; colours are allowed. Continued lines are indented. width 0: it is not broken. */
void wrap_message(Buf *out, Str line, size_t width);
