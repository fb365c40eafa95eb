/* Unified differences of two texts, by lines, as `diff -u` prints them. */
#pragma once
#include "base/str.h"

typedef struct DiffStyle {
    const char *from, *to;              /* names in the two header lines; NULL: no header lines */
    size_t context;                     /* lines around a change */
} DiffStyle;

/* Appends to `out`; nothing when the texts are equal. A text that does not end in a line break gets the line
 * "\ No newline at end of file". `style` NULL: no header, 3 lines of context. The result always turns `a` into `b`; it is the
 * shortest one unless the texts differ in very many lines, where finding that would take too long. */
void diff_unified(Str a, Str b, const DiffStyle *style, Buf *out);
