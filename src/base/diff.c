#include "base/diff.h"
#include <stdlib.h>
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"

/* Shortest edit script by Myers' algorithm, keeping every round for backtracking. Past these limits the texts are split
 * at lines that occur exactly once in both; without such lines everything is replaced. */
#ifdef HARNESS_HOSTILE
enum { EDITS_MAX = 3, CUTS_DEEP_MAX = 3 };
#else
enum { EDITS_MAX = 1500, CUTS_DEEP_MAX = 12 };
#endif
#define STEPS_MAX ((size_t)200000000)

/* Lines are numbered; equal lines have equal numbers. `changed` marks lines to remove (old) or to add (new). */
typedef struct { Str *line; uint32_t *id; bool *changed; size_t n; } Side;
typedef struct { Side a, b; uint32_t ids; } Diff;
typedef struct { size_t a, a_end, b, b_end; } Range;

/* ---- lines ---- */

static void cut_lines(Str text, Side *out) {
    VEC(Str) lines = { 0 };
    for (size_t at = 0; at < text.n;) {
        const char *end = memchr(text.at + at, '\n', text.n - at);
        size_t to = end ? (size_t)(end - text.at) + 1 : text.n;      /* a line includes its line break, so a missing one
                                                                      * is a difference */
        VEC_PUSH(&lines, str_sub(text, at, to));
        at = to;
    }
    *out = (Side){ lines.at, mem_zero(lines.n, sizeof(uint32_t)), mem_zero(lines.n, sizeof(bool)), lines.n };
}

/* Open addressing over the lines of both sides; a slot holds a line's index + 1, with b's after a's. */
static void number_lines(Diff *d) {
    size_t total = d->a.n + d->b.n, slots = 16;
    while (slots < total * 2) slots *= 2;
    uint64_t *slot = mem_zero(slots, sizeof *slot);
    for (size_t i = 0; i < total; i++) {
        Side *side = i < d->a.n ? &d->a : &d->b;
        size_t k = i < d->a.n ? i : i - d->a.n;
        size_t at = hash_bytes(side->line[k]) & (slots - 1);
        for (;; at = (at + 1) & (slots - 1)) {
            if (slot[at] == 0) { slot[at] = i + 1; side->id[k] = d->ids++; break; }
            size_t other = slot[at] - 1;
            const Side *s = other < d->a.n ? &d->a : &d->b;
            size_t o = other < d->a.n ? other : other - d->a.n;
            if (str_eq(s->line[o], side->line[k])) { side->id[k] = s->id[o]; break; }
        }
    }
    free(slot);
}

/* ---- shortest edit script ---- */

/* Round e reaches diagonals -e … e; stores the furthest position in a of every other diagonal, e + 1 per round. */
typedef struct { const uint32_t *a, *b; ptrdiff_t n, m; VEC(int32_t *) round; } Search;

static int32_t reach(const Search *s, ptrdiff_t e, ptrdiff_t k) {            /* furthest position on diagonal k after
                                                                              * round e - 1 */
    return s->round.at[e - 1][(k + e - 1) / 2];
}

static ptrdiff_t step(const Search *s, ptrdiff_t e, ptrdiff_t k) {
    if (e == 0) return 0;
    bool down = k == -e || (k != e && reach(s, e, k - 1) < reach(s, e, k + 1));
    return down ? reach(s, e, k + 1) : reach(s, e, k - 1) + 1;
}

static ptrdiff_t slide(const Search *s, ptrdiff_t x, ptrdiff_t k) {
    while (x < s->n && x - k >= 0 && x - k < s->m && s->a[x] == s->b[x - k]) x++;
    return x;
}

/* The round that reaches the end; -1: too many. */
static ptrdiff_t search_rounds(Search *s) {
    size_t steps = 0;
    for (ptrdiff_t e = 0; e <= EDITS_MAX && steps < STEPS_MAX; e++) {
        int32_t *row = mem_alloc(((size_t)e + 1) * sizeof *row);
        VEC_PUSH(&s->round, row);
        for (ptrdiff_t k = -e; k <= e; k += 2) {
            ptrdiff_t from = step(s, e, k), x = slide(s, from, k);
            steps += (size_t)(x - from) + 1;
            row[(k + e) / 2] = (int32_t)x;
            if (x >= s->n && x - k >= s->m) return e;
        }
    }
    return -1;
}

static void mark_way(Diff *d, Range r, const Search *s, ptrdiff_t e) {
    for (ptrdiff_t x = s->n, y = s->m; e > 0; e--) {
        ptrdiff_t k = x - y;
        bool down = k == -e || (k != e && reach(s, e, k - 1) < reach(s, e, k + 1));
        ptrdiff_t before = down ? k + 1 : k - 1;
        x = reach(s, e, before);
        y = x - before;
        if (down) d->b.changed[r.b + (size_t)y] = true;
        else d->a.changed[r.a + (size_t)x] = true;
    }
}

static bool find_shortest(Diff *d, Range r) {
    Search s = { .a = d->a.id + r.a, .b = d->b.id + r.b, .n = (ptrdiff_t)(r.a_end - r.a), .m = (ptrdiff_t)(r.b_end - r.b) };
    if (s.n > INT32_MAX / 4 || s.m > INT32_MAX / 4) return false;
    ptrdiff_t e = search_rounds(&s);
    if (e >= 0) mark_way(d, r, &s, e);
    for (size_t i = 0; i < s.round.n; i++) free(s.round.at[i]);
    VEC_CLEAR(&s.round);
    return e >= 0;
}

/* ---- splitting ---- */

static void mark_all(Diff *d, Range r) {
    for (size_t i = r.a; i < r.a_end; i++) d->a.changed[i] = true;
    for (size_t i = r.b; i < r.b_end; i++) d->b.changed[i] = true;
}

typedef struct { size_t a, b, before; } Anchor;
typedef VEC(Anchor) Anchors;

/* Lines that occur once on each side, in the order of a. */
static void find_unique(const Diff *d, Range r, Anchors *out) {
    typedef struct { uint32_t in_a, in_b; size_t at; } Count;
    Count *count = mem_zero(d->ids, sizeof *count);
    for (size_t i = r.b; i < r.b_end; i++) count[d->b.id[i]].in_b++, count[d->b.id[i]].at = i;
    for (size_t i = r.a; i < r.a_end; i++) count[d->a.id[i]].in_a++;
    for (size_t i = r.a; i < r.a_end; i++)
        if (count[d->a.id[i]].in_a == 1 && count[d->a.id[i]].in_b == 1) VEC_PUSH(out, (Anchor){ i, count[d->a.id[i]].at, SIZE_MAX });
    free(count);
}

/* Keeps the longest subsequence that is also in order in b. */
static void keep_ordered(Anchors *list) {
    VEC(size_t) top = { 0 };
    for (size_t i = 0; i < list->n; i++) {
        size_t low = 0, high = top.n;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (list->at[top.at[middle]].b < list->at[i].b) low = middle + 1;
            else high = middle;
        }
        list->at[i].before = low ? top.at[low - 1] : SIZE_MAX;
        if (low == top.n) VEC_PUSH(&top, i);
        else top.at[low] = i;
    }
    Anchors kept = { 0 };
    for (size_t i = top.n ? VEC_LAST(&top) : SIZE_MAX; i != SIZE_MAX; i = list->at[i].before) VEC_PUSH(&kept, list->at[i]);
    VEC_CLEAR(list);
    for (size_t i = kept.n; i-- > 0;) VEC_PUSH(list, kept.at[i]);
    VEC_CLEAR(&kept);
    VEC_CLEAR(&top);
}

static void compare(Diff *d, Range r, int deep) {
    while (r.a < r.a_end && r.b < r.b_end && d->a.id[r.a] == d->b.id[r.b]) r.a++, r.b++;
    while (r.a < r.a_end && r.b < r.b_end && d->a.id[r.a_end - 1] == d->b.id[r.b_end - 1]) r.a_end--, r.b_end--;
    if (r.a == r.a_end || r.b == r.b_end) { mark_all(d, r); return; }
    if (find_shortest(d, r)) return;
    Anchors anchors = { 0 };
    if (deep < CUTS_DEEP_MAX) find_unique(d, r, &anchors);
    keep_ordered(&anchors);
    if (anchors.n == 0) mark_all(d, r);
    size_t a = r.a, b = r.b;
    for (size_t i = 0; i <= anchors.n && anchors.n; i++) {
        bool last = i == anchors.n;
        compare(d, (Range){ a, last ? r.a_end : anchors.at[i].a, b, last ? r.b_end : anchors.at[i].b }, deep + 1);
        if (!last) a = anchors.at[i].a + 1, b = anchors.at[i].b + 1;
    }
    VEC_CLEAR(&anchors);
}

/* ---- printing ---- */

static void add_line(Buf *out, char mark, Str line) {
    buf_add_char(out, mark);
    buf_add(out, line);
    if (line.at[line.n - 1] != '\n') buf_add(out, STR("\n\\ No newline at end of file\n"));
}

/* An empty range is given by the line before it. */
static void add_place(Buf *out, char mark, size_t from, size_t n) {
    buf_add_fmt(out, "%c%zu", mark, n ? from + 1 : from);
    if (n != 1) buf_add_fmt(out, ",%zu", n);
}

/* Skips the changed lines of both sides from (i, j) to the next common line. */
static void pass_change(const Diff *d, size_t *i, size_t *j) {
    while (*i < d->a.n && d->a.changed[*i]) ++*i;
    while (*j < d->b.n && d->b.changed[*j]) ++*j;
}

static bool at_change(const Diff *d, size_t i, size_t j) { return (i < d->a.n && d->a.changed[i]) || (j < d->b.n && d->b.changed[j]); }

static void print_hunk(const Diff *d, Range r, Buf *out) {
    buf_add(out, STR("@@ "));
    add_place(out, '-', r.a, r.a_end - r.a);
    buf_add_char(out, ' ');
    add_place(out, '+', r.b, r.b_end - r.b);
    buf_add(out, STR(" @@\n"));
    for (size_t i = r.a, j = r.b; i < r.a_end || j < r.b_end;) {
        if (i < r.a_end && d->a.changed[i]) add_line(out, '-', d->a.line[i++]);
        else if (j < r.b_end && d->b.changed[j]) add_line(out, '+', d->b.line[j++]);
        else add_line(out, ' ', d->a.line[i]), i++, j++;
    }
}

/* Changes separated by at most two contexts share a hunk. */
static void print_hunks(const Diff *d, size_t context, Buf *out) {
    size_t i = 0, j = 0;
    while (i < d->a.n || j < d->b.n) {
        if (!at_change(d, i, j)) { i++, j++; continue; }
        size_t lead = i < context ? i : context;
        Range r = { .a = i - lead, .b = j - lead };
        for (;;) {
            pass_change(d, &i, &j);
            size_t common = 0;
            while (i + common < d->a.n && j + common < d->b.n && !at_change(d, i + common, j + common)) common++;
            bool end = i + common >= d->a.n && j + common >= d->b.n;
            if (end || common / 2 > context || (common + 1) / 2 > context) {
                size_t tail = common < context ? common : context;
                r.a_end = i + tail;
                r.b_end = j + tail;
                i += common, j += common;
                break;
            }
            i += common, j += common;
        }
        print_hunk(d, r, out);
    }
}

void diff_unified(Str a, Str b, const DiffStyle *style, Buf *out) {
    static const DiffStyle plain = { .context = 3 };
    if (!style) style = &plain;
    if (str_eq(a, b)) return;
    Diff d = { 0 };
    cut_lines(a, &d.a);
    cut_lines(b, &d.b);
    number_lines(&d);
    compare(&d, (Range){ 0, d.a.n, 0, d.b.n }, 0);
    if (style->from && style->to) buf_add_fmt(out, "--- %s\n+++ %s\n", style->from, style->to);
    print_hunks(&d, style->context, out);
    Side *sides[] = { &d.a, &d.b };
    for (size_t i = 0; i < 2; i++) free(sides[i]->line), free(sides[i]->id), free(sides[i]->changed);
}
