/* The values that are redacted from the moment a project is loaded: what its files say literally, and variables that they name. */
#pragma once
#include "artifact/project.h"

/* Calls `add` with each credential that the files contain literally. Reads no variable. */
void secrets_literal(const Project *p, void (*add)(void *ctx, Str value), void *ctx);
