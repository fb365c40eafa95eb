#include "cli/excerpt.h"
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>
#include "artifact/project.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "cli/terminal/width.h"
#include "policy/credentials.h"

enum { GUTTER = 8, TAB = 4, LEAST = 20, PIPE_WIDTH = 120, SHOWN_MAX = 50 };

/* ---- drawing ---- */

/* As it is shown: tabs as spaces, control and deceptive characters escaped. */
static void add_shown(Buf *out, Str text) {
    for (Str rest = text; rest.n;) {
        ptrdiff_t tab = str_find_char(rest, '\t');
        size_t n = tab < 0 ? rest.n : (size_t)tab;
        cli_escape_all(out, str_sub(rest, 0, n), false);
        if (tab >= 0) width_add_spaces(out, TAB);
        rest = str_sub(rest, tab < 0 ? n : n + 1, rest.n);
    }
}

/* Byte offset of character `column`, counted from 1; the end of the line if it is shorter. */
static size_t offset_of(Str line, uint32_t column) {
    size_t at = 0, n;
    for (uint32_t i = 1; i < column && at < line.n; i++, at += n) utf8_decode(str_sub(line, at, line.n), &n);
    return at;
}

static size_t shown_width(Str text) {
    Buf shown = { 0 };
    add_shown(&shown, text);
    size_t n = width_of(buf_str(&shown));
    buf_clear(&shown);
    return n;
}

static bool is_inside(char c) { return ((unsigned char)c & 0xc0) == 0x80; }          /* a byte of a character that began before */

/* The first byte that is shown, so that the text before the caret takes at most `columns`. Looks at the end of that text only, which may be very long. */
static size_t start_of(Str line, size_t caret, size_t columns) {
    size_t from = caret, used = 0;
    while (from > 0) {
        size_t at = from - 1;
        while (at > 0 && is_inside(line.at[at])) at--;
        used += shown_width(str_sub(line, at, from));
        if (used > columns) return from;
        from = at;
    }
    return 0;
}

static size_t end_of(Str line, size_t caret, size_t columns) {
    size_t to = caret, used = 0, n;
    while (to < line.n) {
        utf8_decode(str_sub(line, to, line.n), &n);
        used += shown_width(str_sub(line, to, to + n));
        if (used > columns) return to;
        to += n;
    }
    return to;
}

void excerpt_write(const Cli *cli, Str line, uint32_t number, uint32_t column, size_t width, Buf *out) {
    size_t caret = offset_of(line, column), room = width > GUTTER + LEAST ? width - GUTTER - 3 : LEAST;      /* 3: columns for "…" at both ends and the caret */
    bool fits = line.n <= room * 4 && shown_width(line) <= room;
    size_t from = fits ? 0 : start_of(line, caret, room / 2);
    size_t before = shown_width(str_sub(line, from, caret)) + (from > 0);
    size_t to = fits ? line.n : end_of(line, caret, room - (before < room ? before : room));
    size_t head = out->n;
    buf_add_fmt(out, "%*u | ", GUTTER - 3, number);
    head = out->n - head;                                    /* wider than the gutter from line 100,000 on */
    if (from > 0) buf_add(out, STR("…"));
    add_shown(out, str_sub(line, from, to));
    buf_add(out, to < line.n ? STR("…\n") : STR("\n"));
    width_add_spaces(out, head - 2);
    buf_add(out, STR("| "));
    width_add_spaces(out, before);
    buf_add(out, cli->color_err ? STR("\033[1;31m^\033[0m\n") : STR("^\n"));
}

/* ---- files ---- */

void excerpt_open(Excerpt *e, Cli *cli) {
    char root[PATH_MAX];
    *e = (Excerpt){ .cli = cli, .root_fd = -1, .width = isatty(STDERR_FILENO) ? width_of_terminal(STDERR_FILENO) : PIPE_WIDTH };
    if (project_root(&(ProjectInput){ .dir = cli_project(cli), .config = cli->config }, root)) e->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void excerpt_close(Excerpt *e) {
    if (e->root_fd >= 0) close(e->root_fd);
    free(e->file);
    buf_clear(&e->text);
}

/* Problems are sorted by file, so caching one file is enough. A file that cannot be read has an empty one. */
static void read_file(Excerpt *e, Str file) {
    if (e->file && str_eq(str_from(e->file), file)) return;
    free(e->file);
    e->file = str_dup(file);
    buf_reset(&e->text);
    DocumentContext docs = { .root_fd = e->root_fd };
    (void)document_read_bytes(&docs, file, DOCUMENT_BYTES_MAX, &e->text, NULL);
}

static bool find_line(Str text, uint32_t number, Str *line) {
    if (str_starts(text, STR("\xef\xbb\xbf"))) text = str_sub(text, 3, text.n);
    for (uint32_t i = 1; str_next_line(&text, line); i++)
        if (i == number) return true;
    return false;
}

/* ---- lines that may hold a credential ---- */

/* Keys whose values, or the values below, may be a literal credential of any form (secrets_literal). Elsewhere credentials are recognised by their form. */
static bool is_private(Str word) {
    static const char *const keys[] = { "env", "environment", "headers", "args", "oauth", "store", "network", "secrets" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (str_eq(word, str_from(keys[i]))) return true;
    return credentials_name(word);
}

static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-'; }

static bool mentions_private(Str text) {
    for (size_t i = 0; i < text.n;) {
        size_t n = 0;
        while (i + n < text.n && is_word(text.at[i + n])) n++;
        if (n && is_private(str_sub(text, i, i + n))) return true;
        i += n ? n : 1;
    }
    return false;
}

static size_t indent_of(Str line) {
    size_t n = 0;
    while (n < line.n && (line.at[n] == ' ' || line.at[n] == '\t')) n++;
    return n;
}

/* The key of a line "key: …", "- key: …" or "\"key\": …"; empty: it has none. */
static Str key_of(Str line) {
    ptrdiff_t colon = str_find_char(line, ':');
    if (colon < 0) return STR("");
    Str key = str_trim(str_sub(line, 0, (size_t)colon));
    while (key.n && !is_word(key.at[0])) key = str_sub(key, 1, key.n);
    while (key.n && !is_word(key.at[key.n - 1])) key.n--;
    return key;
}

static bool is_code(Str key) { return str_eq(key, STR("script")) || str_eq(key, STR("when")) || str_eq(key, STR("condition")); }

/* Looks at the line and at those that enclose it, the less indented ones above. */
static bool may_show(Str text, uint32_t number) {
    VEC(Str) above = { 0 };                                  /* each less indented than the next */
    Str line;
    for (uint32_t i = 1; i < number && str_next_line(&text, &line); i++) {
        if (!str_trim(line).n) continue;
        while (above.n && indent_of(VEC_LAST(&above)) >= indent_of(line)) above.n--;
        VEC_PUSH(&above, line);
    }
    bool show = true, code = false;
    size_t own = str_next_line(&text, &line) ? indent_of(line) : 0;
    for (size_t i = 0; i < above.n && show && !code; i++) {
        if (indent_of(above.at[i]) >= own && str_trim(line).n) break;
        code = is_code(key_of(above.at[i]));
        show = code || !is_private(key_of(above.at[i]));
    }
    VEC_CLEAR(&above);
    return show && (code || !mentions_private(line));
}

/* A problem of the whole document is placed at its first line. */
static bool says_nothing(Str line) {
    line = str_trim(line);
    return line.n == 0 || str_eq(line, STR("---")) || str_eq(line, STR("{"));
}

/* A masked line is longer or shorter than the file's. Columns before the first difference are the same. */
static bool mask(const Cli *cli, Str line, uint32_t column, Buf *out) {
    buf_add(out, line);
    cli_mask(cli, out);
    size_t same = 0, n = out->n < line.n ? out->n : line.n;
    while (same < n && out->at[same] == line.at[same]) same++;
    return (same == line.n && out->n == line.n) || offset_of(line, column) <= same;
}

void excerpt_add(Excerpt *e, const Problem *p, Buf *out) {
    Str line;
    if (e->root_fd < 0 || p->line == 0 || p->file.n == 0 || p->about_file || e->shown == SHOWN_MAX) return;
    read_file(e, p->file);
    if (!find_line(buf_str(&e->text), p->line, &line) || says_nothing(line) || !may_show(buf_str(&e->text), p->line)) return;
    e->shown++;
    Buf masked = { 0 };
    if (mask(e->cli, line, p->column, &masked)) excerpt_write(e->cli, buf_str(&masked), p->line, p->column, e->width, out);
    buf_clear(&masked);
}
