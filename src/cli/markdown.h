/* Markdown that arrives in pieces, shown in a terminal: headings, bold, italics, strike-through, code, lists, quotes, rules,
 * fenced code and links. What comes out does not depend on how the text was cut into pieces, and no character of the text
 * is lost but the marks that were understood: a mark without its other half is shown as it is. Control characters are
 * escaped (cli_escape).
 *
 * Text goes out as soon as it is decided. Held back are the start of a line until its kind is known, and what follows
 * an opening mark until its end has come, the line ends, or MARKDOWN_HOLD bytes are waiting. */
#pragma once
#include "base/str.h"

enum { MARKDOWN_HOLD = 2000 };

typedef struct Markdown {                /* zero-initialise; markdown_clear at the end */
    char part[4]; size_t n_part;         /* a character that is not complete yet */
    Buf held;                            /* of this line, not decided */
    int kind;                            /* of this line */
    unsigned base, style;                /* of the line; of what was written last */
    char fence; size_t fence_n;          /* inside fenced code: its mark; 0: outside */
    char prev;                           /* last byte of this line that went out */
} Markdown;

void markdown_feed(Markdown *m, Str piece, Buf *out);
void markdown_end(Markdown *m, Buf *out);            /* everything goes out, and the next text starts anew */
void markdown_clear(Markdown *m);
