/* Implements the built-in tool `edit`: exact replacement, and errors that show where to look. */
#pragma once
#include "base/error.h"
#include "base/str.h"

typedef struct EditText { Str old_string, new_string; bool replace_all; } EditText;

/* Writes `text` with old_string replaced to *out (emptied first) and counts the replacements. Fails with ERR_VALIDATION:
 *   old_string is empty; old_string and new_string are the same;
 *   old_string was not found; the nearest text is at lines 12-14: … ;
 *   old_string is ambiguous: it occurs 3 times, at lines 4, 9 and 21.
 * The message is one or more lines of valid UTF-8. The text may be any bytes; they are preserved. */
bool edit_text_replace(Str text, const EditText *edit, Buf *out, size_t *count, Error *err);
