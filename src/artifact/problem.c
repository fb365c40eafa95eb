#include "artifact/problem.h"
#include <stdlib.h>
#include "base/mem.h"

void problems_clear(Problems *p) {
    arena_clear(&p->arena);
    free(p->at);
    *p = (Problems){ 0 };
}

static bool counted(Problems *p, Severity severity) {
    if (severity == PROBLEM_ERROR) p->errors++;
    if (severity == PROBLEM_WARNING) p->warnings++;
    if (p->n < PROBLEMS_MAX) return true;
    p->dropped++;
    return false;
}

static void add(Problems *p, Severity severity, Str file, Place place, Str hint, Str message) {
    if (p->n == p->cap) {
        p->cap = p->cap ? p->cap * 2 : 16;
        p->at = mem_resize(p->at, p->cap, sizeof *p->at);
    }
    p->at[p->n++] = (Problem){ severity, arena_str(&p->arena, file), place.line, place.column, arena_str(&p->arena, message),
                               hint.n ? arena_str(&p->arena, hint) : (Str){ 0 }, false };
}

void problems_add_v(Problems *p, Severity severity, Str file, Place place, Str hint, const char *fmt, va_list ap) {
    if (!counted(p, severity)) return;
    Buf message = { 0 };
    buf_add_vfmt(&message, fmt, ap);
    add(p, severity, file, place, hint, buf_str(&message));
    buf_clear(&message);
}

void problems_add(Problems *p, Severity severity, Str file, Place place, Str hint, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    problems_add_v(p, severity, file, place, hint, fmt, ap);
    va_end(ap);
}

void problems_add_error(Problems *p, Str file, const Error *err) {
    if (!counted(p, PROBLEM_ERROR)) return;
    Place place = err->line ? (Place){ err->line, err->column ? err->column : 1 } : (Place){ 1, 1 };
    add(p, PROBLEM_ERROR, err->file[0] ? str_from(err->file) : file, place, str_from(err->hint), str_from(err->msg));
}

void problems_add_about_file(Problems *p, Severity severity, Str file, Str hint, const char *message) {
    if (!counted(p, severity)) return;
    add(p, severity, file, (Place){ 1, 1 }, hint, str_from(message));
    p->at[p->n - 1].about_file = true;
}

void problems_copy(Problems *to, const Problem *p) {
    if (!counted(to, p->severity)) return;
    add(to, p->severity, p->file, (Place){ p->line, p->column }, p->hint, p->message);
    to->at[to->n - 1].about_file = p->about_file;
}

/* ---- order ---- */

static int compare(const Problem *a, const Problem *b) {
    int files = str_cmp(a->file, b->file);
    if (files) return files;
    if (a->line != b->line) return a->line < b->line ? -1 : 1;
    return (a->column > b->column) - (a->column < b->column);
}

/* A merge sort, because qsort is not stable. */
static void sort(Problem *at, Problem *room, size_t n) {
    if (n < 2) return;
    size_t half = n / 2, i = 0, j = half, out = 0;
    sort(at, room, half);
    sort(at + half, room, n - half);
    while (i < half && j < n) room[out++] = compare(&at[j], &at[i]) < 0 ? at[j++] : at[i++];
    while (i < half) room[out++] = at[i++];
    memcpy(at, room, out * sizeof *at);               /* the rest of the second half is in place */
}

void problems_sort(Problems *p) {
    Problem *room = mem_alloc(p->n * sizeof *room);
    sort(p->at, room, p->n);
    free(room);
}

/* ---- text ---- */

const char *problem_severity_name(Severity s) {
    return s == PROBLEM_ERROR ? "error" : s == PROBLEM_WARNING ? "warning" : "hint";
}

void problem_format(const Problem *p, Buf *out) {
    if (p->file.n) buf_add(out, p->file);
    if (p->file.n && p->line) buf_add_fmt(out, ":%u:%u", p->line, p->column);
    if (p->file.n) buf_add(out, STR(": "));
    buf_add(out, p->message);
    if (p->hint.n) buf_add_fmt(out, " (" STR_FMT ")", STR_ARG(p->hint));
}
