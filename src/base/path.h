/* Lexical path functions. Access checks are not done here: see sandbox/jail.h. */
#pragma once
#include "base/arena.h"

/* Absolute path without "//", "." and "..", computed lexically; at least "/". The path need not exist. */
Str path_normal(Arena *arena, Str path);
