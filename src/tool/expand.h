/* ${NAME} in values of `environment`, `env` and `headers`: filled in when used, from the program's own environment. What comes
 * in is a secret from then on. */
#pragma once
#include "base/arena.h"
#include "policy/redact.h"
#include "value/value.h"

/* Appends "NAME=value" for each entry of a dict of strings (GONE: none); room for all of them must be there. */
bool expand_environment(Value map, Redactor *redactor, Arena *arena, const char **env, size_t *n, Error *err);
