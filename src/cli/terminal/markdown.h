/* Renders streamed Markdown in a terminal: headings, bold, italics, strike-through, code, lists, quotes, rules, fenced
 * code, links and tables. The output does not depend on how the text was split, and only marks that were understood are
 * removed: a mark without its other half is shown unchanged. Escapes control characters (cli_escape).
 *
 * Text is written as soon as possible. Held back are the start of a line until its kind is known, and text after an
 * opening mark until the mark is closed, the line ends, or MARKDOWN_HOLD bytes are waiting. With a width, also the last word
 * (wrap.h), and a table until it ends. */
#pragma once
#include "cli/terminal/wrap.h"

enum { MARKDOWN_HOLD = 2000, MARKDOWN_TABLE = 256 << 10 };

typedef struct Markdown {                /* zero-initialise; markdown_clear at the end */
    char part[4]; size_t n_part;         /* an incomplete character */
    Buf held;                            /* of this line, undecided */
    int kind;                            /* of this line */
    unsigned base, style;                /* of the line; of the text written last */
    char fence; size_t fence_n;          /* inside fenced code: its mark; 0: outside */
    char prev;                           /* last byte of this line written */
    Buf table;                           /* lines that start with "|" */
    Wrap wrap;                           /* its width is set by the caller; 0: lines are not broken, tables not drawn */
} Markdown;

void markdown_feed(Markdown *m, Str piece, Buf *out);
void markdown_end(Markdown *m, Buf *out);            /* writes everything; the next text starts fresh */
void markdown_clear(Markdown *m);

/* Parts for markdown_table.c. */
enum { MARKDOWN_BOLD = 1, MARKDOWN_DIM = 16 };
void markdown_inline(Markdown *m, Str text, unsigned style, Buf *out);      /* one line of text with its marks */
void markdown_style(Markdown *m, unsigned style, Buf *out);
void markdown_table(Markdown *m, Buf *out);          /* writes the lines of m->table: drawn if they form a table, else as text */
