#include "tool/builtin/grep_search.h"
#include <errno.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/utf8.h"
#include "base/vec.h"

#ifdef HARNESS_HOSTILE
enum { PIECE = 16 };
#else
enum { PIECE = 64 << 10 };
#endif
enum { LEAD = 256, CHECK_LINES = 1024 };

typedef struct { size_t from, to; } Line;                /* without its line break */

/* Searches the file in pieces of whole lines; a partial line stays in the buffer until its rest is read. Context across
 * pieces is kept as text: the last lines of earlier pieces (`history`), and for matches near the end of a piece the
 * lines still to come (from match number `open` on). */
typedef struct {
    const GrepSearch *how;
    const GrepPattern *pattern;
    const Regex *regex;                  /* the pattern's regex for this piece */
    Cancel *cancel;
    Str text;                            /* the piece */
    uint64_t offset;                     /* its offset in the file */
    size_t column;                       /* bytes of its first line that were in earlier parts */
    size_t counted;                      /* `number` is the line number at this offset; only increases */
    uint64_t number;
    size_t context, open, history_n;
    Str *history;
    Arena memory[2];                     /* for the history: the current one and the previous one, alternating */
    unsigned turn;
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

/* Eight bytes at a time: each byte of `sums` counts the line breaks at its position in up to 255 words. Faster than one
 * memchr per line. */
static uint64_t count_breaks(Str s) {
    const uint64_t ones = UINT64_C(0x0101010101010101), low = 0x7f * ones, pairs = UINT64_C(0x00ff00ff00ff00ff);
    uint64_t n = 0;
    while (s.n >= 8) {
        uint64_t sums = 0;
        for (size_t i = 0; i < 255 && s.n >= 8; i++, s.at += 8, s.n -= 8) {
            uint64_t w;
            memcpy(&w, s.at, 8);
            w ^= '\n' * ones;                            /* now a line break is a zero byte */
            sums += (~(((w & low) + low) | w) >> 7) & ones;
        }
        n += (((sums & pairs) + ((sums >> 8) & pairs)) * UINT64_C(0x0001000100010001)) >> 48;
    }
    for (size_t i = 0; i < s.n; i++) n += s.at[i] == '\n';
    return n;
}

static uint64_t line_number(Search *s, size_t at) {
    s->number += count_breaks(str_sub(s->text, s->counted, at));
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

/* Cuts a long line around `at`. */
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

/* Up to `context` lines before the one that starts at `from`, nearest last; includes those of earlier pieces. */
static size_t lines_before(const Search *s, size_t from, Arena *arena, Str **out) {
    Str *lines = ARENA_ARRAY(arena, Str, s->context);
    size_t n = 0;
    while (n < s->context && from > 0) {
        Line l = line_around(s->text, 0, from - 1);
        lines[s->context - ++n] = keep_line(arena, line_text(s->text, l), 0);
        from = l.from;
    }
    for (size_t i = s->history_n; n < s->context && i > 0; i--) lines[s->context - ++n] = arena_str(arena, s->history[i - 1]);
    *out = lines + (s->context - n);
    return n;
}

static void add_context(Search *s, Line l, GrepMatch *m) {
    if (s->context == 0) return;
    Arena *a = &s->out->arena;
    m->before_n = lines_before(s, l.from, a, &m->before);
    m->after = ARENA_ARRAY(a, Str, s->context);
    for (Line n = l; m->after_n < s->context && n.to + 1 < s->text.n;) {
        n = line_around(s->text, n.to + 1, n.to + 1);
        m->after[m->after_n++] = keep_line(a, line_text(s->text, n), 0);
    }
}

/* The first lines of a piece complete the context of matches at the end of the previous one. */
static void continue_context(Search *s) {
    size_t n = s->found.n;
    for (Line l = { 0, 0 }; l.from < s->text.n; l.from = l.to + 1) {
        while (s->open < n && s->found.at[s->open].after_n == s->context) s->open++;
        if (s->open == n) return;
        l = line_around(s->text, l.from, l.from);
        Str kept = keep_line(&s->out->arena, line_text(s->text, l), 0);
        for (size_t i = s->open; i < n; i++) s->found.at[i].after[s->found.at[i].after_n++] = kept;
    }
}

static void keep_history(Search *s) {
    if (s->context == 0) return;
    Arena *next = &s->memory[s->turn ^= 1];
    arena_reset(next);
    s->history_n = lines_before(s, s->text.n, next, &s->history);
}

static void add_match(Search *s, Line l, size_t at) {
    GrepMatch m = { .line = line_number(s, l.from), .column = at - l.from + 1 + (l.from == 0 ? s->column : 0) };
    m.text = keep_line(&s->out->arena, line_text(s->text, l), at - l.from);
    add_context(s, l, &m);
    VEC_PUSH(&s->found, m);
}

/* ---- searching ---- */

/* Searches one line alone. */
static bool confirm(Search *s, Line l, size_t *at, bool *found, Error *err) {
    RegexSpan span;
    if (!regex_find_next(s->regex, line_text(s->text, l), 0, &span, 1, s->cancel, found, err)) return false;
    if (*found) *at = l.from + span.from;
    return true;
}

/* The next line at or after `from` that may match; *sure: it does, at *at. */
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
        if (!regex_find_next(s->regex, s->text, from, &span, 1, s->cancel, found, err)) return false;
        if (*found) *at = span.from;
        *found = *found && (span.from < s->text.n || s->text.at[span.from - 1] != '\n');   /* no line follows the last line break */
    }
    if (*found) *l = line_around(s->text, from, *at);
    return true;
}

static bool search_lines(Search *s, Error *err) {
    size_t rounds = 0;
    for (size_t from = 0; from < s->text.n && s->found.n < s->how->limit;) {
        Line l;
        size_t at;
        bool sure, found;
        if (++rounds % CHECK_LINES == 0 && !cancel_check(s->cancel, err)) return false;
        if (!next_candidate(s, from, &l, &at, &sure, &found, err)) return false;
        if (!found) return true;
        if (!sure && !confirm(s, l, &at, &found, err)) return false;
        if (found) add_match(s, l, at);
        else if (!s->pattern->literal.n) s->by_line = true;             /* a match spanned lines: continue line by
                                                                         * line */
        from = l.to + 1;
    }
    return true;
}

/* ---- pieces ---- */

/* Small files need one read(). */
static bool read_more(const Search *s, size_t line_max, bool *end, Error *err) {
    Buf *b = s->how->text;
    size_t room = s->how->piece ? s->how->piece : PIECE;
    if (room < b->n) room = b->n;                        /* a long line: double the size */
    if (room > line_max - b->n) room = line_max - b->n;
    ssize_t n;
    do n = fault_hit() ? (errno = EIO, -1) : read(s->how->fd, buf_room(b, room), room); while (n < 0 && errno == EINTR);
    if (n < 0) return error_set(err, ERR_IO, "%m");
    buf_commit(b, (size_t)n);
    *end = (size_t)n < room;                             /* a short read means end of file */
    return true;
}

/* How many bytes of the buffer can be searched: all whole lines up to a NUL byte. The first `old` bytes were checked
 * before. 0: read more. */
static size_t whole_lines(Search *s, size_t old, size_t line_max, bool *end) {
    Str all = buf_str(s->how->text);
    const char *nul = memchr(all.at + old, 0, all.n - old);
    if (nul) {
        *end = true;
        all.n = (size_t)(nul - all.at);
        if (s->offset + all.n < GREP_SNIFF) return s->found.n = 0;
    } else if (*end) return all.n;
    const char *last = all.n > old ? memrchr(all.at + old, '\n', all.n - old) : NULL;
    if (last) return (size_t)(last - all.at) + 1;
    if (nul || all.n < line_max) return 0;
    size_t part = char_floor(all, all.n - 1);            /* another whole character may fit; unknown here */
    return part ? part : all.n;
}

static bool search_piece(Search *s, size_t n, Error *err) {
    const GrepPattern *p = s->pattern;
    s->text = (Str){ s->how->text->at, n };
    bool utf8 = p->utf8 && utf8_valid(s->text);
    s->regex = utf8 ? p->utf8 : p->regex;
    s->by_line = p->by_line || (p->utf8 && !utf8) || (p->line_end && memchr(s->text.at, '\r', n));
    continue_context(s);
    return search_lines(s, err);
}

/* True once all matches have their context and the file is known to be text. */
static bool is_full(const Search *s) {
    return s->found.n == s->how->limit && s->found.at[s->found.n - 1].after_n == s->context && s->offset + s->text.n >= GREP_SNIFF;
}

static void next_piece(Search *s) {
    Buf *b = s->how->text;
    size_t n = s->text.n;
    keep_history(s);
    line_number(s, n);
    s->column = s->text.at[n - 1] == '\n' ? 0 : s->column + n;
    s->counted = 0;
    s->offset += n;
    memmove(b->at, b->at + n, b->n - n);
    b->n -= n;
}

static bool run(Search *s, Error *err) {
    size_t line_max = s->how->line_max ? s->how->line_max : GREP_LINE_MAX;
    buf_reset(s->how->text);
    for (bool end = false; !end;) {
        size_t old = s->how->text->n;
        if (!cancel_check(s->cancel, err) || !read_more(s, line_max, &end, err)) return false;
        size_t n = whole_lines(s, old, line_max, &end);
        if (n == 0) continue;
        if (!search_piece(s, n, err)) return false;
        if (end || is_full(s)) return true;
        next_piece(s);
    }
    return true;
}

bool grep_search(const GrepSearch *how, Cancel *cancel, GrepFile *out, Error *err) {
    Search s = { .how = how, .pattern = how->pattern, .cancel = cancel, .context = how->context, .number = 1, .out = out };
    bool ok = run(&s, err);
    if (ok && s.found.n) {
        out->match = ARENA_ARRAY(&out->arena, GrepMatch, s.found.n);
        memcpy(out->match, s.found.at, s.found.n * sizeof *s.found.at);
        out->n = s.found.n;
    }
    VEC_CLEAR(&s.found);
    for (size_t i = 0; i < 2; i++) arena_clear(&s.memory[i]);
    return ok;
}
