#include "starlark/syntax/source.h"
#include <stdio.h>
#include "base/utf8.h"

SourcePlace source_place(const Source *s, Pos pos) {
    if (pos.line == 0) return (SourcePlace){ 0, 0 };
    uint32_t first = s->first_line ? s->first_line : 1;
    return (SourcePlace){ first + pos.line - 1, pos.col + s->indent };
}

bool source_locate(const Source *s, Error *err, Pos pos) {
    char file[ERROR_FILE_MAX];
    snprintf(file, sizeof file, STR_FMT, STR_ARG(s->file));
    SourcePlace place = source_place(s, pos);
    return error_place(err, file, place.line, place.column);
}

bool source_error(const Source *s, Error *err, Pos pos, const char *fmt, ...) {
    if (!err) return false;
    va_list ap;
    va_start(ap, fmt);
    error_set_v(err, ERR_PARSE, fmt, ap);
    va_end(ap);
    return source_locate(s, err, pos);
}

/* Removes one line from the front; all three newline conventions end a line, as in the lexer. */
static Str cut_line(Str *rest) {
    size_t n = 0;
    while (n < rest->n && rest->at[n] != '\n' && rest->at[n] != '\r') n++;
    Str line = str_sub(*rest, 0, n);
    size_t skip = n < rest->n ? 1 : 0;
    if (n + 1 < rest->n && rest->at[n] == '\r' && rest->at[n + 1] == '\n') skip = 2;
    *rest = str_sub(*rest, n + skip, rest->n);
    return line;
}

static bool find_line(const Source *s, uint32_t line, Str *out) {
    uint32_t first = s->first_line ? s->first_line : 1;
    if (line < first) return false;
    Str rest = s->text;
    for (uint32_t i = first; i < line; i++) {
        if (rest.n == 0) return false;
        cut_line(&rest);
    }
    *out = cut_line(&rest);
    return true;
}

static size_t char_length(Str s) {
    size_t n;
    utf8_decode(s, &n);
    return n;
}

/* Byte offset of the nth character, or s.n. */
static size_t char_offset(Str s, size_t nth) {
    size_t at = 0;
    while (nth-- > 0 && at < s.n) at += char_length(str_sub(s, at, s.n));
    return at;
}

static void add_printable(Buf *out, Str s) {
    for (size_t i = 0, n; i < s.n; i += n) {
        Str rest = str_sub(s, i, s.n);
        uint32_t c = utf8_decode(rest, &n);
        bool control = (c < 0x20 && c != '\t') || (c >= 0x7f && c < 0xa0);
        if (control) buf_add_char(out, '?');
        else buf_add_utf8(out, c);
    }
}

static void add_padding(Buf *out, Str s) {
    for (size_t i = 0; i < s.n; i += char_length(str_sub(s, i, s.n))) buf_add_char(out, s.at[i] == '\t' ? '\t' : ' ');
}

void source_excerpt(const Source *s, uint32_t line, uint32_t column, Buf *out) {
    enum { BEFORE = 60, WIDTH = 100 };               /* characters shown of a long line */
    Str text;
    if (!find_line(s, line, &text)) return;
    size_t caret = column > s->indent ? column - s->indent - 1 : 0;
    size_t caret_at = char_offset(text, caret);
    size_t from = caret > BEFORE ? char_offset(text, caret - BEFORE) : 0;
    if (from == text.n && from > 0) from = 0;        /* column is far beyond the end */
    size_t to = from + char_offset(str_sub(text, from, text.n), WIDTH);
    if (from > 0) buf_add(out, STR("…"));
    add_printable(out, str_sub(text, from, to));
    buf_add(out, to < text.n ? STR("…\n") : STR("\n"));
    if (from > 0) buf_add_char(out, ' ');
    add_padding(out, str_sub(text, from, caret_at < to ? caret_at : to));
    buf_add(out, STR("^\n"));
}
