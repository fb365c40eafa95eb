/* Paths as text. What may be opened is never decided here: sandbox/jail.h asks the kernel. */
#pragma once
#include "base/arena.h"

/* Absolute, without "//", "." and "..", by the text alone; "/" at least. For what need not exist. */
Str path_normal(Arena *arena, Str path);
