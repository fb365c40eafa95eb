/* References between schemas: RFC 3986, section 5. Nothing is checked or decoded; any text
 * is taken apart somehow. */
#pragma once
#include "base/arena.h"

Str uri_resolve(Str base, Str reference, Arena *arena);     /* against `base`, with its fragment; dots removed */
void uri_split(Str uri, Str *document, Str *fragment);      /* at the first '#'; fragment without it, .at NULL when there is none */
bool uri_is_absolute(Str uri);                              /* does it start with a scheme? */
Str uri_decode(Str text, Arena *arena);                     /* %41 is A; what is no such code stays */
