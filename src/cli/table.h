/* Text in columns for a terminal: each column as wide as its widest cell, the last one as it is. */
#pragma once
#include "base/str.h"
#include "base/vec.h"

typedef struct TableCell { size_t from, to, width; } TableCell;      /* a piece of Table.text; width in characters */

typedef struct Table {
    size_t columns;              /* set it; the rest starts as zero */
    Buf text;
    VEC(TableCell) cells;        /* row by row */
} Table;

/* Fills the next cell. Control characters are escaped. */
void table_add(Table *t, Str text);
void table_add_fmt(Table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends all rows, each after `indent` spaces, and empties the table. With `color`, the first column is bold. */
void table_write(Table *t, Buf *out, size_t indent, bool color);
