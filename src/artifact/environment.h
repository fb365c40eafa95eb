/* Expands ${NAME} in values of `environment`, `env` and `headers` when they are used. */
#pragma once
#include "base/error.h"
#include "base/str.h"

/* Appends `text` with every ${NAME} replaced by that variable of this process; $${ is a literal ${. An unset variable
 * fails with ERR_CONFIG naming it. Calls `secret` (may be NULL) with each expanded value, because it counts as a
 * secret. */
bool environment_expand(Str text, Buf *out, void (*secret)(void *ctx, Str value), void *ctx, Error *err);
/* Calls `secret` with the value of every variable that `text` names and that is set. Expands nothing. */
void environment_values(Str text, void (*secret)(void *ctx, Str value), void *ctx);
