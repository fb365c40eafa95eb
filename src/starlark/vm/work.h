/* Accounting of work in a native function, so that it can be interrupted and stays within the heap limit
 * without a check per byte. Start with Work w = { .vm = vm }. One unit is about 10 ns. */
#pragma once
#include "starlark/vm/vm.h"

enum { WORK_BATCH = 4096, WORK_CHUNK = 1 << 18, WORK_BUF_STEP = 1 << 16 };

typedef struct Work { Vm *vm; size_t units, seen; } Work;

/* False if the call was cancelled, its deadline passed, or its steps are used up. */
static inline bool work_add(Work *w, size_t units, Error *err) {
    w->units += units;
    if (__builtin_expect(w->units < WORK_BATCH, 1)) return true;
    units = w->units;
    w->units = 0;
    return vm_work(w->vm, units, err);
}

/* True if the text in b and `more` bytes would still fit the heap. Buffers are outside of the heap but count towards
 * its limit. */
static inline bool work_room(Work *w, const Buf *b, size_t more, Error *err) {
    if (__builtin_expect(b->n + more < w->seen + WORK_BUF_STEP, 1)) return true;
    w->seen = b->n;
    return heap_can_take(vm_heap(w->vm), b->n + more, err);
}

/* Interruptible memcpy. */
static inline bool work_copy(Work *w, char *to, Str from, Error *err) {
    while (__builtin_expect(from.n > WORK_CHUNK, 0)) {
        memcpy(to, from.at, WORK_CHUNK);
        to += WORK_CHUNK, from.at += WORK_CHUNK, from.n -= WORK_CHUNK;
        if (!work_add(w, WORK_CHUNK / 32, err)) return false;      /* page faults cost more than the copy */
    }
    if (from.n) memcpy(to, from.at, from.n);
    return work_add(w, 1 + from.n / 32, err);
}

static inline bool work_copy_values(Work *w, Value *to, const Value *from, size_t n, Error *err) {
    return n == 0 || work_copy(w, (char *)to, (Str){ (const char *)from, n * sizeof *from }, err);
}

/* Creates a tuple with copies of n items. */
static inline bool work_tuple(Work *w, const Value *from, size_t n, Value *out, Error *err) {
    Tuple *t = tuple_room(vm_heap(w->vm), n, err);
    return t && work_copy_values(w, t->at, from, n, err) && (*out = value_from_object(t), true);
}

/* Interruptible string_new. */
static inline bool work_string(Work *w, Str text, Value *out, Error *err) {
    char *at;
    String *s = string_room(vm_heap(w->vm), text.n, &at, err);
    if (!s || !work_copy(w, at, text, err)) return false;
    return *out = value_from_object(s), true;
}

/* Interruptible string_slice. */
static inline bool work_slice(Work *w, String *s, size_t from, size_t to, Value *out, Error *err) {
    if (from == 0 && to == s->n) return *out = value_from_object(s), true;
    return work_string(w, (Str){ s->at + from, to - from }, out, err);
}
