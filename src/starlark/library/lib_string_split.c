/* String methods that split. */
#include "starlark/library/lib_string.h"

#include "base/unicode.h"
#include "base/utf8.h"
#include "starlark/vm/search.h"

/* The parts are counted first, so the list is allocated at its final size. */
typedef struct { Work work; Heap *heap; List *list; } Parts;

static bool begin(Parts *p, Vm *vm, size_t room, Error *err) {
    *p = (Parts){ .work = { .vm = vm }, .heap = vm_heap(vm) };
    p->list = list_new(p->heap, room, err);
    return p->list != NULL;
}

static inline bool add(Parts *p, const char *from, const char *to, Error *err) {
    if (!work_string(&p->work, (Str){ from, (size_t)(to - from) }, &p->list->at[p->list->n], err)) return false;
    return p->list->n++, true;
}

static bool finish(Parts *p, Value *out) { return *out = value_from_object(p->list), true; }

/* ---- by a separator ---- */

/* Skips the first `skip` occurrences of sep and cuts at the next `cuts`; the caller has counted them. */
static bool cut(Parts *p, Str s, Str sep, size_t skip, size_t cuts, bool keep, Error *err) {
    const char *start = s.at;
    for (size_t i = 0; i < skip + cuts; i++) {
        ptrdiff_t at;
        if (!search_first(&p->work, s, sep, &at, err)) return false;
        if (i >= skip) {
            if (!add(p, start, s.at + at + (keep ? sep.n : 0), err)) return false;
            start = s.at + at + sep.n;
        }
        s = str_sub(s, (size_t)at + sep.n, s.n);
    }
    return s.at + s.n == start && keep ? true : add(p, start, s.at + s.n, err);
}

/* Finds occurrences from left to right even when it cuts at the last `most` of them. */
static bool split_at(Vm *vm, Str s, Str sep, int64_t most, bool right, Value *out, Error *err) {
    if (sep.n == 0) return error_set(err, ERR_SCRIPT, "empty separator");
    size_t n;
    if (!search_count(&(Work){ .vm = vm }, s, sep, &n, err)) return false;
    size_t cuts = most >= 0 && (uint64_t)most < n ? (size_t)most : n;
    Parts p;
    return begin(&p, vm, cuts + 1, err) && cut(&p, s, sep, right ? n - cuts : 0, cuts, false, err) && finish(&p, out);
}

/* ---- by white space ---- */

/* Class of a byte: 0 plain, 1 white space, 2 part of a longer character. */
static inline unsigned byte_kind(char c) { return c & 0x80 ? 2 : c == ' ' || (c >= '\t' && c <= '\r'); }

/* An iteration over words; [from, to) is the current one. `failed`: interrupted, err has the reason. */
typedef struct { Str s; size_t from, to; Work work; Error *err; bool failed; } Words;
enum { STRIDE = 1 << 14 };

/* Skips white space (or everything else) from offset i; returns the offset after it. */
static inline size_t skip(Words *w, size_t i, bool space) {
    for (;;) {
        size_t pause = w->s.n - i < STRIDE ? w->s.n : i + STRIDE, length = 1;
        for (; i < pause; i += length) {
            unsigned kind = byte_kind(w->s.at[i]);
            length = 1;
            if (kind == 2) kind = unicode_is_space(utf8_decode((Str){ w->s.at + i, w->s.n - i }, &length));
            if (kind != space) return i;
        }
        if (i >= w->s.n) return w->s.n;
        if (!work_add(&w->work, STRIDE / 8, w->err)) return w->failed = true, w->s.n;
    }
}

static inline bool next_word(Words *w) {                 /* false: no more words, or interrupted */
    w->from = skip(w, w->to, true);
    w->to = skip(w, w->from, false);
    if (w->to == w->from || w->failed) return false;
    w->failed = !work_add(&w->work, 1 + (w->to - w->from) / 8, w->err);
    return !w->failed;
}

static bool count_words(Words w, size_t *n) {
    for (*n = 0; next_word(&w); ++*n) {}
    return !w.failed;
}

/* The common case: counting first would take as long as splitting. */
static bool split_all_words(Vm *vm, Str s, Value *out, Error *err) {
    Parts p;
    Words w = { .s = s, .work = { .vm = vm }, .err = err };
    if (!begin(&p, vm, 8, err)) return false;
    while (next_word(&w)) {
        if (p.list->n == p.list->cap && !list_reserve(p.heap, p.list, p.list->n + 1, err)) return false;
        if (!add(&p, s.at + w.from, s.at + w.to, err)) return false;
    }
    return !w.failed && finish(&p, out);
}

/* Splits off `most` words from one side; the rest is one more part, including its inner white space. */
static bool split_words(Vm *vm, Str s, int64_t most, bool right, Value *out, Error *err) {
    if (most < 0) return split_all_words(vm, s, out, err);
    Parts p;
    Words w = { .s = s, .work = { .vm = vm }, .err = err };
    size_t n;
    if (!count_words(w, &n)) return false;
    bool rest = (uint64_t)most < n;
    size_t alone = rest ? (size_t)most : n;
    if (!begin(&p, vm, alone + rest, err)) return false;
    if (rest && right) {                                  /* the rest ends with word number n - alone */
        for (size_t i = 0; i < n - alone && next_word(&w); i++) {}
        if (w.failed || !add(&p, s.at, s.at + w.to, err)) return false;
    }
    for (size_t i = 0; i < alone && next_word(&w); i++)
        if (!add(&p, s.at + w.from, s.at + w.to, err)) return false;
    if (w.failed) return false;
    if (rest && !right && (!next_word(&w) || !add(&p, s.at + w.from, s.at + s.n, err))) return false;
    return finish(&p, out);
}

static bool split(Vm *vm, const NativeArgs *a, bool right, Value *out, Error *err) {
    int64_t most = -1;
    if (native_given(a, 1) && !native_arg_i64(a, 1, &most, err)) return false;
    Str s = value_str(a->self);
    if (!native_given(a, 0) || value_is_none(a->at[0])) return split_words(vm, s, most, right, out, err);
    if (value_is_string(a->at[0])) return split_at(vm, s, value_str(a->at[0]), most, right, out, err);
    return error_set(err, ERR_SCRIPT, "got %s for separator, want string", value_type_name(a->at[0]));
}

bool lib_string_split(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return split(vm, a, false, out, err); }
bool lib_string_rsplit(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return split(vm, a, true, out, err); }

/* ---- lines and partitions ---- */

bool lib_string_splitlines(Vm *vm, const NativeArgs *a, Value *out, Error *err) {
    bool keep = native_given(a, 0) && value_bool(a->at[0]);
    Str s = value_str(a->self);
    size_t n = 0;
    if (!search_count(&(Work){ .vm = vm }, s, STR("\n"), &n, err)) return false;
    Parts p;
    if (!begin(&p, vm, n + 1, err)) return false;
    if (s.n && !cut(&p, s, STR("\n"), 0, n, keep, err)) return false;
    if (s.n && !keep && s.at[s.n - 1] == '\n') p.list->n--;   /* no line after the final newline */
    return finish(&p, out);
}

static bool partition(Vm *vm, const NativeArgs *a, bool right, Value *out, Error *err) {
    String *s = value_string(a->self);
    Str sep = value_str(a->at[0]);
    ptrdiff_t at;
    Work w = { .vm = vm };
    if (sep.n == 0) return error_set(err, ERR_SCRIPT, "empty separator");
    if (!(right ? search_last : search_first)(&w, string_str(s), sep, &at, err)) return false;
    Tuple *t = tuple_new(vm_heap(vm), 3, err);
    if (!t) return false;
    size_t end = at < 0 ? (right ? 0 : s->n) : (size_t)at, next = at < 0 ? end : end + sep.n;
    t->at[1] = a->at[0];
    if (at < 0 && !work_string(&w, STR(""), &t->at[1], err)) return false;
    if (!work_slice(&w, s, 0, end, &t->at[0], err) || !work_slice(&w, s, next, s->n, &t->at[2], err)) return false;
    return *out = value_from_object(t), true;
}

bool lib_string_partition(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return partition(vm, a, false, out, err); }
bool lib_string_rpartition(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return partition(vm, a, true, out, err); }
