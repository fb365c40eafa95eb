/* URI templates, RFC 6570 level 1: {name} expands to a value with all but unreserved characters percent-encoded. */
#pragma once
#include "value/dict.h"

enum { URI_TEMPLATE_MAX = 8192 };        /* maximum length of a URI */

/* Matches `uri` against the template; *vars is then a dict of its decoded variables. Each variable takes at least one
 * character and as few as possible; a value that is not UTF-8 or contains a NUL does not match. False without an error
 * (err->kind unchanged) if it does not match. */
bool uri_template_match(Str pattern, Str uri, Heap *h, Value *vars, Error *err);
/* Iterates over the variables in order, each once. Start with *at = 0. */
bool uri_template_next(Str pattern, size_t *at, Str *name);
/* A path as file:// URI. */
void uri_template_file(Buf *out, Str absolute);
