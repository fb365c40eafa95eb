/* A map from strings to pointers, in insertion order. Keys are borrowed: they must outlive
 * the table (literals, arena strings). Not thread-safe. */
#pragma once
#include "base/str.h"

typedef struct { Str key; void *value; uint32_t hash; } TableEntry;
typedef struct { TableEntry *entry; uint32_t *slot; size_t n, cap; uint32_t slots; } Table;  /* zero-initialise */

void *table_get(const Table *t, Str key);              /* NULL when absent */
bool table_has(const Table *t, Str key);
void *table_put(Table *t, Str key, void *value);       /* returns the value it replaced, or NULL */
void table_clear(Table *t);                            /* frees the table, not keys or values */
