/* Reads whole files, and writes all bytes. */
#pragma once
#include "base/error.h"
#include "base/str.h"

/* Replaces the content of *out with that of the regular file at `path`; unchanged on failure. Other file types are an
 * error that names the type, and never block; a file of more than `limit` bytes is ERR_LIMIT. "-" has no special
 * meaning. */
bool file_read(const char *path, size_t limit, Buf *out, Error *err);
/* Writes all bytes to an open file. False: errno says why; some may have been written. */
bool file_write(int fd, Str bytes);
