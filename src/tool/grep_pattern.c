#include "tool/grep_pattern.h"

/* How often a byte turns up in sources and prose, roughly: a search for the rarest byte of a text stops least often. */
static unsigned frequency(unsigned char c) {
    static const char order[] = " etaoinsrlcdu\nmpfh_g.y(),;b-*=vw/x\"k:>01'[]{}<&TSEIRAz2CNLO#j3DP4PM6F5U8q+7B9!|GW\tV$X@\\H%KYQZJ?~^`";
    const char *at = c ? memchr(order, c, sizeof order - 1) : NULL;
    if (at) return (unsigned)(sizeof order - (size_t)(at - order));
    return c >= 0x80 ? 3 : 0;
}

static size_t rarest(Str s) {
    size_t best = 0;
    for (size_t i = 1; i < s.n; i++)
        if (frequency((unsigned char)s.at[i]) < frequency((unsigned char)s.at[best])) best = i;
    return best;
}

size_t grep_pattern_literal(const GrepPattern *p, Str text, size_t from) {
    Str l = p->literal;
    size_t i = from + p->rare, false_hits = 0;
    while (i < text.n && text.n - i >= l.n - p->rare) {
        const char *hit = memchr(text.at + i, l.at[p->rare], text.n - i);
        if (!hit) break;
        size_t at = (size_t)(hit - text.at) - p->rare;
        if (text.n - at < l.n) break;
        if (memcmp(text.at + at, l.at, l.n) == 0) return at;
        i = (size_t)(hit - text.at) + 1;
        if (++false_hits > 16 && false_hits > (i - from) / 32) {        /* not so rare here */
            size_t rest = i - p->rare;
            hit = memmem(text.at + rest, text.n - rest, l.at, l.n);
            return hit ? (size_t)(hit - text.at) : SIZE_MAX;
        }
    }
    return SIZE_MAX;
}

/* ---- reading the pattern ----
 *
 * Only what is certain counts: text on the pattern's top level that no quantifier makes optional. Whatever is not
 * understood ends the search for text, never a search's correctness. */

typedef struct { Str s; size_t i; Buf run, best; bool give_up, plain; GrepPattern *out; } Reader;

static void end_run(Reader *r) {
    if (r->run.n > r->best.n) {
        buf_reset(&r->best);
        buf_add(&r->best, buf_str(&r->run));
    }
    buf_reset(&r->run);
}

/* Behind the class at i, whose "[" is passed over. */
static size_t skip_class(Str s, size_t i) {
    i++;
    if (i < s.n && s.at[i] == '^') i++;
    for (bool first = true; i < s.n; first = false) {
        if (s.at[i] == ']' && !first) return i + 1;
        if (s.at[i] == '\\') i += 2;
        else if (s.at[i] == '[' && i + 1 < s.n && strchr(":.=", s.at[i + 1])) {
            char end[2] = { s.at[i + 1], ']' };
            ptrdiff_t close = str_find(str_sub(s, i + 2, s.n), (Str){ end, 2 });
            i += close < 0 ? 1 : (size_t)close + 4;
        } else i++;
    }
    return s.n;
}

static size_t skip_group(Str s, size_t i) {
    size_t depth = 0;
    while (i < s.n) {
        if (s.at[i] == '\\') { i += 2; continue; }
        if (s.at[i] == '[') { i = skip_class(s, i); continue; }
        depth += s.at[i] == '(';
        if (s.at[i] == ')' && --depth == 0) return i + 1;
        i++;
    }
    return s.n;
}

/* Is what stands before i optional or repeated? Moves behind the quantifier. */
static bool quantified(Reader *r) {
    Str s = r->s;
    if (r->i >= s.n || !strchr("?*+{", s.at[r->i])) return false;
    if (s.at[r->i] == '{') {
        size_t k = r->i + 1;
        while (k < s.n && ((s.at[k] >= '0' && s.at[k] <= '9') || s.at[k] == ',')) k++;
        if (k >= s.n || s.at[k] != '}' || k == r->i + 1) return false;   /* a plain brace */
        r->i = k;
    }
    r->i++;
    if (r->i < s.n && s.at[r->i] == '+') r->out->by_line = true;         /* possessive: takes what it can, beyond the line */
    if (r->i < s.n && (s.at[r->i] == '+' || s.at[r->i] == '?')) r->i++;
    return true;
}

static void take_character(Reader *r, Str c) {
    size_t n = r->run.n;
    buf_add(&r->run, c);
    if (!quantified(r)) return;
    r->plain = false;
    r->run.n = n;                                        /* without it: it may be absent, or there many times */
    end_run(r);
}

static void take_other(Reader *r) {
    r->plain = false;
    end_run(r);
    quantified(r);
}

static void take_escape(Reader *r) {
    char c = r->i + 1 < r->s.n ? r->s.at[r->i + 1] : 0;
    r->i += 2;
    if (c && strchr("AzZGKQEgkRXPpcNox0123456789", c)) r->give_up = true;  /* places in the whole text, and forms with tails */
    if (c && strchr("AzZGRX", c)) r->out->by_line = true;
    bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!c || word || (unsigned char)c >= 0x80) take_other(r);
    else take_character(r, str_sub(r->s, r->i - 1, r->i));
}

static size_t character_length(Str s, size_t i) {
    size_t n = 1;
    while (i + n < s.n && ((unsigned char)s.at[i + n] & 0xC0) == 0x80) n++;
    return n;
}

static void take(Reader *r) {
    char c = r->s.at[r->i];
    if (c == '\\') take_escape(r);
    else if (c == '[') r->i = skip_class(r->s, r->i), take_other(r);
    else if (c == '(') {
        if (r->i + 1 < r->s.n && r->s.at[r->i + 1] == '*') r->give_up = true;
        r->i = skip_group(r->s, r->i);
        take_other(r);
    } else if (c == '|' || c == ')') r->give_up = true, r->i++;
    else if (strchr(".^$?*+", c)) r->i++, take_other(r);
    else {
        size_t n = character_length(r->s, r->i);
        r->i += n;
        take_character(r, str_sub(r->s, r->i - n, r->i));
    }
}

/* Looking around, atomic groups, options and verbs: how they behave at a line's end is not worked out here. */
static void look_inside(Str s, GrepPattern *out, bool *options) {
    for (size_t i = 0; i < s.n; i++) {
        if (s.at[i] == '$') out->line_end = true;
        if (s.at[i] == '\\') {
            if (i + 1 < s.n && strchr("AzZGRXC", s.at[i + 1])) out->by_line = true;
            i++;
        } else if (s.at[i] == '(' && i + 1 < s.n && s.at[i + 1] == '*') out->by_line = *options = true;
        else if (s.at[i] == '(' && i + 2 < s.n && s.at[i + 1] == '?') {
            char c = s.at[i + 2];
            if (c == ':' || c == 'P' || (c == '<' && i + 3 < s.n && !strchr("=!", s.at[i + 3]))) continue;
            out->by_line = true;
            if (!strchr("=!<>|#", c)) *options = true;
        } else if (s.at[i] == '+' && i && strchr("?*+}", s.at[i - 1])) out->by_line = true;
    }
}

static bool asks_for_line_break(Str s) {
    for (size_t i = 0; i < s.n;) {
        if (s.at[i] == '[') { i = skip_class(s, i); continue; }
        if (s.at[i] == '\n' || (s.at[i] == '\\' && i + 1 < s.n && s.at[i + 1] == 'n')) return true;
        i += s.at[i] == '\\' ? 2 : 1;
    }
    return false;
}

bool grep_pattern_init(GrepPattern *p, Str pattern, bool ignore_case, Arena *arena, Error *err) {
    *p = (GrepPattern){ 0 };
    if (pattern.n == 0) return error_set(err, ERR_VALIDATION, "the pattern is empty");
    unsigned flags = REGEX_ANY_TEXT | REGEX_MULTILINE | (ignore_case ? REGEX_IGNORE_CASE : 0);
    Regex *regex = regex_new(pattern, flags, err);
    if (!regex) return false;
    if (asks_for_line_break(pattern)) {
        regex_free(regex);
        return error_set(err, ERR_VALIDATION, "the pattern asks for a line break: a match lies within one line");
    }
    Reader r = { .s = pattern, .out = p, .plain = true };
    bool options = false;
    look_inside(pattern, p, &options);
    r.give_up = options || ignore_case;
    while (r.i < r.s.n && !r.give_up) take(&r);
    end_run(&r);
    p->regex = regex;
    if (!r.give_up && r.best.n) {
        p->literal = arena_str(arena, buf_str(&r.best));
        p->rare = rarest(p->literal);
        /* Of a line that ends with \r\n the \r is no part: text with one must be looked for in the line alone. */
        if (r.plain && !memchr(p->literal.at, '\r', p->literal.n)) regex_free(regex), p->regex = NULL;
    }
    buf_clear(&r.run);
    buf_clear(&r.best);
    return true;
}

void grep_pattern_clear(GrepPattern *p) {
    regex_free(p->regex);
    p->regex = NULL;
}
