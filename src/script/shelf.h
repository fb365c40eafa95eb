/* A small shared dictionary with values that outlive calls: cache, ctx and metrics. Values are copied in and out, so no
 * call's heap is ever referred to from here. Any thread. Bounded: ERR_LIMIT "cache is full (16 MiB)". */
#pragma once
#include "value/heap.h"

typedef struct Shelf Shelf;

Shelf *shelf_new(const char *noun, size_t max_bytes);       /* noun for messages; 0: 16 MiB */
void shelf_free(Shelf *s);
bool shelf_get(Shelf *s, Str key, Heap *heap, Value *out, Error *err);      /* GONE when absent */
bool shelf_set(Shelf *s, Str key, Value v, Error *err);                     /* what has no JSON form is an error */
bool shelf_has(Shelf *s, Str key);
bool shelf_delete(Shelf *s, Str key);                                       /* was it there? */
void shelf_clear(Shelf *s);
bool shelf_add(Shelf *s, Str key, Value delta, Heap *heap, Value *now, Error *err);   /* numbers, in one step */
bool shelf_snapshot(Shelf *s, Heap *heap, Value *out, Error *err);          /* a dict of everything, sorted by key */
bool shelf_restore(Shelf *s, Value dict, Error *err);
