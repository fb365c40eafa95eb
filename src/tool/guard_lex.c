#include "tool/guard_lex.h"
#include "base/utf8.h"
#include "tool/guard.h"
#include "tool/guard_parse.h"

typedef VEC(GuardElem) Elems;

void guard_lex_fail(GuardLexer *x, const char *why) {
    if (!x->error) x->error = why;
    x->i = x->s.n;
}

bool guard_lex_enter(GuardLexer *x) {
    if (++x->depth > GUARD_DEPTH_MAX) guard_lex_fail(x, "it is nested too deep");
    return !x->error;
}

char guard_lex_peek(const GuardLexer *x, size_t ahead) { return x->i + ahead < x->s.n ? x->s.at[x->i + ahead] : 0; }

static bool at_end(const GuardLexer *x) { return x->i >= x->s.n; }

static void add_char(Elems *e, char c, bool quoted) { VEC_PUSH(e, (GuardElem){ .kind = c == GUARD_HOLE || c == 0 ? GUARD_UNKNOWN : GUARD_CHAR, .quoted = quoted, .c = c }); }

static void add_part(GuardLexer *x, Elems *e, GuardElemKind kind, bool quoted, GuardPart part) {
    GuardPart *kept = ARENA_NEW(x->arena, GuardPart);
    *kept = part;
    VEC_PUSH(e, (GuardElem){ .kind = kind, .quoted = quoted, .part = kept });
}

static GuardWord keep(GuardLexer *x, Elems *e, bool quoted) {
    GuardWord w = { .at = ARENA_ARRAY(x->arena, GuardElem, e->n), .n = e->n, .quoted = quoted };
    if (e->n) memcpy(w.at, e->at, e->n * sizeof *e->at);
    VEC_CLEAR(e);
    return w;
}

static GuardWord *keep_word(GuardLexer *x, Elems *e) {
    GuardWord *w = ARENA_NEW(x->arena, GuardWord);
    *w = keep(x, e, false);
    return w;
}

static bool is_name(char c, bool first) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (!first && c >= '0' && c <= '9');
}

/* ---- between words ---- */

void guard_lex_blanks(GuardLexer *x) {
    for (;;) {
        char c = guard_lex_peek(x, 0);
        if (c == ' ' || c == '\t' || (c == '\r' && guard_lex_peek(x, 1) == '\n')) x->i++;
        else if (c == '\\' && guard_lex_peek(x, 1) == '\n') x->i += 2;
        else if (c == '#') while (!at_end(x) && guard_lex_peek(x, 0) != '\n') x->i++;
        else return;
    }
}

static Str next_line(GuardLexer *x) {
    const char *end = x->i < x->s.n ? memchr(x->s.at + x->i, '\n', x->s.n - x->i) : NULL;
    size_t to = end ? (size_t)(end - x->s.at) : x->s.n;
    Str line = str_sub(x->s, x->i, to);
    x->i = end ? to + 1 : x->s.n;
    return line;
}

static void read_heredoc(GuardLexer *x, const GuardHeredoc *h) {
    Buf body = { 0 };
    while (!at_end(x)) {
        Str line = next_line(x);
        while (h->tabs && line.n && line.at[0] == '\t') line = str_sub(line, 1, line.n);
        if (str_eq(line, h->end)) break;
        if (!h->quoted && line.n && line.at[line.n - 1] == '\\') x->doubt = "a here-document joins lines";
        buf_add(&body, line);
        buf_add_char(&body, '\n');
    }
    Str text = arena_str(x->arena, buf_str(&body));
    buf_clear(&body);
    Elems e = { 0 };
    if (!h->quoted) h->redirect->word = guard_lex_text(x, text);
    else {
        for (size_t i = 0; i < text.n; i++) add_char(&e, text.at[i], true);
        h->redirect->word = keep(x, &e, true);
    }
}

void guard_lex_newline(GuardLexer *x) {
    x->i++;
    size_t n = x->heredocs.n;
    for (size_t k = 0; k < n && !x->error; k++) read_heredoc(x, &x->heredocs.at[k]);
    x->heredocs.n = 0;
}

/* ---- quotes ---- */

static void take_single(GuardLexer *x, Elems *e) {
    for (x->i++; !at_end(x) && guard_lex_peek(x, 0) != '\''; x->i++) add_char(e, guard_lex_peek(x, 0), true);
    if (at_end(x)) guard_lex_fail(x, "a ' is not closed");
    else x->i++;
}

static int digit_value(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

static uint32_t take_digits(GuardLexer *x, int base, int most) {
    uint32_t v = 0;
    for (; most > 0 && digit_value(guard_lex_peek(x, 0)) < base; most--, x->i++) v = v * (uint32_t)base + (uint32_t)digit_value(guard_lex_peek(x, 0));
    return v;
}

static void add_codepoint(Elems *e, uint32_t c) {
    char out[4];
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) c = 0xFFFD;
    size_t n = utf8_encode(c, out);
    for (size_t k = 0; k < n; k++) add_char(e, out[k], true);
}

/* Behind the backslash in $'…'. */
static void take_ansi_escape(GuardLexer *x, Elems *e) {
    static const char from[] = "abeEfnrtv\\'\"?", to[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
    char c = guard_lex_peek(x, 0);
    const char *known = c ? strchr(from, c) : NULL;
    if (known) { x->i++; add_char(e, to[known - from], true); return; }
    if (c >= '0' && c <= '7') { add_char(e, (char)take_digits(x, 8, 3), true); return; }
    x->i++;
    if (c == 'x') {
        if (guard_lex_peek(x, 0) == '{') x->doubt = "an escape in $'…'";
        add_char(e, (char)take_digits(x, 16, 2), true);
    }
    else if (c == 'u' || c == 'U') add_codepoint(e, take_digits(x, 16, c == 'u' ? 4 : 8));
    else if (c == 'c') x->doubt = "an escape in $'…'", x->i++;
    else add_char(e, '\\', true), add_char(e, c, true);
}

static void take_ansi(GuardLexer *x, Elems *e) {
    x->i += 2;
    while (!at_end(x) && guard_lex_peek(x, 0) != '\'') {
        char c = guard_lex_peek(x, 0);
        x->i++;
        if (c == '\\' && !at_end(x)) take_ansi_escape(x, e);
        else add_char(e, c, true);
    }
    if (at_end(x)) guard_lex_fail(x, "a $' is not closed");
    else x->i++;
}

/* ---- expansions ---- */

static GuardNode *parse_inner(GuardLexer *x, Str text) {
    GuardScript script = guard_parse(text, x->depth + 1, x->arena);
    if (script.error && !x->doubt) x->doubt = script.error;
    return script.node;
}

static void take_backtick(GuardLexer *x, Elems *e, bool quoted) {
    Buf inner = { 0 };
    for (x->i++; !at_end(x) && guard_lex_peek(x, 0) != '`'; x->i++) {
        char next = guard_lex_peek(x, 1);
        if (guard_lex_peek(x, 0) == '\\' && (next == '`' || next == '\\' || next == '$' || (next == '"' && quoted))) x->i++;
        buf_add_char(&inner, guard_lex_peek(x, 0));
    }
    Str text = arena_str(x->arena, buf_str(&inner));
    buf_clear(&inner);
    if (at_end(x)) { guard_lex_fail(x, "a ` is not closed"); }
    else x->i++;
    add_part(x, e, GUARD_SUBSTITUTION, quoted, (GuardPart){ .script = parse_inner(x, text) });
}

size_t guard_lex_arithmetic(Str s, size_t i) {
    size_t open = 2;
    for (; i < s.n; i++) {
        if (s.at[i] == '\\') i++;
        else if (s.at[i] == '(') open++;
        else if (s.at[i] == ')' && --open == 1) return i + 1 < s.n && s.at[i + 1] == ')' ? i + 2 : 0;
    }
    return 0;
}

static void take_substitution(GuardLexer *x, Elems *e, bool quoted) {
    size_t end = guard_lex_peek(x, 2) == '(' ? guard_lex_arithmetic(x->s, x->i + 3) : 0;
    if (end) {                                           /* $(( … )): a number, but what stands in it is expanded */
        GuardWord inner = guard_lex_text(x, str_sub(x->s, x->i + 3, end - 2));
        for (size_t k = 0; k < inner.n; k++)
            if (inner.at[k].part) VEC_PUSH(e, inner.at[k]);
        add_char(e, GUARD_HOLE, true);
        x->i = end;
        return;
    }
    x->i += 2;
    GuardNode *script = guard_parse_inside(x, ')');
    add_part(x, e, GUARD_SUBSTITUTION, quoted, (GuardPart){ .script = script });
}

static void take_any(GuardLexer *x, Elems *e, bool quoted, bool in_brace);

/* What stands behind the name in ${name…}, up to its }. */
static GuardWord *take_brace_word(GuardLexer *x, bool quoted) {
    Elems e = { 0 };
    while (!at_end(x) && guard_lex_peek(x, 0) != '}') {
        if (quoted && guard_lex_peek(x, 0) == '\'') x->doubt = "a ' in ${…} in double quotes";
        take_any(x, &e, quoted, true);
    }
    return keep_word(x, &e);
}

static void take_brace(GuardLexer *x, Elems *e, bool quoted) {
    x->i += 2;
    char c = guard_lex_peek(x, 0);
    if (c == ' ' || c == '\t' || c == '\n' || c == '|') { guard_lex_fail(x, "${ command } is not understood"); return; }
    GuardPart part = { 0 };
    size_t from = x->i;
    bool plain = c != '!' && c != '#';
    if (!plain) x->i++, from++;
    while (is_name(guard_lex_peek(x, 0), false)) x->i++;
    if (x->i == from && guard_lex_peek(x, 0) && strchr("@*?$!-#", guard_lex_peek(x, 0)) && guard_lex_peek(x, 0) != '}') x->i++;
    part.name = str_sub(x->s, from, x->i);
    char op = guard_lex_peek(x, 0), after = guard_lex_peek(x, 1);
    bool defaults = (op == ':' && (after == '-' || after == '=' || after == '+')) || op == '-' || op == '=' || op == '+';
    if (defaults) x->i += op == ':' ? 2 : 1;
    GuardWord *rest = take_brace_word(x, quoted);
    if (at_end(x)) guard_lex_fail(x, "a ${ is not closed");
    else x->i++;
    bool simple = plain && (defaults || rest->n == 0);
    part.otherwise = rest;
    if (simple && !defaults) part.otherwise = NULL;
    if (!simple) part.name = STR("");
    add_part(x, e, GUARD_VARIABLE, quoted, part);
}

static void take_old_arithmetic(GuardLexer *x, Elems *e) {
    const char *end = memchr(x->s.at + x->i, ']', x->s.n - x->i);
    if (!end) { guard_lex_fail(x, "a $[ is not closed"); return; }
    GuardWord inner = guard_lex_text(x, str_sub(x->s, x->i + 2, (size_t)(end - x->s.at)));
    for (size_t k = 0; k < inner.n; k++)
        if (inner.at[k].part) VEC_PUSH(e, inner.at[k]);
    add_char(e, GUARD_HOLE, true);
    x->doubt = "$[ … ] is old arithmetic";
    x->i = (size_t)(end - x->s.at) + 1;
}

static void take_dquote(GuardLexer *x, Elems *e);

static void take_dollar(GuardLexer *x, Elems *e, bool quoted) {
    char c = guard_lex_peek(x, 1);
    if (!guard_lex_enter(x)) return;
    if (c == '(') take_substitution(x, e, quoted);
    else if (c == '{') take_brace(x, e, quoted);
    else if (c == '[') take_old_arithmetic(x, e);
    else if (c == '\'' && !quoted) take_ansi(x, e);
    else if (c == '"' && !quoted) x->i++, take_dquote(x, e);
    else if (is_name(c, true)) {
        size_t from = ++x->i;
        while (is_name(guard_lex_peek(x, 0), false)) x->i++;
        add_part(x, e, GUARD_VARIABLE, quoted, (GuardPart){ .name = str_sub(x->s, from, x->i) });
    } else if (c && strchr("@*#?-$!0123456789", c)) {
        add_part(x, e, GUARD_VARIABLE, quoted, (GuardPart){ .name = str_sub(x->s, x->i + 1, x->i + 2) });
        x->i += 2;
    } else add_char(e, '$', quoted), x->i++;
    x->depth--;
}

/* One element inside double quotes. */
static void take_quoted(GuardLexer *x, Elems *e) {
    char c = guard_lex_peek(x, 0), next = guard_lex_peek(x, 1);
    if (c == '$') take_dollar(x, e, true);
    else if (c == '`') take_backtick(x, e, true);
    else if (c == '\\' && next == '\n') x->i += 2;
    else if (c == '\\' && next && strchr("$`\"\\", next)) add_char(e, next, true), x->i += 2;
    else add_char(e, c, true), x->i++;
}

static void take_dquote(GuardLexer *x, Elems *e) {
    for (x->i++; !at_end(x) && guard_lex_peek(x, 0) != '"';) take_quoted(x, e);
    if (at_end(x)) guard_lex_fail(x, "a \" is not closed");
    else x->i++;
}

GuardWord guard_lex_text(GuardLexer *x, Str text) {
    GuardLexer inner = { .arena = x->arena, .s = text, .depth = x->depth };
    Elems e = { 0 };
    if (guard_lex_enter(&inner))
        while (!at_end(&inner)) take_quoted(&inner, &e);
    if (inner.error && !x->doubt) x->doubt = inner.error;
    if (inner.doubt) x->doubt = inner.doubt;
    VEC_CLEAR(&inner.heredocs);
    return keep(x, &e, true);
}

static void take_process(GuardLexer *x, Elems *e) {
    x->i += 2;
    if (!guard_lex_enter(x)) return;
    GuardNode *script = guard_parse_inside(x, ')');
    add_part(x, e, GUARD_PROCESS, true, (GuardPart){ .script = script });
    x->depth--;
}

static void take_any(GuardLexer *x, Elems *e, bool quoted, bool in_brace) {
    char c = guard_lex_peek(x, 0), next = guard_lex_peek(x, 1);
    if (quoted && c != '"') {
        if (c == '\\' && next == '}') add_char(e, next, true), x->i += 2;
        else take_quoted(x, e);
    }
    else if (c == '\'') take_single(x, e);
    else if (c == '"') take_dquote(x, e);
    else if (c == '$') take_dollar(x, e, false);
    else if (c == '`') take_backtick(x, e, false);
    else if (c == '\\' && next == '\n') x->i += 2;
    else if (c == '\\' && x->i + 1 < x->s.n) add_char(e, next, true), x->i += 2;
    else if (!in_brace && (c == '<' || c == '>') && next == '(') take_process(x, e);
    else add_char(e, c, false), x->i++;
}

static bool ends_word(const GuardLexer *x) {
    char c = guard_lex_peek(x, 0);
    if (at_end(x)) return true;
    if (c == '\r' && guard_lex_peek(x, 1) == '\n') return true;
    if ((c == '<' || c == '>') && guard_lex_peek(x, 1) == '(') return false;
    return c && strchr(" \t\n;&|()<>", c);
}

static bool ends_assignment(const Elems *e) {
    size_t n = e->n;
    if (n < 2 || e->at[n - 1].kind != GUARD_CHAR || e->at[n - 1].c != '=' || e->at[n - 1].quoted) return false;
    return e->at[0].kind == GUARD_CHAR && !e->at[0].quoted && is_name(e->at[0].c, true);
}

/* x=( … ): the items are words of their own. */
static void take_array(GuardLexer *x, GuardWord *w) {
    VEC(GuardWord) items = { 0 };
    GuardWord item;
    x->i++;
    while (!at_end(x) && guard_lex_peek(x, 0) != ')') {
        guard_lex_blanks(x);
        if (guard_lex_peek(x, 0) == '\n') guard_lex_newline(x);
        else if (guard_lex_word(x, &item)) VEC_PUSH(&items, item);
        else if (guard_lex_peek(x, 0) != ')') guard_lex_fail(x, "an array is not closed");
    }
    if (at_end(x)) guard_lex_fail(x, "an array is not closed");
    else x->i++;
    w->items = ARENA_ARRAY(x->arena, GuardWord, items.n);
    w->items_n = items.n;
    if (items.n) memcpy(w->items, items.at, items.n * sizeof *items.at);
    VEC_CLEAR(&items);
}

bool guard_lex_word(GuardLexer *x, GuardWord *out) {
    Elems e = { 0 };
    bool quoted = false;
    size_t from = x->i;
    if (x->error || ends_word(x) || !guard_lex_enter(x)) return false;
    while (!ends_word(x)) {
        char c = guard_lex_peek(x, 0);
        quoted |= c == '\'' || c == '"' || c == '\\' || (c == '$' && (guard_lex_peek(x, 1) == '\'' || guard_lex_peek(x, 1) == '"'));
        take_any(x, &e, false, false);
    }
    bool array = ends_assignment(&e) && guard_lex_peek(x, 0) == '(';
    *out = keep(x, &e, quoted);
    if (array) take_array(x, out);
    if (x->depth) x->depth--;
    return x->i > from;
}

/* ---- looking at words ---- */

Str guard_lex_plain(const GuardWord *w, Arena *arena) {
    char *out = arena_alloc(arena, w->n + 1);
    for (size_t i = 0; i < w->n; i++) {
        if (w->at[i].kind != GUARD_CHAR) return STR("");
        out[i] = w->at[i].c;
    }
    return (Str){ out, w->n };
}
