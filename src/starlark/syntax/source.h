/* Source text and positions in it.
 *
 * A script is often a block scalar inside an artifact file, so there are two kinds of position: a
 * Pos is relative to the script's own text; a place is a line and column of the file that contains
 * it. All code up to the bytecode uses Pos; source_place() translates when a position is shown to
 * the user. An Error always carries a place. */
#pragma once
#include "base/error.h"
#include "base/str.h"

typedef struct Pos { uint32_t line, col; } Pos;      /* both from 1, col counts code points; line 0: unknown */

/* Line L, column C of `text` is line first_line + L - 1, column C + indent of `file`. */
typedef struct Source {
    Str file;                  /* as shown in messages */
    Str text;
    uint32_t first_line;       /* 0 means 1 */
    uint32_t indent;           /* columns removed from the left of every line */
} Source;

typedef struct SourcePlace { uint32_t line, column; } SourcePlace;
SourcePlace source_place(const Source *s, Pos pos);

/* Sets `err` (ERR_PARSE) to the message and the place of `pos`. Returns false. */
bool source_error(const Source *s, Error *err, Pos pos, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Adds the place of `pos` to an error that was set elsewhere. Returns false. */
bool source_locate(const Source *s, Error *err, Pos pos);

/* Appends the source line of a place (as in an Error) and below it a line with a caret under the
 * column:
 *         x = foo(1, 2
 *                ^
 * Keeps tabs and replaces control characters with '?'. Of a long line it shows only the part around
 * the caret, with "…" where it was cut. Appends nothing for a place outside of the text. */
void source_excerpt(const Source *s, uint32_t line, uint32_t column, Buf *out);
