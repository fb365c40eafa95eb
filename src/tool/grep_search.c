#include "tool/grep_search.h"
#include "base/utf8.h"
#include "base/vec.h"

enum { LEAD = 256, CHECK_LINES = 1024 };

typedef struct { size_t from, to; } Line;                /* without its line break */

/* `counted` and `number`: the line number at a place that moves forward only. `sniffed`: no NUL byte before it. */
typedef struct {
    const GrepPattern *pattern;
    Str text;
    Cancel *cancel;
    size_t context, limit, counted, sniffed;
    uint64_t number;
    VEC(GrepMatch) found;
    GrepFile *out;
    bool by_line;
} Search;

/* ---- lines ---- */

static Line line_around(Str text, size_t low, size_t at) {
    const char *before = at > low ? memrchr(text.at + low, '\n', at - low) : NULL;
    const char *after = at < text.n ? memchr(text.at + at, '\n', text.n - at) : NULL;
    return (Line){ before ? (size_t)(before - text.at) + 1 : low, after ? (size_t)(after - text.at) : text.n };
}

static Str line_text(Str text, Line l) {
    Str s = str_sub(text, l.from, l.to);
    if (s.n && s.at[s.n - 1] == '\r') s.n--;
    return s;
}

static uint64_t line_number(Search *s, size_t at) {
    for (const char *p = s->text.at + s->counted, *end = s->text.at + at; p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++)
        s->number++;
    s->counted = at;
    return s->number;
}

static size_t char_floor(Str s, size_t at) {
    for (int i = 0; i < 3 && at > 0 && at < s.n && ((unsigned char)s.at[at] & 0xC0) == 0x80; i++) at--;
    return at;
}

static void add_valid(Buf *b, Str s) {
    while (s.n) {
        size_t n = utf8_valid_prefix(s);
        buf_add(b, str_sub(s, 0, n));
        if (n == s.n) return;
        buf_add(b, STR("\xEF\xBF\xBD"));
        s = str_sub(s, n + 1, s.n);
    }
}

/* A long line is cut to what stands around `at`. */
static Str keep_line(Arena *arena, Str s, size_t at) {
    if (s.n <= GREP_TEXT_MAX && utf8_valid(s)) return arena_str(arena, s);
    size_t from = 0, to = s.n;
    if (s.n > GREP_TEXT_MAX) {
        if (at > GREP_TEXT_MAX - LEAD) from = char_floor(s, at - LEAD);
        to = s.n - from > GREP_TEXT_MAX ? char_floor(s, from + GREP_TEXT_MAX) : s.n;
    }
    Buf b = { 0 };
    if (from) buf_add(&b, STR("…"));
    add_valid(&b, str_sub(s, from, to));
    if (to < s.n) buf_add(&b, STR("…"));
    Str kept = arena_str(arena, buf_str(&b));
    buf_clear(&b);
    return kept;
}

/* ---- a match ---- */

static void add_context(Search *s, Line l, GrepMatch *m) {
    if (s->context == 0) return;
    Arena *a = &s->out->arena;
    Str *before = ARENA_ARRAY(a, Str, s->context), *after = ARENA_ARRAY(a, Str, s->context);
    Line b = l;
    while (m->before_n < s->context && b.from > 0) {
        b = line_around(s->text, 0, b.from - 1);
        before[s->context - ++m->before_n] = keep_line(a, line_text(s->text, b), 0);
    }
    m->before = before + (s->context - m->before_n);
    for (Line n = l; m->after_n < s->context && n.to + 1 < s->text.n;) {
        n = line_around(s->text, n.to + 1, n.to + 1);
        after[m->after_n++] = keep_line(a, line_text(s->text, n), 0);
    }
    m->after = after;
}

static void add_match(Search *s, Line l, size_t at) {
    GrepMatch m = { .line = line_number(s, l.from), .column = at - l.from + 1 };
    m.text = keep_line(&s->out->arena, line_text(s->text, l), at - l.from);
    add_context(s, l, &m);
    VEC_PUSH(&s->found, m);
}

static bool is_binary(Search *s, size_t to) {
    if (to <= s->sniffed) return false;
    bool binary = memchr(s->text.at + s->sniffed, 0, to - s->sniffed) != NULL;
    s->sniffed = to;
    return binary;
}

/* ---- searching ---- */

/* Does the line match by itself? */
static bool confirm(Search *s, Line l, size_t *at, bool *found, Error *err) {
    RegexSpan span;
    if (!regex_find(s->pattern->regex, line_text(s->text, l), 0, &span, 1, s->cancel, found, err)) return false;
    if (*found) *at = l.from + span.from;
    return true;
}

/* The next line at or behind `from` that may match; *sure: it does, at *at. */
static bool next_candidate(Search *s, size_t from, Line *l, size_t *at, bool *sure, bool *found, Error *err) {
    const GrepPattern *p = s->pattern;
    *sure = false;
    *found = true;
    if (p->literal.n) {
        *at = grep_pattern_literal(p, s->text, from);
        *found = *at != SIZE_MAX;
        *sure = !p->regex;
    } else if (s->by_line) {
        *at = from;
    } else {
        RegexSpan span;
        if (!regex_find(p->regex, s->text, from, &span, 1, s->cancel, found, err)) return false;
        if (*found) *at = span.from;
        *found = *found && (span.from < s->text.n || s->text.at[span.from - 1] != '\n');   /* no line behind the last break */
    }
    if (*found) *l = line_around(s->text, from, *at);
    return true;
}

static bool run(Search *s, Error *err) {
    size_t rounds = 0;
    for (size_t from = 0; from < s->text.n && s->found.n < s->limit;) {
        Line l;
        size_t at;
        bool sure, found;
        if (++rounds % CHECK_LINES == 0 && !cancel_check(s->cancel, err)) return false;
        if (!next_candidate(s, from, &l, &at, &sure, &found, err)) return false;
        if (!found) return true;
        if (!sure && !confirm(s, l, &at, &found, err)) return false;
        if (found) {
            if (is_binary(s, l.to)) { s->found.n = 0; return true; }
            add_match(s, l, at);
        } else if (!s->pattern->literal.n) s->by_line = true;           /* matches beyond lines: go on line by line */
        from = l.to + 1;
    }
    return true;
}

bool grep_search(const GrepPattern *p, Str text, size_t context, size_t limit, Cancel *cancel, GrepFile *out, Error *err) {
    Search s = { .pattern = p, .text = text, .cancel = cancel, .context = context, .limit = limit, .number = 1, .out = out };
    if (text.n == 0 || is_binary(&s, text.n < GREP_SNIFF ? text.n : GREP_SNIFF)) return true;
    s.by_line = p->by_line || (p->line_end && memchr(text.at, '\r', text.n));
    bool ok = run(&s, err);
    if (ok && s.found.n) {
        out->match = ARENA_ARRAY(&out->arena, GrepMatch, s.found.n);
        memcpy(out->match, s.found.at, s.found.n * sizeof *s.found.at);
        out->n = s.found.n;
    }
    VEC_CLEAR(&s.found);
    return ok;
}
