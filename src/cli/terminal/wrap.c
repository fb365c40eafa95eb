#include "cli/terminal/wrap.h"
#include "base/utf8.h"
#include "cli/terminal/width.h"

enum { TAB = 8 };

static size_t skip_effect(Str text, size_t i) {
    while (i < text.n && text.at[i] != 'm') i++;
    return i < text.n ? i + 1 : i;
}

/* ---- the indent of continued lines ---- */

/* "12." or "3)": the number of a list item. */
static bool is_number(Str word) {
    size_t digits = 0, i = 0;
    while (i < word.n) {
        if (word.at[i] == 033) {
            i = skip_effect(word, i);
            continue;
        }
        if (word.at[i] < '0' || word.at[i] > '9') break;
        digits++;
        i++;
    }
    return digits && digits <= 3 && i + 1 == word.n && (word.at[i] == '.' || word.at[i] == ')');
}

static bool is_mark(Str word, const char *mark, size_t columns) { return columns == 1 && str_ends(word, str_from(mark)); }

static void start_line(Wrap *w) {
    Str word = buf_str(&w->word);
    bool item = is_number(word) || is_mark(word, "•", w->word_columns) || is_mark(word, "-", w->word_columns) || is_mark(word, "*", w->word_columns);
    w->started = true;
    w->quote = is_mark(word, "│", w->word_columns);
    w->hang = w->spaces + (item || w->quote ? w->word_columns + 1 : 0);
    if (w->hang > w->width / 2 || w->width - w->hang < 2) w->hang = 0;      /* continued lines keep at least half of the width */
    if (w->fences && str_starts(word, STR("```"))) w->verbatim = !w->verbatim;
}

/* ---- output ---- */

static void break_line(Wrap *w, Buf *out) {
    buf_add_char(out, '\n');
    if (w->quote && w->hang >= 2) {
        width_add_spaces(out, w->hang - 2);
        buf_add(out, STR("│ "));
    } else {
        width_add_spaces(out, w->hang);
    }
    w->column = w->hang;
    w->spaces = 0;
}

static void put_hard(Wrap *w, Buf *out) {
    Str word = buf_str(&w->word);
    for (size_t i = 0, n; i < word.n; i += n) {
        if (word.at[i] == 033) {
            n = skip_effect(word, i) - i;
        } else {
            utf8_decode(str_sub(word, i, word.n), &n);
            size_t columns = width_of(str_sub(word, i, i + n));
            if (w->column + columns > w->width && w->column > w->hang) break_line(w, out);
            w->column += columns;
        }
        buf_add(out, str_sub(word, i, i + n));
    }
}

static void put_word(Wrap *w, Buf *out) {
    if (!w->started && w->word_columns) start_line(w);
    if (!w->verbatim && w->column + w->spaces + w->word_columns > w->width && w->column + w->spaces > w->hang) break_line(w, out);
    if (w->column + w->spaces >= w->width) w->spaces = 0;                /* an indent without room for a word */
    if (w->word_columns) {
        width_add_spaces(out, w->spaces);
        w->column += w->spaces;
        w->spaces = 0;
    }
    if (w->hard && w->column + w->word_columns > w->width) {
        put_hard(w, out);
    } else {
        buf_add(out, buf_str(&w->word));
        w->column += w->word_columns;
        if (w->column > w->width) w->column = (w->column - 1) % w->width + 1;         /* the terminal has broken it */
    }
    buf_reset(&w->word);
    w->word_columns = 0;
    w->wide = false;
}

static void end_line(Wrap *w, Buf *out) {
    put_word(w, out);
    buf_add_char(out, '\n');
    w->column = w->spaces = w->hang = 0;
    w->quote = w->started = false;
}

static void add_character(Wrap *w, Str character, size_t columns, Buf *out) {
    if (columns && (w->wide || (columns == 2 && w->word_columns))) put_word(w, out);
    buf_add(&w->word, character);
    w->word_columns += columns;
    if (columns == 2) w->wide = true;
}

void wrap_text(Wrap *w, Str text, Buf *out) {
    if (!w->width) {
        wrap_flush(w, out);
        buf_add(out, text);
        return;
    }
    for (size_t i = 0, n; i < text.n; i += n) {
        char c = text.at[i];
        n = 1;
        if (c == '\n') {
            end_line(w, out);
        } else if (c == ' ' || c == '\t') {
            if (w->word_columns) put_word(w, out);
            w->spaces += c == ' ' ? 1 : TAB - (w->column + w->spaces) % TAB;
        } else {
            utf8_decode(str_sub(text, i, text.n), &n);
            Str character = str_sub(text, i, i + n);
            add_character(w, character, width_of(character), out);
        }
    }
}

void wrap_effect(Wrap *w, Str sequence, Buf *out) {
    buf_add(w->width && (w->word.n || w->spaces) ? &w->word : out, sequence);
}

void wrap_verbatim(Wrap *w, Str text, Buf *out) {
    wrap_flush(w, out);
    buf_add(out, text);
    w->started = true;
    w->column += width_of(text);
}

void wrap_flush(Wrap *w, Buf *out) {
    if (w->width) put_word(w, out);
    width_add_spaces(out, w->spaces);
    w->column += w->spaces;
    w->spaces = 0;
}

void wrap_clear(Wrap *w) {
    buf_clear(&w->word);
    *w = (Wrap){ 0 };
}

void wrap_lines(Buf *out, Str text, size_t indent, size_t width) {
    Wrap w = { .width = width > indent + 8 ? width - indent : 8, .hard = true };
    Buf all = { 0 };
    wrap_text(&w, text, &all);
    wrap_flush(&w, &all);
    Str rest = buf_str(&all), line;
    while (str_next_line(&rest, &line)) {
        if (line.n) width_add_spaces(out, indent);
        buf_add(out, line);
        buf_add_char(out, '\n');
    }
    buf_clear(&all);
    wrap_clear(&w);
}

void wrap_message(Buf *out, Str line, size_t width) {
    Wrap w = { .width = width, .started = true, .hang = width > 20 ? 2 : 0 };
    for (size_t i = 0, n; i < line.n; i += n) {
        bool effect = line.at[i] == 033;
        n = effect ? skip_effect(line, i) - i : 1;
        while (!effect && i + n < line.n && line.at[i + n] != 033) n++;
        if (effect) wrap_effect(&w, str_sub(line, i, i + n), out);
        else wrap_text(&w, str_sub(line, i, i + n), out);
    }
    wrap_flush(&w, out);
    buf_add_char(out, '\n');
    wrap_clear(&w);
}
