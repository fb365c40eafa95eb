#include "tool/builtin/grep_pattern.h"

/* Approximate frequency of a byte in sources and prose: searching for the rarest byte stops least often. */
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
        if (++false_hits > 16 && false_hits > (i - from) / 32) {        /* not so rare in this text */
            size_t rest = i - p->rare;
            hit = memmem(text.at + rest, text.n - rest, l.at, l.n);
            return hit ? (size_t)(hit - text.at) : SIZE_MAX;
        }
    }
    return SIZE_MAX;
}

/* ---- parsing the pattern ---- ¶ One pass that knows the common syntax only. It looks for text that every match
 * contains: on the top level, outside of groups and alternatives, without a quantifier. Unknown syntax makes the
 * pattern `odd`: no conclusion is drawn, and each line is searched separately. */

typedef struct {
    Str s;
    size_t i, depth;                    /* depth: of open groups */
    Buf run, best;
    bool odd, no_literal, plain, by_line, line_end, line_break;
} Reader;

/* strchr would find the NUL byte in every set. */
static bool is_one_of(int c, const char *set) { return c > 0 && strchr(set, c); }

static int peek(const Reader *r, size_t ahead) { return r->i + ahead < r->s.n ? (unsigned char)r->s.at[r->i + ahead] : -1; }
static bool is_digit(int c) { return c >= '0' && c <= '9'; }
static bool is_letter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static void end_run(Reader *r) {
    if (r->run.n > r->best.n) {
        buf_reset(&r->best);
        buf_add(&r->best, buf_str(&r->run));
    }
    buf_reset(&r->run);
}

/* The length of {2}, {2,} or {2,3}; 0: a literal brace. {,3} and { 2 } depend on the version of PCRE2. */
static size_t braces(Reader *r) {
    size_t n = 1;
    int first = peek(r, 1);
    while (is_digit(peek(r, n)) || peek(r, n) == ',') n++;
    if (is_digit(first) && peek(r, n) == '}') return n + 1;
    if (is_one_of(first, "0123456789, \t")) r->odd = true;
    return 0;
}

/* Skips a quantifier; false if there is none. */
static bool take_quantifier(Reader *r) {
    size_t n = peek(r, 0) == '{' ? braces(r) : is_one_of(peek(r, 0), "?*+");
    r->i += n;
    if (n && peek(r, 0) == '+') r->by_line = true;       /* possessive: may match beyond the line */
    if (n && is_one_of(peek(r, 0), "+?")) r->i++;
    return n > 0;
}

static void take_character(Reader *r, size_t n) {
    size_t before = r->run.n;
    if (r->depth == 0) buf_add(&r->run, str_sub(r->s, r->i, r->i + n));
    r->i += n;
    if (!take_quantifier(r)) return;
    r->plain = false;
    r->run.n = before;                                   /* exclude it: it may occur any number of times, or not at
                                                          * all */
    end_run(r);
}

static void take_other(Reader *r, size_t n) {
    r->i += n;
    r->plain = false;
    end_run(r);
    take_quantifier(r);
}

static void take_escape(Reader *r) {
    int c = peek(r, 1);
    r->i++;
    if (c >= ' ' && c < 0x7f && !is_letter(c) && !is_digit(c)) {
        take_character(r, 1);
        return;
    }
    if (c == 'n') r->line_break = true;
    else if (is_one_of(c, "AzZ")) r->by_line = true;
    else if (!is_one_of(c, "dDwWsShHbBtrfea")) r->odd = true;
    take_other(r, c < 0 ? 0 : 1);
}

/* "[:alpha:]" within a class: its length, or 0. */
static size_t named_class(Reader *r) {
    size_t n = peek(r, 2) == '^' ? 3 : 2;
    if (!is_one_of(peek(r, 1), ":.=")) return 0;
    while (is_letter(peek(r, n))) n++;
    if (peek(r, 1) == ':' && peek(r, n) == ':' && peek(r, n + 1) == ']') return n + 2;
    return r->odd = true, 0;
}

static void take_class(Reader *r) {
    r->i += peek(r, 1) == '^' ? 2 : 1;
    for (bool first = true; peek(r, 0) >= 0 && (first || peek(r, 0) != ']'); first = false) {
        size_t named = peek(r, 0) == '[' ? named_class(r) : 0;
        if (peek(r, 0) == '\\') {
            if (is_letter(peek(r, 1)) && !is_one_of(peek(r, 1), "dDwWsShHbtrfean")) r->odd = true;
            named = peek(r, 1) < 0 ? 1 : 2;
        }
        r->i += named ? named : 1;
    }
    take_other(r, peek(r, 0) < 0 ? 0 : 1);
}

static void open_group(Reader *r) {
    int c = peek(r, 2);
    r->i++;
    r->depth++;
    r->plain = false;
    end_run(r);
    if (peek(r, 0) == '*') r->odd = true;
    if (peek(r, 0) != '?') return;
    if (is_one_of(c, "=!>") || (c == '<' && is_one_of(peek(r, 2), "=!"))) r->by_line = true;   /* look-around or atomic group */
    else if (c != ':' && c != '<' && !(c == 'P' && peek(r, 2) == '<')) r->odd = true;
    r->i += 2;
}

static void close_group(Reader *r) {
    if (r->depth) r->depth--;
    take_other(r, 1);
}

static size_t character_length(Str s, size_t i) {
    size_t n = 1;
    while (i + n < s.n && ((unsigned char)s.at[i + n] & 0xC0) == 0x80) n++;
    return n;
}

static void take(Reader *r) {
    switch (r->s.at[r->i]) {
    case '\\': take_escape(r); return;
    case '[': take_class(r); return;
    case '(': open_group(r); return;
    case ')': close_group(r); return;
    case '|':
        if (r->depth == 0) r->no_literal = true;
        take_other(r, 1);
        return;
    case '$': r->line_end = true; take_other(r, 1); return;
    case '.': case '^': case '?': case '*': case '+': take_other(r, 1); return;
    case '{':
        if (braces(r)) take_other(r, 0);
        else take_character(r, 1);
        return;
    case '\n': r->line_break = true; take_other(r, 1); return;
    default: take_character(r, character_length(r->s, r->i));
    }
}

/* "(?i)" is supported only at the start, where it applies to the whole pattern. */
static void read_pattern(Reader *r, bool ignore_case) {
    r->plain = true;
    r->no_literal = ignore_case;
    if (str_starts(r->s, STR("(?i)"))) r->i = 4, r->no_literal = true;
    while (r->i < r->s.n) take(r);
    end_run(r);
}

static void learn(GrepPattern *p, Reader *r, Arena *arena) {
    p->by_line = r->by_line || r->odd;
    p->line_end = r->line_end;
    if (r->odd || r->no_literal || r->best.n == 0) return;
    p->literal = arena_str(arena, buf_str(&r->best));
    p->rare = rarest(p->literal);
    /* The \r of a \r\n is not part of the line: text with a \r must be searched line by line. */
    if (r->plain && !memchr(p->literal.at, '\r', p->literal.n)) grep_pattern_clear(p);
}

bool grep_pattern_init(GrepPattern *p, Str pattern, bool ignore_case, Arena *arena, Error *err) {
    *p = (GrepPattern){ 0 };
    if (pattern.n == 0) return error_set(err, ERR_VALIDATION, "the pattern is empty");
    unsigned flags = REGEX_MULTILINE | (ignore_case ? REGEX_IGNORE_CASE : 0);
    p->regex = regex_new(pattern, flags | REGEX_ANY_TEXT, err);
    if (!p->regex) return false;
    if (!regex_is_native(p->regex) && !(p->utf8 = regex_new(pattern, flags, err))) return grep_pattern_clear(p), false;
    Reader r = { .s = pattern };
    read_pattern(&r, ignore_case);
    bool ok = !r.line_break || error_set(err, ERR_VALIDATION, "the pattern contains a line break, but a match is within one line");
    if (ok) learn(p, &r, arena);
    else grep_pattern_clear(p);
    buf_clear(&r.run);
    buf_clear(&r.best);
    return ok;
}

void grep_pattern_clear(GrepPattern *p) {
    regex_free(p->regex);
    regex_free(p->utf8);
    p->regex = p->utf8 = NULL;
}
