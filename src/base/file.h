/* Reading whole files. */
#pragma once
#include "base/error.h"
#include "base/str.h"

/* Replaces what *out holds with the content of the regular file at `path`; leaves it alone on
 * failure. Anything but a regular file is an error that says what it is, and never blocks; a
 * file of more than `limit` bytes is ERR_LIMIT. "-" is a file name like any other. */
bool file_read(const char *path, size_t limit, Buf *out, Error *err);
