/* Values that are redacted as soon as a project is loaded: literal values in its files, and variables that they name. */
#pragma once
#include "artifact/project.h"

/* Calls `add` with each credential that the files contain literally. Reads no variable. `listing`: leaves out values whose masking could hide
 * other text of the project; those are masked only at their own key. */
void secrets_literal(const Project *p, bool listing, void (*add)(void *ctx, Str value), void *ctx);
