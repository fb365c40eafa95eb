#include "template/shell_scan.h"

static const struct { const char *what, *advice; } refusals[] = {
    { "", "" },
#define R(name, what, advice) { what, advice },
#include "template/refusals.def"
#undef R
};

const char *shell_scan_refusal_text(ShellRefusal why) { return refusals[why].what; }
const char *shell_scan_refusal_advice(ShellRefusal why) { return refusals[why].advice; }

/* `pending` is an incomplete operator, which the next character completes:
 *   $   P for $(   < > & | ;   H for <<   ( for a command that starts with it   F for NAME(   ) for $((…) */

void shell_scan_start(ShellState *s) { *s = (ShellState){ .line = 0 }; }
void shell_scan_text_start(ShellState *s) { s->lead = AST_LEAD_SAME; }

static bool is_blank(char c) { return c == ' ' || c == '\t'; }
static bool is_name(char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static bool word_is(const ShellWord *w, const char *text) {
    return !w->quoted && !w->dynamic && str_eq((Str){ w->text, w->n }, str_from(text));
}

static void new_word(ShellState *s) { s->word = (ShellWord){ .n = 0 }; }
static void new_command(ShellState *s) { s->command = (ShellCommand){ .place = SHELL_AT_COMMAND }; }

bool shell_scan_assignment(const ShellWord *w, Str *name) {
    uint8_t i = 0;
    while (i < w->n && is_name(w->text[i])) i++;
    *name = (Str){ w->text, i };
    if (i == 0 || (w->text[0] >= '0' && w->text[0] <= '9')) return false;
    if (i < w->n && w->text[i] == '+') i++;
    return i < w->n && w->text[i] == '=' && w->equals;
}

/* ---- words ---- */

/* Adds something to the current word, if that is allowed. */
static ShellRefusal join(ShellState *s) {
    s->word.on = true;
    s->word.fresh = false;
    if (!s->word.only) return SHELL_OK;
    return s->word.only->spread ? SHELL_ARRAY : SHELL_PART;
}

static ShellRefusal add_char(ShellState *s, char c, bool quoted) {
    ShellWord *w = &s->word;
    ShellRefusal why = join(s);
    if (why) return why;
    s->lead = AST_LEAD_NO;
    if (!quoted && c == '=' && !w->quoted && !w->dynamic) w->equals = true;
    if (quoted) w->quoted = true;
    else if (strchr("*?[]~!^#", c)) w->special = true;
    bool pair = !quoted && c == '}' && w->brace_open;
    if (!pair && (w->brace_open || (!quoted && c == '}'))) w->brace = true;
    w->brace_open = !quoted && c == '{';
    if (w->brace && w->param) return SHELL_BRACE;
    if (!quoted && c == '~' && w->param && w->equals) return SHELL_TILDE;
    if (w->dynamic) return SHELL_OK;
    if (w->n == SHELL_WORD_MAX) w->dynamic = true;
    else w->text[w->n++] = c;
    return SHELL_OK;
}

static ShellRefusal add_expansion(ShellState *s) {
    ShellRefusal why = join(s);
    s->word.dynamic = true;
    if (s->quote == SHELL_BARE) s->word.expands = true;
    else s->word.quoted = true;
    return why;
}

/* ---- commands ---- */

static void heredoc_word(ShellState *s) {
    ShellWord *w = &s->word;
    if (w->dynamic || s->heredocs == SHELL_HEREDOCS_MAX || s->depth > 0) { s->unsure = true; return; }
    ShellHeredoc *h = &s->heredoc[s->heredocs++];
    *h = (ShellHeredoc){ .n = w->n, .tabs = s->command.redirect == SHELL_TO_HEREDOC_TABS, .quoted = w->quoted };
    memcpy(h->text, w->text, w->n);
}

static void push(ShellState *s, ShellFrameKind kind) {
    if (s->depth == SHELL_NEST_MAX) { s->unsure = true; return; }
    s->frame[s->depth++] = (ShellFrame){ .word = s->word, .command = s->command, .kind = (uint8_t)kind, .quote = s->quote, .opened = s->opened };
    s->quote = SHELL_BARE;
    new_word(s);
    new_command(s);
}

static ShellFrame pop(ShellState *s) {
    ShellFrame f = s->frame[--s->depth];
    s->frame[s->depth] = (ShellFrame){ .kind = 0 };
    return f;
}

static bool top_is(const ShellState *s, ShellFrameKind kind) { return s->depth > 0 && s->frame[s->depth - 1].kind == kind; }

/* Ends $(…) or similar and returns to the enclosing word. */
static ShellRefusal resume(ShellState *s) {
    ShellFrame f = pop(s);
    s->word = f.word, s->command = f.command, s->quote = f.quote, s->opened = f.opened;
    s->lead = s->word.n ? AST_LEAD_NO : AST_LEAD_YES;      /* its expansion may be empty */
    return add_expansion(s);
}

static bool reserved_word(ShellState *s) {
    static const char *const before_command[] = { "if", "then", "elif", "else", "while", "until", "do", "!", "{", "time" };
    static const char *const ends[] = { "fi", "done", "}" };
    ShellCommand *c = &s->command;
    for (size_t i = 0; i < sizeof before_command / sizeof *before_command; i++)
        if (word_is(&s->word, before_command[i])) return new_command(s), true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (word_is(&s->word, ends[i])) return c->place = SHELL_AT_END, true;
    if (word_is(&s->word, "for") || word_is(&s->word, "select")) return c->place = SHELL_AT_FOR_NAME, true;
    if (word_is(&s->word, "case")) return c->place = SHELL_AT_CASE_WORD, true;
    if (word_is(&s->word, "[[")) return c->place = SHELL_AT_CONDITION, true;
    if (word_is(&s->word, "function")) return c->place = SHELL_AT_FUNCTION, true;
    if (word_is(&s->word, "esac")) {
        if (top_is(s, SHELL_CASE)) pop(s);
        else s->unsure = true;
        return c->place = SHELL_AT_END, true;
    }
    return false;
}

static void command_word(ShellState *s) {
    Str name;
    if (reserved_word(s) || shell_scan_assignment(&s->word, &name)) return;
    if (!s->word.quoted && memchr(s->word.text, '[', s->word.n) && s->word.n > 1) s->unsure = true;   /* a[i]=… */
    shell_scan_program_start(s, &s->word);
}

static void case_in(ShellState *s) {
    if (!word_is(&s->word, "in") || s->depth == SHELL_NEST_MAX) { s->unsure = true; return; }
    s->frame[s->depth++] = (ShellFrame){ .kind = SHELL_CASE };
    s->command.place = SHELL_AT_PATTERN;
}

static void end_word(ShellState *s) {
    s->lead = AST_LEAD_YES;
    s->in_name = false;
    if (!s->word.on) return;
    ShellCommand *c = &s->command;
    if (c->redirect) {
        if (c->redirect == SHELL_TO_HEREDOC || c->redirect == SHELL_TO_HEREDOC_TABS) heredoc_word(s);
        c->redirect = SHELL_TO_NOTHING;
    } else switch ((ShellPlace)c->place) {
        case SHELL_AT_COMMAND: command_word(s); break;
        case SHELL_AT_INNER: shell_scan_program_start(s, &s->word); break;
        case SHELL_AT_ARGS: c->no_args = false; shell_scan_program_word(s, &s->word); break;
        case SHELL_AT_FOR_NAME: c->place = SHELL_AT_FOR_IN; break;
        case SHELL_AT_FOR_IN:
            if (word_is(&s->word, "in")) *c = (ShellCommand){ .place = SHELL_AT_ARGS, .keeps = true };
            else if (word_is(&s->word, "do")) new_command(s);
            else s->unsure = true;
            break;
        case SHELL_AT_CASE_WORD: c->place = SHELL_AT_CASE_IN; break;
        case SHELL_AT_CASE_IN: case_in(s); break;
        case SHELL_AT_PATTERN:
            if (word_is(&s->word, "esac") && top_is(s, SHELL_CASE)) pop(s), c->place = SHELL_AT_END;
            break;
        case SHELL_AT_CONDITION: if (word_is(&s->word, "]]")) c->place = SHELL_AT_END; break;
        case SHELL_AT_FUNCTION: s->assigned = true; new_command(s); break;
        case SHELL_AT_END: s->unsure = true; break;        /* only redirections are allowed here */
    }
    new_word(s);
}

/* ; & | && || and the end of the line. */
static void separator(ShellState *s, bool newline) {
    end_word(s);
    shell_scan_program_end(s);
    ShellPlace place = (ShellPlace)s->command.place;
    if (place == SHELL_AT_CONDITION || place == SHELL_AT_PATTERN) return;
    if (newline && (place == SHELL_AT_FOR_IN || place == SHELL_AT_CASE_IN)) return;
    if (place == SHELL_AT_FOR_NAME || place == SHELL_AT_CASE_WORD || place == SHELL_AT_CASE_IN || s->command.redirect) s->unsure = true;
    new_command(s);
}

static ShellRefusal redirect(ShellState *s, ShellRedirect to) {
    if (s->command.redirect) s->unsure = true;
    s->command.redirect = (uint8_t)to;
    if (s->command.place == SHELL_AT_CONDITION) s->command.redirect = SHELL_TO_NOTHING;   /* there < is a comparison */
    return SHELL_OK;
}

/* ---- operators ---- */

/* A word directly before < or > may be a file descriptor number. */
static ShellRefusal before_redirection(ShellState *s) {
    ShellWord *w = &s->word;
    if (w->on && w->param && !w->quoted) return SHELL_REDIRECT_GLUED;
    bool number = w->on && !w->quoted && !w->dynamic;
    for (uint8_t i = 0; i < w->n; i++) number &= w->text[i] >= '0' && w->text[i] <= '9';
    if (number) new_word(s);
    else end_word(s);
    s->lead = AST_LEAD_YES;
    return SHELL_OK;
}

static ShellRefusal open_paren(ShellState *s) {
    ShellPlace place = (ShellPlace)s->command.place;
    if (place == SHELL_AT_CONDITION || (place == SHELL_AT_PATTERN && !s->word.on)) return SHELL_OK;
    bool name = s->word.on && place == SHELL_AT_COMMAND && !s->word.quoted && !s->word.dynamic && !s->word.equals;
    if (name || (!s->word.on && place == SHELL_AT_ARGS && s->command.no_args)) s->pending = 'F';
    else if (!s->word.on && place == SHELL_AT_COMMAND) s->pending = '(';
    else s->unsure = true;                                 /* an array, an extended pattern, or an error */
    return s->word.param ? SHELL_UNSURE : SHELL_OK;
}

static ShellRefusal close_paren(ShellState *s) {
    end_word(s);
    shell_scan_program_end(s);
    if (s->command.place == SHELL_AT_CONDITION) return SHELL_OK;
    if (s->command.place == SHELL_AT_PATTERN) return new_command(s), SHELL_OK;
    if (top_is(s, SHELL_PAREN)) {
        pop(s);
        s->command = (ShellCommand){ .place = SHELL_AT_END };
    } else if (top_is(s, SHELL_IN_SUBSTITUTION) || top_is(s, SHELL_IN_PROCESS)) return resume(s);
    else s->unsure = true;
    return SHELL_OK;
}

static ShellRefusal feed_bare(ShellState *s, char c, uint32_t at);

/* Handles $ and the character after it. Returns true if c was part of it. */
static bool dollar(ShellState *s, char c, uint32_t at, ShellRefusal *why) {
    s->pending = 0;
    *why = add_expansion(s);
    if (c == '(') return s->pending = 'P', true;
    if (c == '{') return push(s, SHELL_IN_EXPANSION), s->opened = at, true;
    if (c == '[') return s->unsure = true, true;
    if (is_name(c)) return s->in_name = true, true;
    if (strchr("@*#?-$!", c)) return true;
    if (s->quote != SHELL_BARE) return false;
    if (c == '\'') return s->quote = SHELL_DOLLAR_SINGLE, s->opened = at, true;
    if (c == '"') return s->quote = SHELL_DOUBLE, s->locale = true, s->opened = at, true;
    return false;
}

/* Handles the second character of an operator. Returns true if c was part of it. */
static bool operator(ShellState *s, char c, uint32_t at, ShellRefusal *why) {
    char first = s->pending;
    if (first == '$') return dollar(s, c, at, why);
    s->pending = 0;
    switch (first) {
    case 'P':
        push(s, c == '(' ? SHELL_IN_ARITHMETIC : SHELL_IN_SUBSTITUTION);
        s->opened = at - (c != '(');
        return c == '(';
    case '<':
        if (c == '<') return s->pending = 'H', true;
        if (c == '(') return push(s, SHELL_IN_PROCESS), s->opened = at, true;
        redirect(s, SHELL_TO_FILE);
        return c == '&' || c == '>';
    case '>':
        if (c == '(') return push(s, SHELL_IN_PROCESS), s->opened = at, true;
        redirect(s, SHELL_TO_FILE);
        return c == '>' || c == '|' || c == '&';
    case 'H':
        redirect(s, c == '<' ? SHELL_TO_HERESTRING : c == '-' ? SHELL_TO_HEREDOC_TABS : SHELL_TO_HEREDOC);
        return c == '<' || c == '-';
    case '&':                                              /* &> ends the command in dash and redirects in bash */
        separator(s, false);
        if (c == '>') s->pending = '>';
        return c == '&' || c == '>';
    case '|':
        separator(s, false);
        if (c != '|') s->piped |= s->used;
        return c == '|' || c == '&';
    case ';':
        separator(s, false);
        if (c == '&') return s->unsure = true, true;
        if (c != ';') return false;
        if (top_is(s, SHELL_CASE)) s->command.place = SHELL_AT_PATTERN;
        else s->unsure = true;
        return true;
    case '(':
        if (c == '(') return s->unsure = true, true;       /* (( arithmetic )) */
        push(s, SHELL_PAREN);
        return false;
    case 'F':
        if (c == ')') return s->assigned = true, new_word(s), new_command(s), true;    /* $1 may hold a parameter */
        if (is_blank(c)) return s->pending = 'F', true;
        return s->unsure = true, true;
    default: return false;
    }
}

static void newline(ShellState *s) {
    separator(s, true);
    if (s->heredocs) s->quote = SHELL_IN_HEREDOC, s->line = 0, s->line_escape = false;
}

static ShellRefusal open_quote(ShellState *s, ShellQuote quote, uint32_t at) {
    bool fresh = !s->word.on;
    ShellRefusal why = join(s);
    s->quote = (uint8_t)quote;
    s->word.quoted = true;
    s->word.fresh = fresh;
    s->opened = at;
    return why;
}

static ShellRefusal feed_operator(ShellState *s, char c) {
    ShellRefusal why = SHELL_OK;
    if (c == '<' || c == '>') why = before_redirection(s);
    s->pending = c;
    return why;
}

static ShellRefusal feed_bare(ShellState *s, char c, uint32_t at) {
    switch (c) {
    case ' ': case '\t': end_word(s); return SHELL_OK;
    case '\n': newline(s); return SHELL_OK;
    case ';': case '&': case '|': case '<': case '>': return feed_operator(s, c);
    case '(': return open_paren(s);
    case ')': return close_paren(s);
    case '\'': return open_quote(s, SHELL_SINGLE, at);
    case '"': return open_quote(s, SHELL_DOUBLE, at);
    case '$': s->pending = '$'; return join(s);
    case '`': {
        ShellRefusal why = join(s);
        push(s, SHELL_IN_BACKTICK);
        s->opened = at;
        return why;
    }
    case '#':
        if (s->word.on) return add_char(s, c, false);
        s->quote = SHELL_IN_COMMENT;
        return SHELL_OK;
    default: return add_char(s, c, false);
    }
}

/* ---- quotes and other opaque text ---- */

static ShellRefusal close_quote(ShellState *s) {
    s->quote = SHELL_BARE;
    s->locale = false;
    s->word.fresh = false;
    if (s->word.closing) return s->word.closing = false, SHELL_OK;
    return SHELL_OK;
}

static ShellRefusal feed_double(ShellState *s, char c, uint32_t at) {
    if (c == '"') return close_quote(s);
    if (c == '$') return s->pending = '$', join(s);
    if (c != '`') return add_char(s, c, true);
    ShellRefusal why = join(s);
    push(s, SHELL_IN_BACKTICK);
    s->opened = at;
    return why;
}

static void feed_heredoc(ShellState *s, char c) {
    ShellHeredoc *h = &s->heredoc[0];
    if (c != '\n') {
        s->line_escape = c == '\\' && !s->line_escape;
        if (h->tabs && s->line == 0 && c == '\t') return;
        s->line = s->line >= 0 && s->line < h->n && h->text[s->line] == c ? (int16_t)(s->line + 1) : -1;
        return;
    }
    if (s->line_escape && !h->quoted) s->unsure = true;    /* shells differ on whether the next line can end it */
    bool ends = s->line == h->n;
    s->line = 0, s->line_escape = false;
    if (!ends) return;
    s->heredoc[0] = s->heredoc[1];
    s->heredoc[1] = (ShellHeredoc){ .n = 0 };
    s->heredocs--;
    if (s->heredocs == 0) s->quote = SHELL_BARE;
}

static ShellRefusal feed_arithmetic(ShellState *s, char c, uint32_t at) {
    ShellFrame *f = &s->frame[s->depth - 1];
    if (s->pending == ')') {
        s->pending = 0;
        if (c != ')') s->unsure = true;                    /* $((…) …): a substitution, not arithmetic */
        return resume(s);
    }
    if (c == '$') s->pending = '$';
    else if (c == '`') push(s, SHELL_IN_BACKTICK), s->opened = at;
    else if (c == '(') f->parens++;
    else if (c == ')' && f->parens > 0) f->parens--;
    else if (c == ')') s->pending = ')';
    else if (c == '\'' || c == '"') s->unsure = true;
    return SHELL_OK;
}

static ShellRefusal feed_expansion(ShellState *s, char c, uint32_t at) {
    bool in_quotes = s->frame[s->depth - 1].quote != SHELL_BARE;
    if (c == '}') return resume(s);
    if (c == '$') s->pending = '$';
    else if (c == '`') push(s, SHELL_IN_BACKTICK), s->opened = at;
    else if ((c == '\'' || c == '"') && in_quotes) s->unsure = true;
    else if (c == '\'') s->quote = SHELL_SINGLE;
    else if (c == '"') s->quote = SHELL_DOUBLE;
    return SHELL_OK;
}

/* Handles text in which a backslash is literal. Returns false if c is elsewhere. */
static bool feed_verbatim(ShellState *s, char c, ShellRefusal *why) {
    *why = SHELL_OK;
    if (s->quote == SHELL_SINGLE) *why = c == '\'' ? close_quote(s) : add_char(s, c, true);
    else if (s->quote == SHELL_IN_HEREDOC) feed_heredoc(s, c);
    else if (s->quote == SHELL_IN_COMMENT) {
        if (c == '\n') s->quote = SHELL_BARE, newline(s);
    } else return false;
    return true;
}

static ShellRefusal feed_escaped(ShellState *s, char c) {
    s->escape = false;
    if (top_is(s, SHELL_IN_BACKTICK)) return SHELL_OK;
    if (s->quote == SHELL_DOLLAR_SINGLE) return s->unsure |= c == '\'', SHELL_OK;   /* dash has no $'…' */
    if (s->quote == SHELL_DOUBLE && !strchr("$`\"\\", c)) {
        ShellRefusal why = add_char(s, '\\', true);
        if (why) return why;
    }
    return add_char(s, c, true);
}

void shell_scan_settle(ShellState *s) {
    ShellRefusal why;
    if (s->pending == ')') s->unsure = true, s->pending = 0;
    for (int i = 0; i < 2 && s->pending; i++) operator(s, 'a', 0, &why);   /* twice: in dash &> is two operators */
}

/* Handles a character after a backslash, or one that an operator did not consume. */
static ShellRefusal feed_place(ShellState *s, char c, uint32_t at) {
    if (s->escape) return feed_escaped(s, c);
    if (top_is(s, SHELL_IN_BACKTICK)) return c == '`' ? resume(s) : SHELL_OK;
    if (s->quote == SHELL_DOLLAR_SINGLE) return c == '\'' ? close_quote(s) : SHELL_OK;
    if (s->quote == SHELL_DOUBLE) return feed_double(s, c, at);
    if (top_is(s, SHELL_IN_EXPANSION)) return feed_expansion(s, c, at);
    if (top_is(s, SHELL_IN_ARITHMETIC)) return feed_arithmetic(s, c, at);
    return feed_bare(s, c, at);
}

ShellRefusal shell_scan_feed(ShellState *s, char c, uint32_t at) {
    ShellRefusal why = SHELL_OK;
    if (feed_verbatim(s, c, &why)) return why;
    if (s->escape && c == '\n') return s->escape = false, SHELL_OK;   /* line continuation: operators may span it */
    if (!s->escape && c == '\\') return s->escape = true, SHELL_OK;
    if (s->in_name && (s->escape || !is_name(c))) s->in_name = false;
    if (s->in_name) return SHELL_OK;
    if (s->pending && s->pending != ')') {
        if (operator(s, s->escape ? '\\' : c, at, &why)) return why;
        if (why) return why;
        if (s->pending && !s->escape) return shell_scan_feed(s, c, at);     /* &> again */
    }
    if (s->escape && s->quote == SHELL_SINGLE) return s->escape = false, s->unsure = true, SHELL_OK;
    return feed_place(s, c, at);
}

ShellRefusal shell_scan_end(ShellState *s) {
    if (s->quote == SHELL_SINGLE || s->quote == SHELL_DOUBLE || s->quote == SHELL_DOLLAR_SINGLE) return SHELL_UNCLOSED;
    shell_scan_settle(s);
    for (uint8_t i = 0; i < s->depth; i++)
        if (s->frame[i].kind >= SHELL_IN_SUBSTITUTION) return SHELL_UNCLOSED;
    if (s->quote == SHELL_BARE) end_word(s);
    shell_scan_program_end(s);
    return SHELL_OK;
}
