/* Expands ${NAME} in values of `environment`, `env` and `headers` from the process's environment when they are used.
 * Expanded values are redacted as secrets. */
#pragma once
#include "base/arena.h"
#include "policy/redact.h"
#include "value/value.h"

/* Appends "NAME=value" for each entry of a dict of strings (GONE: none); the array must be large enough. */
bool expand_environment(Value map, Redactor *redactor, Arena *arena, const char **env, size_t *n, Error *err);
