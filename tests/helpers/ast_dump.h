#pragma once
#include "starlark/syntax/ast.h"

/* Appends the tree as text, e.g. (assign = x (+ 1 (call f y))): for tests and debugging. After
 * resolving, names carry their scope and index with `scopes`: x@local0, len@universal. */
void ast_dump(const AstModule *m, bool scopes, Buf *out);
