/* The values that are redacted from the moment a project is loaded: what its files say literally, and variables that they name. */
#pragma once
#include "artifact/project.h"

typedef struct SecretSink { void (*add)(void *ctx, Str value); void *ctx; } SecretSink;

/* What the files say literally. Reads no variable. */
void secrets_literal(const Project *p, const SecretSink *to);
