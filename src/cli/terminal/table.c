#include "cli/terminal/table.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/terminal/width.h"

enum { GAP = 2 };                /* spaces between columns */

void table_add(Table *t, Str text) {
    size_t from = t->text.n;
    cli_escape(&t->text, text, false);
    size_t to = t->text.n;
    VEC_PUSH(&t->cells, (TableCell){ from, to, width_of(str_sub(buf_str(&t->text), from, to)) });
}

void table_add_fmt(Table *t, const char *fmt, ...) {
    Buf text = { 0 };
    va_list ap;
    va_start(ap, fmt);
    buf_add_vfmt(&text, fmt, ap);
    va_end(ap);
    table_add(t, buf_str(&text));
    buf_clear(&text);
}

static void add_spaces(Buf *out, size_t n) {
    while (n--) buf_add_char(out, ' ');
}

/* A row ends with its last non-empty cell: no trailing spaces. */
static size_t filled(const TableCell *row, size_t columns) {
    while (columns && row[columns - 1].width == 0) columns--;
    return columns;
}

void table_write(Table *t, Buf *out, size_t indent, bool color) {
    size_t rows = t->columns ? t->cells.n / t->columns : 0;
    size_t *width = mem_zero(t->columns + 1, sizeof *width);
    for (size_t i = 0; i < rows * t->columns; i++)
        if (t->cells.at[i].width > width[i % t->columns]) width[i % t->columns] = t->cells.at[i].width;
    for (size_t r = 0; r < rows; r++) {
        const TableCell *row = &t->cells.at[r * t->columns];
        size_t n = filled(row, t->columns);
        add_spaces(out, indent);
        for (size_t c = 0; c < n; c++) {
            bool bold = color && c == 0;
            if (bold) buf_add(out, STR("\033[1m"));
            buf_add(out, str_sub(buf_str(&t->text), row[c].from, row[c].to));
            if (bold) buf_add(out, STR("\033[0m"));
            if (c + 1 < n && width[c]) add_spaces(out, width[c] - row[c].width + GAP);  /* an empty column takes no space */
        }
        buf_add_char(out, '\n');
    }
    free(width);
    buf_clear(&t->text);
    VEC_CLEAR(&t->cells);
}
