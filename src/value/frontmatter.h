/* A file that starts with a line "---", then YAML, then a line "---", then a body.
 * A byte-order mark, "\r\n" and spaces or tabs after the dashes are accepted. */
#pragma once
#include "base/error.h"
#include "base/str.h"

typedef struct Frontmatter { Str yaml, body; uint32_t yaml_line, body_line; } Frontmatter;  /* slices of the text; lines from 1 */

/* Fails with "missing frontmatter delimiter". */
bool frontmatter_split(Str text, Frontmatter *out, Error *err);
