#include "base/utf8.h"
#include "shell/syntax.h"

/* A word being read. */
typedef struct {
    Buf text, marks;
    VEC(SyntaxNode *) scripts;
    bool process;
} Build;

void syntax_fail(SyntaxReader *x, const char *why) {
    if (!x->error) x->error = why;
    x->i = x->s.n;
}

bool syntax_enter(SyntaxReader *x) {
    if (++x->depth > SHELL_DEPTH_MAX) syntax_fail(x, "it is nested too deep");
    return !x->error;
}

char syntax_peek(const SyntaxReader *x, size_t ahead) { return x->i + ahead < x->s.n ? x->s.at[x->i + ahead] : 0; }

static bool at_end(const SyntaxReader *x) { return x->i >= x->s.n; }
static uint32_t position(const SyntaxReader *x, size_t i, bool end) { return !x->nested ? (uint32_t)i : end ? x->to : x->from; }

static void add_mark(Build *b, char c, SyntaxMark mark) {
    buf_add_char(&b->text, c);
    buf_add_char(&b->marks, (char)mark);
}

static void add_unknown(Build *b, bool quoted) { add_mark(b, SHELL_UNKNOWN, quoted ? SYNTAX_UNKNOWN_QUOTED : SYNTAX_UNKNOWN); }

/* SHELL_UNKNOWN, and NUL, which no argument can contain, are never taken literally. */
static void add_char(Build *b, char c, bool quoted) {
    if (c == SHELL_UNKNOWN || c == 0) add_unknown(b, quoted);
    else add_mark(b, c, quoted ? SYNTAX_QUOTED : SYNTAX_PLAIN);
}

static void add_script(Build *b, SyntaxNode *script) {
    if (script) VEC_PUSH(&b->scripts, script);
}

static void add_scripts_of(Build *b, const SyntaxWord *w) {
    for (size_t i = 0; i < w->scripts_n; i++) VEC_PUSH(&b->scripts, w->scripts[i]);
}

static SyntaxWord finish(SyntaxReader *x, Build *b, size_t from) {
    SyntaxWord w = { .n = b->text.n, .process = b->process, .from = position(x, from, false), .to = position(x, x->i, true) };
    w.text = (char *)(uintptr_t)arena_str(x->arena, buf_str(&b->text)).at;
    w.marks = (uint8_t *)(uintptr_t)arena_str(x->arena, buf_str(&b->marks)).at;
    w.scripts_n = b->scripts.n;
    w.scripts = ARENA_ARRAY(x->arena, SyntaxNode *, b->scripts.n);
    if (b->scripts.n) memcpy(w.scripts, b->scripts.at, b->scripts.n * sizeof *w.scripts);
    buf_clear(&b->text);
    buf_clear(&b->marks);
    VEC_CLEAR(&b->scripts);
    return w;
}

/* ---- between words ---- */

void syntax_skip_blanks(SyntaxReader *x) {
    for (;;) {
        char c = syntax_peek(x, 0);
        if (c == ' ' || c == '\t') x->i++;
        else if (c == '\\' && syntax_peek(x, 1) == '\n') x->i += 2;
        else break;
    }
    if (syntax_peek(x, 0) != '#') return;
    while (!at_end(x) && syntax_peek(x, 0) != '\n') x->i++;
}

static Str next_line(SyntaxReader *x) {
    const char *end = at_end(x) ? NULL : memchr(x->s.at + x->i, '\n', x->s.n - x->i);
    size_t to = end ? (size_t)(end - x->s.at) : x->s.n;
    Str line = str_sub(x->s, x->i, to);
    x->i = end ? to + 1 : x->s.n;
    return line;
}

static void read_heredoc(SyntaxReader *x, const SyntaxHeredoc *h) {
    Buf body = { 0 };
    size_t from = x->i;
    bool closed = false;
    while (!at_end(x) && !closed) {
        Str line = next_line(x);
        while (h->tabs && line.n && line.at[0] == '\t') line = str_sub(line, 1, line.n);
        closed = str_eq(line, h->end);
        if (closed) break;
        if (!h->quoted && line.n && line.at[line.n - 1] == '\\') x->doubt = "a here-document joins lines";
        buf_add(&body, line);
        buf_add_char(&body, '\n');
    }
    if (!closed) x->doubt = "a here-document is not closed";
    if (!h->quoted) h->redirect->word = syntax_read_text(x, buf_str(&body), from, x->i);
    else {
        Build b = { 0 };
        for (size_t i = 0; i < body.n; i++) add_char(&b, body.at[i], true);
        h->redirect->word = finish(x, &b, from);
    }
    buf_clear(&body);
}

void syntax_skip_newline(SyntaxReader *x) {
    if (!at_end(x)) x->i++;
    size_t n = x->heredocs.n;
    for (size_t k = 0; k < n && !x->error; k++) {
        SyntaxHeredoc h = x->heredocs.at[k];
        read_heredoc(x, &h);
    }
    x->heredocs.n = 0;
}

/* ---- quotes ---- */

static void take_single(SyntaxReader *x, Build *b) {
    for (x->i++; !at_end(x) && syntax_peek(x, 0) != '\''; x->i++) add_char(b, syntax_peek(x, 0), true);
    if (at_end(x)) syntax_fail(x, "a ' is not closed");
    else x->i++;
}

static int digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

static uint32_t take_digits(SyntaxReader *x, int base, int most) {
    uint32_t v = 0;
    for (; most > 0 && digit_value(syntax_peek(x, 0)) < base; most--, x->i++) v = v * (uint32_t)base + (uint32_t)digit_value(syntax_peek(x, 0));
    return v;
}

/* After the backslash in $'...'. The result of \u beyond ASCII depends on the locale. */
static void take_ansi_escape(SyntaxReader *x, Build *b) {
    static const char from[] = "abeEfnrtv\\'\"?", to[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
    char c = syntax_peek(x, 0);
    const char *known = c ? strchr(from, c) : NULL;
    if (known) {
        x->i++;
        add_char(b, to[known - from], true);
        return;
    }
    if (c >= '0' && c <= '7') {
        add_char(b, (char)take_digits(x, 8, 3), true);
        return;
    }
    x->i++;
    bool digits = digit_value(syntax_peek(x, 0)) < 16;
    if (c == 'x' && digits) add_char(b, (char)take_digits(x, 16, 2), true);
    else if ((c == 'u' || c == 'U') && digits) {
        uint32_t code = take_digits(x, 16, c == 'u' ? 4 : 8);
        add_char(b, code < 128 ? (char)code : SHELL_UNKNOWN, true);
    } else if (c == 'x' || c == 'u' || c == 'U' || c == 'c') {
        x->doubt = "an escape in $'...' is not supported";
        add_unknown(b, true);
    } else {
        add_char(b, '\\', true);
        add_char(b, c, true);
    }
}

static void take_ansi(SyntaxReader *x, Build *b) {
    x->i += 2;
    while (!at_end(x) && syntax_peek(x, 0) != '\'') {
        char c = syntax_peek(x, 0);
        x->i++;
        if (c == '\\' && !at_end(x)) take_ansi_escape(x, b);
        else add_char(b, c, true);
    }
    if (at_end(x)) syntax_fail(x, "a $' is not closed");
    else x->i++;
}

/* ---- expansions ---- */

/* A reader of a copied text: all its positions are those of the original. */
static SyntaxReader nested_reader(const SyntaxReader *x, Str text, size_t from, size_t to) {
    return (SyntaxReader){ .arena = x->arena, .s = text, .depth = x->depth, .work = x->work, .nested = true,
                           .from = position(x, from, false), .to = position(x, to, true) };
}

static void join_problems(SyntaxReader *x, SyntaxReader *inner) {
    if (!x->doubt) x->doubt = inner->error ? inner->error : inner->doubt;
    VEC_CLEAR(&inner->heredocs);
}

static void take_backtick(SyntaxReader *x, Build *b, bool quoted) {
    Buf text = { 0 };
    size_t from = x->i;
    for (x->i++; !at_end(x) && syntax_peek(x, 0) != '`'; x->i++) {
        char next = syntax_peek(x, 1);
        if (syntax_peek(x, 0) == '\\' && (next == '`' || next == '\\' || next == '$' || (next == '"' && quoted))) x->i++;
        buf_add_char(&text, syntax_peek(x, 0));
    }
    if (at_end(x)) syntax_fail(x, "a ` is not closed");
    else x->i++;
    SyntaxReader inner = nested_reader(x, buf_str(&text), from, x->i);
    if (syntax_enter(&inner)) add_script(b, syntax_parse(&inner));
    join_problems(x, &inner);
    buf_clear(&text);
    add_unknown(b, quoted);
}

/* The position after the quoted text that starts at i; s.n if it is not closed. Substitutions in double quotes nest:
 * sets *nests. */
static size_t skip_quoted(Str s, size_t i, bool *nests) {
    char quote = s.at[i];
    for (i++; i < s.n && s.at[i] != quote; i++) {
        if (quote == '"' && s.at[i] == '\\') i++;
        *nests |= quote == '"' && (s.at[i < s.n ? i : s.n - 1] == '`' || str_starts(str_sub(s, i, i + 2), STR("$(")));
    }
    return i < s.n ? i : s.n;
}

/* Quotes in arithmetic hide parentheses, and shells treat them differently: only those inside a nested substitution are
 * unambiguous. */
size_t syntax_arithmetic_end(SyntaxReader *x, size_t i) {
    Str s = x->s;
    size_t open = 2, command = 0;                              /* command: depth of the outermost $( in it */
    bool unsure = false;
    for (; i < s.n; i++) {
        char c = s.at[i];
        if (c == '\\') i++;
        else if (c == '\'' || c == '"') {
            unsure |= !command;
            i = skip_quoted(s, i, &unsure);
        } else if (c == '`' || (c == '#' && command)) unsure = true;
        else if (c == '(') {
            open++;
            if (!command && s.at[i - 1] == '$') command = open;
        } else if (c == ')') {
            if (open == command) command = 0;
            if (--open > 1) continue;
            bool arithmetic = i + 1 < s.n && s.at[i + 1] == ')';
            if (unsure) x->doubt = "quotes or comments in arithmetic";
            return arithmetic ? i + 2 : 0;
        }
    }
    if (unsure) x->doubt = "quotes or comments in arithmetic";
    return 0;
}

/* An arithmetic expression is a number, but its substitutions run. */
static void add_arithmetic(SyntaxReader *x, Build *b, Str inner, size_t at, bool quoted) {
    SyntaxWord w = syntax_read_text(x, inner, at, at + inner.n);
    add_scripts_of(b, &w);
    add_unknown(b, quoted);
}

/* The commands of a substitution. Here-documents announced outside of it do not start inside. */
static SyntaxNode *parse_script(SyntaxReader *x) {
    SyntaxHeredocs outer = x->heredocs;
    x->heredocs = (SyntaxHeredocs){ 0 };
    SyntaxNode *script = syntax_parse_until(x, ')');
    if (x->heredocs.n) x->doubt = "a here-document has no body";
    VEC_CLEAR(&x->heredocs);
    x->heredocs = outer;
    return script;
}

static void take_substitution(SyntaxReader *x, Build *b, bool quoted) {
    size_t end = syntax_peek(x, 2) == '(' ? syntax_arithmetic_end(x, x->i + 3) : 0;
    if (end) {
        add_arithmetic(x, b, str_sub(x->s, x->i + 3, end - 2), x->i + 3, quoted);
        x->i = end;
        return;
    }
    x->i += 2;
    add_script(b, parse_script(x));
    add_unknown(b, quoted);
}

static void take_any(SyntaxReader *x, Build *b, bool quoted, bool in_brace);

/* ${name...}: the value is unknown; what follows the name is parsed for its substitutions. */
static void take_brace(SyntaxReader *x, Build *b, bool quoted) {
    x->i += 2;
    char c = syntax_peek(x, 0);
    if (c == ' ' || c == '\t' || c == '\n' || c == '|') {
        syntax_fail(x, "${ command; } is not supported");
        return;
    }
    size_t from = x->i;
    if (c == '#' && syntax_peek(x, 1) != '}') x->i++;            /* ${#x}: # is not a comment, and ${#} is a
                                                                  * parameter */
    Build rest = { 0 };
    while (!at_end(x) && syntax_peek(x, 0) != '}') {
        if (quoted && syntax_peek(x, 0) == '\'') x->doubt = "a ' in ${...} in double quotes";
        take_any(x, &rest, quoted, true);
    }
    Str name = str_sub(x->s, from, x->i);
    if (at_end(x)) syntax_fail(x, "a ${ is not closed");
    else x->i++;
    SyntaxWord w = finish(x, &rest, from);
    add_scripts_of(b, &w);
    bool list = str_starts(name, STR("@")) || str_find(name, STR("[@]")) >= 0 || (str_starts(name, STR("!")) && str_find_char(name, '@') >= 0);
    add_unknown(b, quoted && !list);                             /* "${a[@]}" is any number of words */
}

static void take_old_arithmetic(SyntaxReader *x, Build *b, bool quoted) {
    const char *end = memchr(x->s.at + x->i, ']', x->s.n - x->i);
    if (!end) {
        syntax_fail(x, "a $[ is not closed");
        return;
    }
    size_t to = (size_t)(end - x->s.at);
    add_arithmetic(x, b, str_sub(x->s, x->i + 2, to), x->i + 2, quoted);
    x->doubt = "$[ ... ] is obsolete arithmetic";
    x->i = to + 1;
}

static void take_dquote(SyntaxReader *x, Build *b);

static void take_dollar(SyntaxReader *x, Build *b, bool quoted) {
    char c = syntax_peek(x, 1);
    if (!syntax_enter(x)) return;
    if (c == '(') take_substitution(x, b, quoted);
    else if (c == '{') take_brace(x, b, quoted);
    else if (c == '[') take_old_arithmetic(x, b, quoted);
    else if (c == '\'' && !quoted) take_ansi(x, b);
    else if (c == '"' && !quoted) {
        x->i++;
        take_dquote(x, b);
    } else if (syntax_is_name(c, true)) {
        for (x->i++; syntax_is_name(syntax_peek(x, 0), false);) x->i++;
        add_unknown(b, quoted);
    } else if (c && strchr("@*#?-$!0123456789", c)) {
        x->i += 2;
        add_unknown(b, quoted && c != '@');
    } else {
        add_char(b, '$', quoted);
        x->i++;
        if (c == '\\' && syntax_peek(x, 1) == '\n') x->doubt = "a line is continued after a $";
    }
    x->depth--;
}

/* One element inside double quotes. */
static void take_quoted(SyntaxReader *x, Build *b) {
    char c = syntax_peek(x, 0), next = syntax_peek(x, 1);
    if (c == '$') take_dollar(x, b, true);
    else if (c == '`') take_backtick(x, b, true);
    else if (c == '\\' && next == '\n') x->i += 2;
    else if (c == '\\' && next && strchr("$`\"\\", next)) {
        add_char(b, next, true);
        x->i += 2;
    } else {
        add_char(b, c, true);
        x->i++;
    }
}

static void take_dquote(SyntaxReader *x, Build *b) {
    for (x->i++; !at_end(x) && syntax_peek(x, 0) != '"';) take_quoted(x, b);
    if (at_end(x)) syntax_fail(x, "a \" is not closed");
    else x->i++;
}

/* As in double quotes, but a " and a backslash before it are literal. */
SyntaxWord syntax_read_text(SyntaxReader *x, Str text, size_t from, size_t to) {
    SyntaxReader inner = nested_reader(x, text, from, to);
    Build b = { 0 };
    if (*x->work < text.n) syntax_fail(&inner, "it is too complex");
    else *x->work -= text.n;
    if (syntax_enter(&inner))
        while (!at_end(&inner)) {
            if (syntax_peek(&inner, 0) == '\\' && syntax_peek(&inner, 1) == '"') {
                add_char(&b, '\\', true);
                inner.i++;
            } else take_quoted(&inner, &b);
        }
    join_problems(x, &inner);
    return finish(&inner, &b, 0);
}

static void take_process(SyntaxReader *x, Build *b) {
    x->i += 2;
    if (!syntax_enter(x)) return;
    add_script(b, parse_script(x));
    add_unknown(b, true);
    b->process = true;
    x->depth--;
}

static void take_any(SyntaxReader *x, Build *b, bool quoted, bool in_brace) {
    char c = syntax_peek(x, 0), next = syntax_peek(x, 1);
    if (quoted && c != '"') {
        if (c == '\\' && next == '}') {
            add_char(b, next, true);
            x->i += 2;
        } else take_quoted(x, b);
    }
    else if (c == '\'') take_single(x, b);
    else if (c == '"') take_dquote(x, b);
    else if (c == '$') take_dollar(x, b, false);
    else if (c == '`') take_backtick(x, b, false);
    else if (c == '\\' && next == '\n') x->i += 2;
    else if (c == '\\' && x->i + 1 < x->s.n) {
        add_char(b, next, true);
        x->i += 2;
    } else if (!in_brace && (c == '<' || c == '>') && next == '(') take_process(x, b);
    else {
        if (c == '\\') x->doubt = "it ends with a backslash";
        add_char(b, c, false);
        x->i++;
    }
}

/* ---- words ---- */

static bool ends_word(const SyntaxReader *x) {
    char c = syntax_peek(x, 0);
    if (at_end(x)) return true;
    if ((c == '<' || c == '>') && syntax_peek(x, 1) == '(') return false;
    return c && strchr(" \t\n;&|()<>", c);
}

/* True for NAME=, NAME+= or NAME[...]= without quotes. */
static bool ends_assignment(const Build *b) {
    size_t n = b->text.n, i = 0;
    if (n < 2 || b->text.at[n - 1] != '=') return false;
    while (i < n && b->marks.at[i] == SYNTAX_PLAIN && syntax_is_name(b->text.at[i], i == 0)) i++;
    return i > 0 && (i == n - 1 || (i == n - 2 && b->text.at[i] == '+'));
}

/* NAME[ without its ]: where bash expects an assignment it continues to the ], past blanks and comments. */
static bool has_open_subscript(const SyntaxWord *w) {
    size_t i = 0, open = 0;
    while (i < w->n && w->marks[i] == SYNTAX_PLAIN && syntax_is_name(w->text[i], i == 0)) i++;
    if (i == 0 || i == w->n || w->text[i] != '[' || w->marks[i] != SYNTAX_PLAIN) return false;
    for (; i < w->n; i++) {
        if (w->marks[i] != SYNTAX_PLAIN) continue;
        open += w->text[i] == '[';
        if (w->text[i] == ']' && --open == 0) return false;
    }
    return true;
}

/* NAME=( ... ): the items are separate words. */
static void take_array(SyntaxReader *x, SyntaxWord *w) {
    VEC(SyntaxWord) items = { 0 };
    SyntaxWord item;
    x->i++;
    while (!at_end(x) && syntax_peek(x, 0) != ')') {
        syntax_skip_blanks(x);
        if (syntax_peek(x, 0) == '\n') syntax_skip_newline(x);
        else if (syntax_read_word(x, &item)) VEC_PUSH(&items, item);
        else if (syntax_peek(x, 0) != ')') syntax_fail(x, "an array is not closed");
    }
    if (at_end(x)) syntax_fail(x, "an array is not closed");
    else x->i++;
    w->array = true;
    w->to = position(x, x->i, true);
    w->items = ARENA_ARRAY(x->arena, SyntaxWord, items.n);
    w->items_n = items.n;
    if (items.n) memcpy(w->items, items.at, items.n * sizeof *items.at);
    VEC_CLEAR(&items);
}

bool syntax_read_word(SyntaxReader *x, SyntaxWord *out) {
    Build b = { 0 };
    bool quoted = false;
    size_t from = x->i;
    if (x->error || ends_word(x) || !syntax_enter(x)) return false;
    while (!ends_word(x)) {
        char c = syntax_peek(x, 0), next = syntax_peek(x, 1);
        quoted |= c == '\'' || c == '"' || (c == '\\' && next != '\n') || (c == '$' && (next == '\'' || next == '"'));
        take_any(x, &b, false, false);
    }
    bool array = ends_assignment(&b) && syntax_peek(x, 0) == '(';
    *out = finish(x, &b, from);
    out->quoted = quoted;
    if (has_open_subscript(out)) x->doubt = "a subscript is not closed";
    if (array) take_array(x, out);
    x->depth--;
    return x->i > from;
}

Str syntax_literal(const SyntaxWord *w) {
    for (size_t i = 0; i < w->n; i++)
        if (w->marks[i] >= SYNTAX_UNKNOWN) return STR("");
    return (Str){ w->text, w->n };
}
