/* URI templates, RFC 6570 level 1: {name} stands for a value whose other than unreserved characters are percent-encoded. */
#pragma once
#include "value/dict.h"

enum { URI_TEMPLATE_MAX = 8192 };        /* bytes of a URI that is looked at */

/* Does `uri` come from the template? Then *vars is a dict of its variables, decoded. Each variable takes at least one character and as
 * few as it can; a value that is not UTF-8, or has a NUL, is none. False without an error (err->kind stays) when it does not match. */
bool uri_template_match(Str pattern, Str uri, Heap *h, Value *vars, Error *err);
/* The variables in order, each once. *at moves through the template; start with 0. */
bool uri_template_next(Str pattern, size_t *at, Str *name);
/* A path as file:// URI. */
void uri_template_file(Buf *out, Str absolute);
