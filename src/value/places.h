/* Source positions of keys and items, kept beside the values so that a later check can report them.
 * Keyed by container and entry index: a dict's entry in insertion order, a list's item. */
#pragma once
#include "value/value.h"

typedef struct { uint32_t line, column; } Place;          /* both from 1; column counts code points */
typedef struct Places Places;

Places *places_new(void);
void places_free(Places *p);
void places_put(Places *p, Value container, uint32_t index, Place key, Place value); /* list item: key is {0,0}; replaces */
void places_put_root(Places *p, Place root);
bool places_key(const Places *p, Value container, uint32_t index, Place *out);       /* position of the key */
bool places_value(const Places *p, Value container, uint32_t index, Place *out);     /* start of the value */
bool places_field(const Places *p, Value dict, Str key, Place *out);                 /* position of the key with that name */
Place places_root(const Places *p);
