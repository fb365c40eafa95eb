/* A small shared dictionary whose values outlive calls: cache, ctx and metrics. Copies values in and out, so that it
 * never references a call's heap. Thread-safe. Bounded: ERR_LIMIT "cache is full (16 MiB)". */
#pragma once
#include "value/heap.h"

typedef struct Shelf Shelf;

Shelf *shelf_new(const char *noun, size_t max_bytes);       /* noun for messages; 0: 16 MiB */
void shelf_free(Shelf *s);
bool shelf_get(Shelf *s, Str key, Heap *heap, Value *out, Error *err);      /* GONE if absent */
bool shelf_set(Shelf *s, Str key, Value v, Error *err);                     /* fails for a value without a JSON form */
bool shelf_has(Shelf *s, Str key);
bool shelf_delete(Shelf *s, Str key);                                       /* true if the key existed */
void shelf_clear(Shelf *s);
bool shelf_add(Shelf *s, Str key, Value delta, Heap *heap, Value *now, Error *err);   /* numbers only; atomic */
bool shelf_snapshot(Shelf *s, Heap *heap, Value *out, Error *err);          /* a dict of everything, sorted by key */
bool shelf_restore(Shelf *s, Value dict, Error *err);
