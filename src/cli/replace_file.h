/* Replaces a file whole or not at all. */
#pragma once
#include <sys/types.h>
#include "base/error.h"
#include "base/str.h"

/* Keeps mode and owner of an existing file; a new one has `mode`. A link is replaced: pass the path that it leads to. */
bool replace_file(const char *path, Str text, mode_t mode, Error *err);
