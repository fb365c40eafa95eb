/* Source text and positions in it.
 *
 * A script is often a block scalar inside an artifact file, so there are two kinds of
 * position: a Pos counts within the script's own text, a place is a line and column of the
 * file it was cut from. Everything up to the bytecode works with Pos; source_place()
 * translates at the moment something is shown to a person. An Error always carries a place. */
#pragma once
#include "base/error.h"
#include "base/str.h"

typedef struct Pos { uint32_t line, col; } Pos;      /* both from 1, col counts code points; line 0: unknown */

/* Line L, column C of `text` stand at line first_line + L - 1, column C + indent of `file`. */
typedef struct Source {
    Str file;                  /* as shown in messages */
    Str text;
    uint32_t first_line;       /* 0 means 1 */
    uint32_t indent;           /* columns cut off the left of every line */
} Source;

typedef struct SourcePlace { uint32_t line, column; } SourcePlace;
SourcePlace source_place(const Source *s, Pos pos);

/* Fills `err` (ERR_PARSE) with the message alone and the place of `pos`. Returns false. */
bool source_error(const Source *s, Error *err, Pos pos, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Gives an error that was set elsewhere the place of `pos`. Returns false. */
bool source_locate(const Source *s, Error *err, Pos pos);

/* Appends the source line of a place (as an Error carries it) and below it a line with a caret
 * under the column:
 *         x = foo(1, 2
 *                ^
 * Tabs are kept, control characters become '?', and of a long line only the part around the
 * caret is shown, with "…" where it was cut. A place outside of the text appends nothing. */
void source_excerpt(const Source *s, uint32_t line, uint32_t column, Buf *out);
