/* Text in columns for a terminal: each column as wide as its widest cell, except the last. */
#pragma once
#include "base/str.h"
#include "base/vec.h"

typedef struct TableCell { size_t from, to, width; } TableCell;      /* a range of Table.text; width in columns */

typedef struct Table {
    size_t columns;              /* set by the caller; the rest starts as zero */
    Buf text;
    VEC(TableCell) cells;        /* row by row */
} Table;

/* Adds the next cell. Escapes control characters. */
void table_add(Table *t, Str text);
void table_add_fmt(Table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends all rows, indented by `indent` spaces, and empties the table. With `color`, the first column is bold. */
void table_write(Table *t, Buf *out, size_t indent, bool color);
