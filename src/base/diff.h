/* Unified diff of two texts by lines, in the format of `diff -u`. */
#pragma once
#include "base/str.h"

typedef struct DiffStyle {
    const char *from, *to;              /* names in the two header lines; NULL: no header lines */
    size_t context;                     /* lines around a change */
} DiffStyle;

/* Appends to `out`; nothing when the texts are equal. A text without a final line break gets the line "\ No newline at
 * end of file". `style` NULL: no header, 3 lines of context. The result always turns `a` into `b`; it is the shortest
 * possible unless the texts differ in very many lines. */
void diff_unified(Str a, Str b, const DiffStyle *style, Buf *out);
