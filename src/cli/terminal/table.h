/* Text in columns: each column as wide as its widest cell. On a terminal the last column is broken at words to fit its width; if too little room is left,
 * the last cell of each row goes on a line below the others. */
#pragma once
#include "base/str.h"
#include "base/vec.h"

typedef struct TableCell { size_t from, to, width; } TableCell;      /* a range of Table.text; width in columns of a terminal */

typedef struct Table {
    size_t columns;              /* set by the caller; the rest starts as zero */
    Buf text;
    VEC(TableCell) cells;        /* row by row */
} Table;

/* Adds the next cell. Escapes control characters. */
void table_add(Table *t, Str text);
void table_add_fmt(Table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends all rows, indented by `indent` spaces, and empties the table. With `color`, the first column is bold. Fits the
 * terminal if standard output is one. */
void table_write(Table *t, Buf *out, size_t indent, bool color);
/* The same for `fit` columns; 0: any. */
void table_write_fit(Table *t, Buf *out, size_t indent, bool color, size_t fit);
