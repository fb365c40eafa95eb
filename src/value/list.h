/* Lists are mutable; tuples are not. A list that is being iterated (busy > 0) or frozen rejects changes with
 * starlark-go's messages: "cannot append to frozen list", "cannot insert into list during iteration". */
#pragma once
#include "value/heap.h"

typedef struct List { Object obj; uint32_t n, cap; Value *at; uint32_t busy; uint32_t pad; } List;
typedef struct Tuple { Object obj; uint32_t n; uint32_t pad; Value at[]; } Tuple;
#define LIST_MAX ((size_t)1 << 28)

List *list_new(Heap *h, size_t cap, Error *err);
List *list_from(Heap *h, const Value *v, size_t n, Error *err);
bool list_check_mutable(const List *l, const char *verb, Error *err);   /* verb as in "append to" */
bool list_reserve(Heap *h, List *l, size_t more, Error *err);
bool list_push(Heap *h, List *l, Value v, Error *err);                  /* checks mutability */
bool list_insert(Heap *h, List *l, size_t i, Value v, Error *err);      /* i <= n */
bool list_remove_at(List *l, size_t i, Value *out, Error *err);         /* i < n; out may be NULL */
bool list_clear(List *l, Error *err);

Tuple *tuple_room(Heap *h, size_t n, Error *err);                       /* the caller must fill it before the next collection */
Tuple *tuple_new(Heap *h, size_t n, Error *err);                        /* filled with None */
Tuple *tuple_from(Heap *h, const Value *v, size_t n, Error *err);

static inline bool value_is_list(Value v) { return value_is(v, OBJECT_LIST); }
static inline bool value_is_tuple(Value v) { return value_is(v, OBJECT_TUPLE); }
static inline List *value_list(Value v) { assert(value_is_list(v)); return (List *)value_object(v); }
static inline Tuple *value_tuple(Value v) { assert(value_is_tuple(v)); return (Tuple *)value_object(v); }
