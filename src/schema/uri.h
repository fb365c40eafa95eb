/* Resolution of references between schemas: RFC 3986, section 5. Does not validate or decode; splits any text. */
#pragma once
#include "base/arena.h"

Str uri_resolve(Str base, Str reference, Arena *arena);     /* resolves against `base`, keeps the fragment, removes dot segments */
void uri_split(Str uri, Str *document, Str *fragment);      /* at the first '#'; fragment.at is NULL if there is none */
bool uri_is_absolute(Str uri);                              /* true if it starts with a scheme */
Str uri_decode(Str text, Arena *arena);                     /* %41 becomes A; malformed escapes stay */
