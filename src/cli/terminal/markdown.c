#include "cli/terminal/markdown.h"
#include <stdlib.h>
#include "base/utf8.h"
#include "cli/cli.h"

enum { LINE_OPEN, LINE_TEXT, LINE_CODE };                 /* undecided; text with marks; inside fenced code */
enum { BOLD = MARKDOWN_BOLD, ITALIC = 2, CODE = 4, LINK = 8, DIM = MARKDOWN_DIM, STRIKE = 32, UNDERLINE = 64 };

/* ---- output ---- */

static void set_style(Markdown *m, unsigned style, Buf *out) {
    static const struct { unsigned flag; const char *code; } codes[] = {
        { BOLD, "1" }, { ITALIC, "3" }, { CODE, "36" }, { LINK, "4" }, { DIM, "2" }, { STRIKE, "9" }, { UNDERLINE, "4" },
    };
    if (m->style == style) return;
    m->style = style;
    Buf sequence = { 0 };
    buf_add(&sequence, STR("\033[0"));
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (style & codes[i].flag) buf_add_fmt(&sequence, ";%s", codes[i].code);
    buf_add_char(&sequence, 'm');
    wrap_effect(&m->wrap, buf_str(&sequence), out);
    buf_clear(&sequence);
}

static void write_text(Markdown *m, Str text, unsigned style, Buf *out) {
    if (text.n == 0) return;
    set_style(m, style, out);
    if (m->kind == LINE_CODE) wrap_verbatim(&m->wrap, text, out);
    else wrap_text(&m->wrap, text, out);
    m->prev = text.at[text.n - 1];
}

/* ---- scanning ---- */

static size_t run_of(Str s, size_t from, char c) {
    size_t n = 0;
    while (from + n < s.n && s.at[from + n] == c) n++;
    return n;
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == 0; }
static bool is_word(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80; }
static bool is_punct(char c) { return c > ' ' && c < 127 && !is_word(c); }

typedef enum { FOUND, NONE, WAIT } Search;               /* WAIT: more input is needed */

/* The end of `code`: exactly as many backticks as at its start. */
static Search code_end(Str s, size_t from, size_t run, bool final, size_t *at) {
    for (size_t i = from; i < s.n;) {
        size_t n = run_of(s, i, '`');
        if (n == 0) { i++; continue; }
        if (i + n == s.n && !final) return WAIT;
        if (n == run) return *at = i, FOUND;
        i += n;
    }
    return final ? NONE : WAIT;
}

/* The closing *, _ or ~~: as long, not after a space, and not inside code. */
static Search mark_end(Str s, size_t from, char mark, size_t run, bool final, size_t *at) {
    for (size_t i = from; i < s.n;) {
        char c = s.at[i];
        if (c == '\\') { i += 2; continue; }
        if (c == '`') {
            size_t n = run_of(s, i, '`'), end;
            Search found = code_end(s, i + n, n, final, &end);
            if (found == WAIT) return WAIT;
            i = found == FOUND ? end + n : i + n;
            continue;
        }
        if (c != mark) { i++; continue; }
        size_t n = run_of(s, i, mark);
        if (i + n == s.n && !final) return WAIT;
        bool closes = n == run && i > from && !is_space(s.at[i - 1]);
        if (mark == '_' && i + n < s.n && is_word(s.at[i + n])) closes = false;
        if (closes) return *at = i, FOUND;
        i += n;
    }
    return final ? NONE : WAIT;
}

/* [text](address "title"). */
static Search link_end(Str s, size_t from, bool final, size_t *middle, size_t *end) {
    size_t i = from, depth = 0;
    for (; i < s.n && (s.at[i] != ']' || depth); i++) {
        if (s.at[i] == '\\') i++;
        else if (s.at[i] == '[') depth++;
        else if (s.at[i] == ']') depth--;
    }
    if (i + 1 >= s.n) return final ? NONE : WAIT;
    if (s.at[i + 1] != '(') return NONE;
    *middle = i;
    for (i += 2, depth = 0; i < s.n && (s.at[i] != ')' || depth); i++) {
        if (s.at[i] == '(') depth++;
        else if (s.at[i] == ')') depth--;
    }
    if (i >= s.n) return final ? NONE : WAIT;
    return *end = i, FOUND;
}

/* ---- marks inside a line ---- */

static size_t show_inline(Markdown *m, Str s, unsigned style, bool final, Buf *out);

static void show_code(Markdown *m, Str code, unsigned style, Buf *out) {
    if (code.n > 2 && code.at[0] == ' ' && code.at[code.n - 1] == ' ' && str_trim(code).n) code = str_sub(code, 1, code.n - 1);
    write_text(m, code, style | CODE, out);
}

static void show_link(Markdown *m, Str text, Str address, unsigned style, Buf *out) {
    address = str_trim(address);
    ptrdiff_t space = str_find_char(address, ' ');
    if (space >= 0) address = str_sub(address, 0, (size_t)space);
    show_inline(m, text, style | LINK, true, out);
    if (str_eq(text, address) || address.n == 0) return;
    write_text(m, STR(" ("), style | DIM, out);
    write_text(m, address, style | DIM, out);
    write_text(m, STR(")"), style | DIM, out);
}

static unsigned mark_style(char mark, size_t run) {
    if (mark == '~') return run == 2 ? STRIKE : 0;
    return run == 1 ? ITALIC : run == 2 ? BOLD : run == 3 ? BOLD | ITALIC : 0;
}

/* Handles a mark at s[i]. Returns how much of it was shown; 0: more input is needed. */
static size_t show_mark(Markdown *m, Str s, size_t i, unsigned style, bool final, Buf *out) {
    char c = s.at[i];
    size_t run = c == '[' ? 1 : run_of(s, i, c), end = 0, middle = 0;
    if (i + run == s.n && !final) return 0;
    Search found = NONE;
    char before = i ? s.at[i - 1] : m->prev, after = i + run < s.n ? s.at[i + run] : 0;
    if (c == '`') found = code_end(s, i + run, run, final, &end);
    else if (c == '[') found = link_end(s, i + 1, final, &middle, &end);
    else if (mark_style(c, run) && !is_space(after) && !(c == '_' && is_word(before))) found = mark_end(s, i + run, c, run, final, &end);
    if (found == WAIT && s.n - i < MARKDOWN_HOLD) return 0;
    if (found != FOUND) return write_text(m, str_sub(s, i, i + run), style, out), run;
    if (c == '`') return show_code(m, str_sub(s, i + run, end), style, out), end + run - i;
    if (c == '[') return show_link(m, str_sub(s, i + 1, middle), str_sub(s, middle + 2, end), style, out), end + 1 - i;
    show_inline(m, str_sub(s, i + run, end), style | mark_style(c, run), true, out);
    return end + run - i;
}

static size_t show_inline(Markdown *m, Str s, unsigned style, bool final, Buf *out) {
    size_t i = 0, shown = 0;                             /* s[shown..i) is plain and not yet written */
    while (i < s.n) {
        char c = s.at[i];
        if (c == '\\') {
            if (i + 1 == s.n && !final) break;
            bool escape = i + 1 < s.n && is_punct(s.at[i + 1]);
            if (escape) write_text(m, str_sub(s, shown, i), style, out), shown = i + 1;
            i += escape ? 2 : 1;
        } else if (c == '`' || c == '*' || c == '_' || c == '~' || c == '[') {
            write_text(m, str_sub(s, shown, i), style, out);
            size_t n = show_mark(m, s, i, style, final, out);
            if (n == 0) return i;
            shown = i += n;
        } else {
            i++;
        }
    }
    write_text(m, str_sub(s, shown, i), style, out);
    return i;
}

void markdown_inline(Markdown *m, Str text, unsigned style, Buf *out) { (void)show_inline(m, text, style, true, out); }
void markdown_style(Markdown *m, unsigned style, Buf *out) { set_style(m, style, out); }

/* ---- the start of a line ---- */

static void begin_text(Markdown *m, size_t from, unsigned style) {
    m->kind = LINE_TEXT;
    m->base = style;
    size_t n = m->held.n - from;
    memmove(m->held.at, m->held.at + from, n + 1);
    m->held.n = n;
}

static void begin_plain(Markdown *m) { m->kind = LINE_TEXT; }

/* Inside fenced code: checks for its end. False: undecided. */
static bool open_code_line(Markdown *m, Str line, bool final, bool *swallow) {
    size_t i = run_of(line, 0, ' '), n = i <= 3 ? run_of(line, i, m->fence) : 0, rest = i + n + run_of(line, i + n, ' ');
    bool could_end = i <= 3 && rest == line.n && (n > 0 || line.n <= 3);
    if (could_end && !final) return false;
    if (could_end && n >= m->fence_n) {
        m->fence = 0;
        return *swallow = true;
    }
    m->kind = LINE_CODE;
    return true;
}

static bool open_fence(Markdown *m, Str line, size_t i, char c, bool final, bool *swallow) {
    size_t n = run_of(line, i, c);
    if (i + n == line.n && n < 3 && !final) return false;
    if (n < 3) return begin_plain(m), true;
    if (c == '`' && str_find_char(str_sub(line, i + n, line.n), '`') >= 0) return begin_plain(m), true;
    if (!final) return false;
    m->fence = c;
    m->fence_n = n;
    return *swallow = true;
}

static bool open_heading(Markdown *m, Str line, size_t i, bool final) {
    size_t n = run_of(line, i, '#');
    if (i + n == line.n && !final) return false;
    if (n > 6 || i + n == line.n || line.at[i + n] != ' ') return begin_plain(m), true;
    begin_text(m, i + n + 1, n == 1 ? BOLD | UNDERLINE : BOLD);
    return true;
}

/* -, *, + and _ start items and rules. */
static bool open_item(Markdown *m, Str line, size_t i, char c, bool final, Buf *out, bool *swallow) {
    size_t marks = 0, at = i;
    while (at < line.n && (line.at[at] == c || line.at[at] == ' ')) marks += line.at[at++] == c;
    if (at == line.n && !final && line.n < 100) return false;
    if (at == line.n && final && marks >= 3 && c != '+') {
        write_text(m, STR("────────────────────"), DIM, out);
        set_style(m, 0, out);
        wrap_text(&m->wrap, STR("\n"), out);
        return *swallow = true;
    }
    if (c == '_' || i + 1 >= line.n || line.at[i + 1] != ' ') return begin_plain(m), true;
    write_text(m, str_sub(line, 0, i), 0, out);
    write_text(m, STR("• "), 0, out);
    begin_text(m, i + 2, 0);
    return true;
}

/* Lines that start with "|" are collected. False: undecided. */
static bool open_table_line(Markdown *m, Str line, bool final, Buf *out, bool *swallow) {
    bool fits = m->table.n + line.n < MARKDOWN_TABLE;
    if (!final && fits) return false;
    if (!fits) {
        markdown_table(m, out);
        begin_plain(m);
        return true;
    }
    buf_add(&m->table, line);
    buf_add_char(&m->table, '\n');
    return *swallow = true;
}

/* Determines the kind of line. False: undecided. *swallow: the whole line was handled. */
static bool open_line(Markdown *m, bool final, Buf *out, bool *swallow) {
    Str line = buf_str(&m->held);
    size_t i = run_of(line, 0, ' ');
    *swallow = false;
    if (m->fence) return open_code_line(m, line, final, swallow);
    if (i == line.n && !final) return false;
    char c = i < line.n ? line.at[i] : 0;
    if (c == '|' && i <= 3 && m->wrap.width) return open_table_line(m, line, final, out, swallow);
    if (m->table.n) markdown_table(m, out);
    if (c == 0) return begin_plain(m), true;
    if (c == '#' && i <= 3) return open_heading(m, line, i, final);
    if (c == '`' || c == '~') return open_fence(m, line, i, c, final, swallow);
    if (c == '-' || c == '*' || c == '+' || c == '_') return open_item(m, line, i, c, final, out, swallow);
    if (c != '>') return begin_plain(m), true;
    if (i + 1 == line.n && !final) return false;
    write_text(m, STR("│ "), DIM, out);
    begin_text(m, i + 1 < line.n && line.at[i + 1] == ' ' ? i + 2 : i + 1, DIM);
    return true;
}

static void drop_front(Buf *b, size_t n) {
    memmove(b->at, b->at + n, b->n - n + 1);
    b->n -= n;
}

static void end_of_line(Markdown *m, Buf *out, bool newline) {
    set_style(m, 0, out);
    if (newline) wrap_text(&m->wrap, STR("\n"), out);
    buf_reset(&m->held);
    m->kind = LINE_OPEN;
    m->base = 0;
    m->prev = 0;
}

static void advance(Markdown *m, bool final, bool newline, Buf *out) {
    bool swallow = false;
    if (m->kind == LINE_OPEN) {
        if (!m->held.at) buf_add(&m->held, STR(""));
        if (!open_line(m, final, out, &swallow)) return;
        if (m->kind == LINE_CODE) write_text(m, STR("  "), 0, out);
    }
    if (!swallow && m->held.n) {
        size_t n = m->held.n;
        if (m->kind == LINE_CODE) write_text(m, buf_str(&m->held), CODE, out);
        else n = show_inline(m, buf_str(&m->held), m->base, final, out);
        drop_front(&m->held, n);
    }
    if (final) end_of_line(m, out, newline && !swallow);
}

/* ---- pieces ---- */

static void feed_byte(Markdown *m, char c, Buf *out) {
    if (c == '\n') return advance(m, true, true, out);
    buf_add_char(&m->held, c);
    advance(m, false, false, out);
}

static void feed_character(Markdown *m, Str character, Buf *out) {
    Buf safe = { 0 };
    if (character.n == 1 && (character.at[0] == '\r')) return;
    cli_escape_all(&safe, character, true);
    if (character.n > 1 && str_eq(buf_str(&safe), character)) {          /* wrap.h takes whole characters */
        buf_add(&m->held, character);
        advance(m, false, false, out);
    } else {
        for (size_t i = 0; i < safe.n; i++) feed_byte(m, safe.at[i], out);
    }
    buf_clear(&safe);
}

static size_t length_of(char lead) {
    unsigned char c = (unsigned char)lead;
    return c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
}

static void flush_part(Markdown *m, Buf *out) {
    size_t n = m->n_part;
    m->n_part = 0;
    feed_character(m, (Str){ m->part, n }, out);
}

void markdown_feed(Markdown *m, Str piece, Buf *out) {
    for (size_t i = 0; i < piece.n; i++) {
        char c = piece.at[i];
        bool more = ((unsigned char)c & 0xc0) == 0x80;
        if (m->n_part && !more) flush_part(m, out);              /* the character can no longer be completed */
        if (m->n_part == 0 && c >= ' ' && c < 127) {             /* the common case */
            feed_byte(m, c, out);
            continue;
        }
        m->part[m->n_part++] = c;
        if (m->n_part == length_of(m->part[0])) flush_part(m, out);
    }
}

void markdown_end(Markdown *m, Buf *out) {
    if (m->n_part) flush_part(m, out);
    if (m->kind != LINE_OPEN || m->held.n) advance(m, true, false, out);
    if (m->table.n) markdown_table(m, out);
    set_style(m, 0, out);
    wrap_flush(&m->wrap, out);
    m->fence = 0;
}

void markdown_clear(Markdown *m) {
    buf_clear(&m->held);
    buf_clear(&m->table);
    wrap_clear(&m->wrap);
    *m = (Markdown){ 0 };
}
