#include "tool/builtin/edit_text.h"
#include <stdlib.h>
#include "base/utf8.h"
#include "base/vec.h"

enum { LINES_LISTED = 12, OLD_LINES = 64, SHOWN_LINES = 5, SHOWN_BYTES = 90, BITS = 1024, ALIKE_PERCENT = 50, LINE_BYTES = 400 };

typedef VEC(Str) Lines;

static void cut_lines(Str text, Lines *out, size_t limit) {
    Str line;
    while (out->n < limit && str_next_line(&text, &line)) VEC_PUSH(out, line);
}

/* ---- nearest text ---- */

/* The set of character pairs in a line, for comparing lines by similarity. */
typedef struct { uint64_t word[BITS / 64]; unsigned n; } Pairs;

static Pairs pairs_of(Str s) {
    Pairs p = { 0 };
    if (s.n > LINE_BYTES) s.n = LINE_BYTES;
    for (size_t i = 0; i + 1 < s.n; i++) {
        uint32_t h = ((unsigned char)s.at[i] * 31u + (unsigned char)s.at[i + 1]) * 2654435761u >> 22;
        uint64_t bit = UINT64_C(1) << (h % 64);
        p.n += !(p.word[h / 64] & bit);
        p.word[h / 64] |= bit;
    }
    return p;
}

static unsigned likeness(const Pairs *a, const Pairs *b) {            /* percent */
    unsigned both = 0;
    for (size_t i = 0; i < BITS / 64; i++) both += (unsigned)__builtin_popcountll(a->word[i] & b->word[i]);
    return a->n + b->n ? 200 * both / (a->n + b->n) : 0;
}

/* The first line of the section that shares most lines with `old`, ignoring white space at the ends; SIZE_MAX: none. */
static size_t most_lines(const Lines *text, const Lines *old) {
    size_t best = SIZE_MAX, most = 0;
    for (size_t i = 0; i < text->n; i++) {
        size_t same = 0;
        for (size_t k = 0; k < old->n && i + k < text->n; k++) {
            Str a = str_trim(old->at[k]);
            same += a.n > 0 && str_eq(a, str_trim(text->at[i + k]));
        }
        if (same > most) most = same, best = i;
    }
    return best;
}

static size_t most_alike(const Lines *text, const Lines *old) {
    size_t first = 0, best = SIZE_MAX;
    while (first < old->n && str_trim(old->at[first]).n == 0) first++;
    if (first == old->n) return SIZE_MAX;
    Pairs want = pairs_of(str_trim(old->at[first]));
    unsigned most = ALIKE_PERCENT - 1;
    for (size_t i = 0; i < text->n; i++) {
        Pairs have = pairs_of(str_trim(text->at[i]));
        unsigned alike = likeness(&want, &have);
        if (alike > most) most = alike, best = i >= first ? i - first : 0;
    }
    return best;
}

static void add_shown(Buf *b, Str line) {
    size_t cut = line.n > SHOWN_BYTES ? SHOWN_BYTES : line.n;
    while (cut > 0 && cut < line.n && ((unsigned char)line.at[cut] & 0xC0) == 0x80) cut--;
    for (Str s = str_sub(line, 0, cut); s.n;) {
        size_t n;
        uint32_t c = utf8_decode(s, &n);
        if (c == '\t') buf_add(b, STR("\\t"));
        else if (c < 32 || c == 127) buf_add_fmt(b, "\\x%02x", c);
        else buf_add_utf8(b, c);
        s = str_sub(s, n, s.n);
    }
    if (cut < line.n) buf_add(b, STR("…"));
}

static bool not_found(Str text, const EditText *edit, Error *err) {
    Lines lines = { 0 }, old = { 0 };
    Buf shown = { 0 };
    cut_lines(text, &lines, SIZE_MAX);
    cut_lines(edit->old_string, &old, OLD_LINES);
    size_t at = most_lines(&lines, &old);
    if (at == SIZE_MAX) at = most_alike(&lines, &old);
    if (at == SIZE_MAX) error_set(err, ERR_VALIDATION, "old_string was not found, nor anything like it");
    else {
        size_t n = old.n < lines.n - at ? old.n : lines.n - at;
        for (size_t i = 0; i < n && i < SHOWN_LINES; i++) {
            buf_add_fmt(&shown, "\n%zu: ", at + i + 1);
            add_shown(&shown, lines.at[at + i]);
        }
        if (n > SHOWN_LINES) buf_add(&shown, STR("\n…"));
        if (n > 1) error_set(err, ERR_VALIDATION, "old_string was not found; the nearest text is at lines %zu-%zu:" STR_FMT, at + 1, at + n,
            STR_ARG(buf_str(&shown)));
        else error_set(err, ERR_VALIDATION, "old_string was not found; the nearest text is at line %zu:" STR_FMT, at + 1, STR_ARG(buf_str(&shown)));
    }
    if (memmem(text.at, text.n, "\r\n", 2) && str_find(edit->old_string, STR("\r\n")) < 0 && str_find_char(edit->old_string, '\n') >= 0)
        error_hint(err, "the file's lines end in \\r\\n");
    buf_clear(&shown);
    VEC_CLEAR(&lines);
    VEC_CLEAR(&old);
    return false;
}

/* ---- occurrences ---- */

static size_t find_next(Str text, Str needle, size_t from) {
    const char *at = from <= text.n ? memmem(text.at + from, text.n - from, needle.at, needle.n) : NULL;
    return at ? (size_t)(at - text.at) : SIZE_MAX;
}

static size_t count_lines(Str text, size_t from, size_t to) {
    size_t n = 0;
    for (const char *p = text.at + from, *end = text.at + to; p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++) n++;
    return n;
}

static bool ambiguous(Str text, Str needle, size_t count, Error *err) {
    Buf list = { 0 };
    size_t line = 1, before = 0, shown = count < LINES_LISTED ? count : LINES_LISTED;
    for (size_t i = 0, at = find_next(text, needle, 0); i < shown; i++, at = find_next(text, needle, at + needle.n)) {
        line += count_lines(text, before, at);
        before = at;
        buf_add_fmt(&list, "%s%zu", i == 0 ? "" : i + 1 == count ? " and " : ", ", line);
    }
    error_set(err, ERR_VALIDATION, "old_string is ambiguous: it occurs %zu times, at lines %s%s", count, list.at, shown < count ? ", …" : "");
    error_hint(err, "give more of the text around it, or set replace_all");
    buf_clear(&list);
    return false;
}

bool edit_text_replace(Str text, const EditText *edit, Buf *out, size_t *count, Error *err) {
    Str old = edit->old_string, new = edit->new_string;
    if (!text.at) text = STR("");
    if (old.n == 0) return error_set(err, ERR_VALIDATION, "old_string is empty");
    if (str_eq(old, new)) return error_set(err, ERR_VALIDATION, "old_string and new_string are the same");
    size_t n = 0;
    for (size_t at = find_next(text, old, 0); at != SIZE_MAX; at = find_next(text, old, at + old.n)) n++;
    if (n == 0) return not_found(text, edit, err);
    if (n > 1 && !edit->replace_all) return ambiguous(text, old, n, err);
    buf_reset(out);
    size_t from = 0;
    for (size_t at = find_next(text, old, 0); at != SIZE_MAX; at = find_next(text, old, from)) {
        buf_add(out, str_sub(text, from, at));
        buf_add(out, new);
        from = at + old.n;
    }
    buf_add(out, str_sub(text, from, text.n));
    *count = n;
    return true;
}
