/* A virtual machine with its heap for tests of natives. Values are written as JSON and results compared as
 * Starlark text. */
#pragma once
#include "unit.h"
#include "starlark/vm/repr.h"
#include "value/json.h"

typedef struct { Heap *heap; Vm *vm; Buf text; } Bench;

static inline Bench bench_new(size_t limit) {
    Bench b = { .heap = heap_new(limit) };
    b.vm = vm_new(b.heap, &(VmConfig){ 0 });
    return b;
}

static inline void bench_free(Bench *b) {
    vm_free(b->vm);
    heap_free(b->heap);
    buf_clear(&b->text);
}

static inline Value bench_json(Bench *b, const char *json) {
    Value v;
    Error err = { 0 };
    if (!json_read(b->heap, str_from(json), NULL, &v, &err)) fail_msg("%s: %s", json, err.msg);
    return v;
}

static inline Value bench_string(Bench *b, const char *s) {
    Error err = { 0 };
    return value_from_object(string_new(b->heap, str_from(s), &err));
}

static inline Value bench_tuple(Bench *b, Value list) {
    Error err = { 0 };
    return value_from_object(tuple_from(b->heap, value_list(list)->at, value_list(list)->n, &err));
}

static inline const char *bench_repr(Bench *b, Value v) {
    Error err = { 0 };
    buf_reset(&b->text);
    if (!repr_value(b->vm, &b->text, v, &err)) fail_msg("%s", err.msg);
    return buf_str(&b->text).at;
}

/* Prints the case, so that a failure in a table can be found. */
static inline void bench_expect(const char *what, const char *got, const char *want) {
    if (strcmp(got, want) == 0) return;
    fail_msg("%s\n   got %s\n  want %s", what, got, want);
}
