#include "cli/terminal/table.h"
#include <unistd.h>
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/terminal/width.h"
#include "cli/terminal/wrap.h"

enum { GAP = 2, LAST_MIN = 24, BELOW = 4 };      /* spaces between columns; a last column narrower than LAST_MIN goes on the line below, indented */

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

/* A row ends with its last non-empty cell: no trailing spaces. */
static size_t filled(const TableCell *row, size_t columns) {
    while (columns && row[columns - 1].width == 0) columns--;
    return columns;
}

static size_t *measure(const Table *t, size_t rows) {
    size_t *width = mem_zero(t->columns + 1, sizeof *width);
    for (size_t i = 0; i < rows * t->columns; i++)
        if (t->cells.at[i].width > width[i % t->columns]) width[i % t->columns] = t->cells.at[i].width;
    return width;
}

static Str cell_text(const Table *t, const TableCell *cell) { return str_sub(buf_str(&t->text), cell->from, cell->to); }

/* Where the last column starts. */
static size_t last_start(const Table *t, const size_t *width, size_t indent) {
    size_t at = indent;
    for (size_t c = 0; c + 1 < t->columns; c++) at += width[c] ? width[c] + GAP : 0;
    return at;
}

/* The last cell in lines of its own, indented by `at`. The first line follows what is already in the row. */
static void add_last(Buf *out, Str text, size_t at, size_t fit, bool below) {
    Buf lines = { 0 };
    wrap_lines(&lines, text, 0, fit > at ? fit - at : 1);
    bool first = !below;
    if (below) buf_add_char(out, '\n');
    for (Str rest = str_trim(buf_str(&lines)), line; str_next_line(&rest, &line); first = false) {
        if (!first && out->at[out->n - 1] != '\n') buf_add_char(out, '\n');
        if (!first) width_add_spaces(out, at);
        buf_add(out, line);
    }
    buf_clear(&lines);
}

/* If not even the other columns fit, writes the cells one after another and breaks the row where necessary. */
static void write_narrow(const Table *t, const TableCell *row, Buf *out, size_t indent, size_t fit) {
    Wrap w = { .width = fit, .hard = true, .started = true, .hang = indent + BELOW };
    width_add_spaces(out, indent);
    w.column = indent;
    for (size_t c = 0; c < t->columns; c++) {
        wrap_text(&w, cell_text(t, &row[c]), out);
        if (row[c].width) wrap_text(&w, STR("  "), out);
    }
    wrap_text(&w, STR("\n"), out);
    wrap_clear(&w);
}

static void write_row(const Table *t, const TableCell *row, const size_t *width, Buf *out, size_t indent, bool color, size_t fit) {
    size_t n = filled(row, t->columns), last = last_start(t, width, indent);
    bool wide = fit && n == t->columns && last + width[n - 1] > fit, below = wide && n > 1 && last + LAST_MIN > fit;
    bool breaks = below || (wide && last + row[n - 1].width > fit);
    if (fit && last > fit + GAP) {
        write_narrow(t, row, out, indent, fit);
        return;
    }
    width_add_spaces(out, indent);
    for (size_t c = 0; c < n; c++) {
        bool bold = color && c == 0, ends = c + 1 == n;
        if (ends && breaks) {
            add_last(out, cell_text(t, &row[c]), below ? indent + BELOW : last, fit, below);
            break;
        }
        if (bold) buf_add(out, STR("\033[1m"));
        buf_add(out, cell_text(t, &row[c]));
        if (bold) buf_add(out, STR("\033[0m"));
        if (!ends && width[c] && !(below && c + 2 == n)) width_add_spaces(out, width[c] - row[c].width + GAP);  /* an empty column takes no space */
    }
    buf_add_char(out, '\n');
}

void table_write_fit(Table *t, Buf *out, size_t indent, bool color, size_t fit) {
    size_t rows = t->columns ? t->cells.n / t->columns : 0;
    size_t *width = measure(t, rows);
    for (size_t r = 0; r < rows; r++) write_row(t, &t->cells.at[r * t->columns], width, out, indent, color, fit);
    free(width);
    buf_clear(&t->text);
    VEC_CLEAR(&t->cells);
}

void table_write(Table *t, Buf *out, size_t indent, bool color) {
    table_write_fit(t, out, indent, color, isatty(STDOUT_FILENO) ? width_if_known(STDOUT_FILENO) : 0);
}
