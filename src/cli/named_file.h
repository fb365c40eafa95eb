/* Writes a file that the user named on the command line, by the rule for all of them (sandbox/named.h): never a protected file, never through a link
 * that a tool could have made. */
#pragma once
#include <sys/types.h>
#include "artifact/project.h"

/* Replaces what the file held. `flag` is for messages: "--html". */
bool named_file_write(const Project *p, const char *flag, const char *path, mode_t mode, Str text, Error *err);
