/* Methods of strings that take them apart. */
#include "starlark/lib_string.h"

#include "base/unicode.h"
#include "base/utf8.h"
#include "starlark/search.h"

/* Parts go straight into a list that has room for all of them: they are counted first. */
typedef struct { Work work; Heap *heap; List *list; } Parts;

static bool begin(Parts *p, Vm *vm, size_t room, Error *err) {
    *p = (Parts){ .work = { .vm = vm }, .heap = vm_heap(vm) };
    p->list = list_new(p->heap, room, err);
    return p->list != NULL;
}

static inline bool add(Parts *p, const char *from, const char *to, Error *err) {
    String *s = string_new(p->heap, (Str){ from, (size_t)(to - from) }, err);
    if (!s) return false;
    p->list->at[p->list->n++] = value_from_object(s);
    return work_add(&p->work, 2 + s->n / 64, err);
}

static bool finish(Parts *p, Value *out) { return *out = value_from_object(p->list), true; }

/* ---- by a separator ---- */

/* Cuts at `cuts` occurrences of sep, after leaving out the first `skip`; there are that many. */
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

/* Occurrences are told from left to right also when the last `most` of them are wanted. */
static bool split_at(Vm *vm, Str s, Str sep, int64_t most, bool right, Value *out, Error *err) {
    if (sep.n == 0) return error_set(err, ERR_SCRIPT, "empty separator");
    size_t n;
    if (!search_count(&(Work){ .vm = vm }, s, sep, &n, err)) return false;
    size_t cuts = most >= 0 && (uint64_t)most < n ? (size_t)most : n;
    Parts p;
    return begin(&p, vm, cuts + 1, err) && cut(&p, s, sep, right ? n - cuts : 0, cuts, false, err) && finish(&p, out);
}

/* ---- by white space ---- */

/* Whether s starts with white space; *length is that of its first character. */
static inline bool starts_space(Str s, size_t *length) {
    unsigned char c = (unsigned char)s.at[0];
    *length = 1;
    if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
    return unicode_is_space(utf8_decode(s, length));
}

/* The next word at or after *at, as [*from, *to): false when there is none. *at moves behind it. */
static bool next_word(Str s, size_t *at, size_t *from, size_t *to) {
    size_t i = *at, length = 0;
    while (i < s.n && starts_space((Str){ s.at + i, s.n - i }, &length)) i += length;
    if (i >= s.n) return *at = i, false;
    *from = i;
    do i += length; while (i < s.n && !starts_space((Str){ s.at + i, s.n - i }, &length));
    return *to = *at = i, true;
}

static bool count_words(Work *w, Str s, size_t *n, Error *err) {
    size_t at = 0, from = 0, to = 0;
    *n = 0;
    for (size_t before = 0; next_word(s, &at, &from, &to); before = at) {
        (*n)++;
        if (!work_add(w, 1 + (at - before) / 8, err)) return false;
    }
    return true;
}

/* `most` words from one side by themselves; what is left is one more, inner white space and all. */
static bool split_words(Vm *vm, Str s, int64_t most, bool right, Value *out, Error *err) {
    Parts p;
    Work w = { .vm = vm };
    size_t n, at = 0, from = 0, to = 0;
    if (!count_words(&w, s, &n, err)) return false;
    bool rest = most >= 0 && (uint64_t)most < n;          /* is there a part with several words, or the last one? */
    size_t alone = rest ? (size_t)most : n;
    if (!begin(&p, vm, alone + rest, err)) return false;
    if (rest && right) {                                  /* its end is that of word number n - alone */
        for (size_t i = 0; i < n - alone; i++) {
            next_word(s, &at, &from, &to);
            if (!work_add(&w, 1 + (to - from) / 8, err)) return false;
        }
        if (!add(&p, s.at, s.at + to, err)) return false;
    }
    for (size_t i = 0; i < alone && next_word(s, &at, &from, &to); i++)
        if (!add(&p, s.at + from, s.at + to, err)) return false;
    if (rest && !right) {
        next_word(s, &at, &from, &to);
        if (!add(&p, s.at + from, s.at + s.n, err)) return false;
    }
    return finish(&p, out);
}

static bool split(Vm *vm, const NativeArgs *a, bool right, Value *out, Error *err) {
    int64_t most = -1;
    if (native_given(a, 1) && !native_i64(a->at[1], &most, err)) return error_wrap(err, "for parameter 2");
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
    if (s.n && !keep && s.at[s.n - 1] == '\n') p.list->n--;   /* nothing follows the last line's end */
    return finish(&p, out);
}

static bool partition(Vm *vm, const NativeArgs *a, bool right, Value *out, Error *err) {
    Heap *h = vm_heap(vm);
    String *s = value_string(a->self);
    Str sep = value_str(a->at[0]);
    ptrdiff_t at;
    Work w = { .vm = vm };
    if (sep.n == 0) return error_set(err, ERR_SCRIPT, "empty separator");
    if (!(right ? search_last : search_first)(&w, string_str(s), sep, &at, err)) return false;
    Tuple *t = tuple_new(h, 3, err);
    if (!t) return false;
    size_t end = at < 0 ? (right ? 0 : s->n) : (size_t)at, next = at < 0 ? end : end + sep.n;
    String *before = string_slice(h, s, 0, end, err);
    String *middle = at < 0 ? string_new(h, STR(""), err) : value_string(a->at[0]);
    String *after = string_slice(h, s, next, s->n, err);
    if (!before || !middle || !after) return false;
    t->at[0] = value_from_object(before);
    t->at[1] = value_from_object(middle);
    t->at[2] = value_from_object(after);
    return *out = value_from_object(t), true;
}

bool lib_string_partition(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return partition(vm, a, false, out, err); }
bool lib_string_rpartition(Vm *vm, const NativeArgs *a, Value *out, Error *err) { return partition(vm, a, true, out, err); }
