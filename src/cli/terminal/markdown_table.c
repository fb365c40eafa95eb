/* Tables of Markdown: columns that fit the width, with cells broken at words; on a narrow terminal a list of "HEADER: CELL". */
#include "base/mem.h"
#include "base/vec.h"
#include "cli/terminal/markdown.h"
#include "cli/terminal/width.h"

enum { COLUMNS_MAX = 64, GAP = 3, FLOOR_MAX = 16 };      /* GAP: " │ ". FLOOR_MAX: a column is narrowed to its longest word, or to this if the word is longer */

typedef enum { ALIGN_LEFT, ALIGN_CENTER, ALIGN_RIGHT } Align;
typedef struct Row { Str cells[COLUMNS_MAX]; size_t n; } Row;
typedef struct Column { Align align; size_t width, floor; } Column;
typedef struct Grid { VEC(Row) rows; Column columns[COLUMNS_MAX]; size_t n; } Grid;       /* the first row is the header */

/* ---- reading ---- */

/* The bar that ends a cell; s.n: none. A "\|" belongs to the cell. */
static size_t find_bar(Str s, size_t from) {
    while (from < s.n && s.at[from] != '|') from += s.at[from] == '\\' ? 2 : 1;
    return from < s.n ? from : s.n;
}

static Row split(Str line) {
    Row row = { 0 };
    line = str_trim(line);
    if (line.n && line.at[0] == '|') line = str_sub(line, 1, line.n);
    for (size_t at = 0; at < line.n && row.n < COLUMNS_MAX;) {
        size_t end = find_bar(line, at);
        row.cells[row.n++] = str_trim(str_sub(line, at, end));
        at = end + 1;
    }
    return row;
}

/* "---", ":--", "--:" or ":-:". */
static bool read_align(Str cell, Align *out) {
    bool left = cell.n && cell.at[0] == ':', right = cell.n > 1 && cell.at[cell.n - 1] == ':';
    Str dashes = str_sub(cell, left, cell.n - right);
    *out = left && right ? ALIGN_CENTER : right ? ALIGN_RIGHT : ALIGN_LEFT;
    for (size_t i = 0; i < dashes.n; i++)
        if (dashes.at[i] != '-') return false;
    return dashes.n > 0;
}

/* False: the lines are not a table. */
static bool read_grid(Str text, Grid *g) {
    Str line;
    if (!str_next_line(&text, &line)) return false;
    VEC_PUSH(&g->rows, split(line));
    g->n = g->rows.at[0].n;
    if (g->n == 0 || !str_next_line(&text, &line)) return false;
    Row marks = split(line);
    if (marks.n != g->n) return false;
    for (size_t i = 0; i < marks.n; i++)
        if (!read_align(marks.cells[i], &g->columns[i].align)) return false;
    while (str_next_line(&text, &line)) VEC_PUSH(&g->rows, split(line));
    return true;
}

/* ---- cells ---- */

/* The cell with its marks rendered, broken into lines of `width` columns; 0: one line. */
static void render(Str cell, size_t width, unsigned style, Buf *out) {
    Markdown m = { .wrap = { .width = width, .hard = true } };
    markdown_inline(&m, cell, style, out);
    markdown_style(&m, 0, out);
    wrap_flush(&m.wrap, out);
    markdown_clear(&m);
    if (!out->at) buf_add(out, STR(""));
}

static size_t effect_length(Str text) {
    size_t n = 0;
    while (n < text.n && text.at[n] != 'm') n++;
    return n < text.n ? n + 1 : n;
}

/* Columns of a text with effects, and of its longest word. */
static size_t measure(Str text, size_t *longest) {
    size_t columns = 0, word = 0;
    *longest = 0;
    for (size_t i = 0; i < text.n;) {
        if (text.at[i] == 033) {
            i += effect_length(str_sub(text, i, text.n));
            continue;
        }
        size_t n = 1;
        while (i + n < text.n && ((unsigned char)text.at[i + n] & 0xc0) == 0x80) n++;
        size_t wide = width_of(str_sub(text, i, i + n));
        columns += wide;
        word = text.at[i] == ' ' ? 0 : wide == 2 ? 2 : word + wide;       /* wide characters may be parted */
        if (word > *longest) *longest = word;
        i += n;
    }
    return columns;
}

/* Sets natural widths, and how narrow each column may become. */
static void measure_columns(Grid *g) {
    for (size_t r = 0; r < g->rows.n; r++)
        for (size_t i = 0; i < g->n && i < g->rows.at[r].n; i++) {
            Buf cell = { 0 };
            size_t longest;
            render(g->rows.at[r].cells[i], 0, 0, &cell);
            size_t wide = measure(buf_str(&cell), &longest);
            if (longest > FLOOR_MAX) longest = FLOOR_MAX;
            if (wide > g->columns[i].width) g->columns[i].width = wide;
            if (longest > g->columns[i].floor) g->columns[i].floor = longest;
            buf_clear(&cell);
        }
}

/* Narrows the widest columns until the table fits. False: it cannot. */
static bool fit(Grid *g, size_t width) {
    size_t sum = GAP * (g->n - 1), floors = sum;
    for (size_t i = 0; i < g->n; i++) {
        if (g->columns[i].width == 0) g->columns[i].width = 1;
        sum += g->columns[i].width;
        floors += g->columns[i].floor ? g->columns[i].floor : 1;
    }
    if (floors > width) return false;
    while (sum > width) {
        Column *widest = NULL;
        for (size_t i = 0; i < g->n; i++) {
            Column *c = &g->columns[i];
            if (c->width > c->floor && c->width > 1 && (!widest || c->width > widest->width)) widest = c;
        }
        if (!widest) return false;
        widest->width--;
        sum--;
    }
    return true;
}

/* ---- drawing ---- */

typedef struct Piece { Buf text; Str rest; Str effect; } Piece;  /* effect: the colours active at the end of the last line written */

/* The next line of a cell, padded; its effects (colours) end with the line and are set again in the next one. */
static void put_line(Piece *p, const Column *c, bool last, Buf *out) {
    Str line = { 0 };
    size_t ignored;
    (void)str_next_line(&p->rest, &line);
    size_t wide = measure(line, &ignored), spare = wide < c->width ? c->width - wide : 0;
    size_t before = c->align == ALIGN_RIGHT ? spare : c->align == ALIGN_CENTER ? spare - (spare + 1) / 2 : 0;
    width_add_spaces(out, before);
    buf_add(out, p->effect);
    buf_add(out, line);
    for (size_t i = 0; i < line.n; i++)
        if (line.at[i] == 033) p->effect = str_sub(line, i, i + effect_length(str_sub(line, i, line.n)));
    if (str_eq(p->effect, STR("\033[0m"))) p->effect = STR("");
    if (p->effect.n) buf_add(out, STR("\033[0m"));
    if (!last) width_add_spaces(out, spare - before);
}

static void draw_row(const Grid *g, const Row *row, bool header, Buf *out) {
    Piece *pieces = mem_zero(g->n, sizeof *pieces);
    for (size_t i = 0; i < g->n; i++) {
        if (i < row->n) render(row->cells[i], g->columns[i].width, header ? MARKDOWN_BOLD : 0, &pieces[i].text);
        pieces[i].rest = buf_str(&pieces[i].text);
    }
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < g->n; i++) {
            if (i) buf_add(out, STR(" \033[2m│\033[0m "));
            put_line(&pieces[i], &g->columns[i], i + 1 == g->n, out);
            more = more || pieces[i].rest.n;
        }
        buf_add_char(out, '\n');
    }
    for (size_t i = 0; i < g->n; i++) buf_clear(&pieces[i].text);
    free(pieces);
}

static void draw_rule(const Grid *g, Buf *out) {
    buf_add(out, STR("\033[2m"));
    for (size_t i = 0; i < g->n; i++) {
        if (i) buf_add(out, STR("─┼─"));
        for (size_t k = 0; k < g->columns[i].width; k++) buf_add(out, STR("─"));
    }
    buf_add(out, STR("\033[0m\n"));
}

static void draw_list(const Grid *g, size_t width, Buf *out) {
    for (size_t r = 1; r < g->rows.n; r++) {
        const Row *row = &g->rows.at[r];
        if (r > 1) buf_add_char(out, '\n');
        for (size_t i = 0; i < g->n && i < row->n; i++) {
            Markdown m = { .wrap = { .width = width, .hard = true } };
            if (i) wrap_text(&m.wrap, STR("  "), out);
            markdown_inline(&m, g->rows.at[0].cells[i], MARKDOWN_BOLD, out);
            markdown_style(&m, 0, out);
            wrap_text(&m.wrap, STR(": "), out);
            markdown_inline(&m, row->cells[i], 0, out);
            markdown_style(&m, 0, out);
            wrap_text(&m.wrap, STR("\n"), out);
            markdown_clear(&m);
        }
    }
}

static void write_lines(Markdown *m, Str text, Buf *out) {
    for (Str line; str_next_line(&text, &line);) {
        markdown_inline(m, line, 0, out);
        markdown_style(m, 0, out);
        wrap_text(&m->wrap, STR("\n"), out);
    }
}

void markdown_table(Markdown *m, Buf *out) {
    Grid g = { 0 };
    Buf text = m->table;
    m->table = (Buf){ 0 };
    if (!read_grid(buf_str(&text), &g)) {
        write_lines(m, buf_str(&text), out);
    } else {
        measure_columns(&g);
        if (fit(&g, m->wrap.width)) {
            draw_row(&g, &g.rows.at[0], true, out);
            draw_rule(&g, out);
            for (size_t r = 1; r < g.rows.n; r++) draw_row(&g, &g.rows.at[r], false, out);
        } else {
            draw_list(&g, m->wrap.width, out);
        }
    }
    VEC_CLEAR(&g.rows);
    buf_clear(&text);
}
