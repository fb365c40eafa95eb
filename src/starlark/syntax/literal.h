/* The contents of string and number literals. */
#pragma once
#include "base/str.h"

typedef struct LiteralForm { bool raw, bytes; } LiteralForm;
enum { LITERAL_WHY_SIZE = 160 };

/* Appends the value of the text between the quotes; on failure writes the error message to
 * `why`. */
bool literal_unescape(Str body, LiteralForm form, Buf *out, char why[LITERAL_WHY_SIZE]);

/* The number at the start of s, which starts with a digit, or with "." and a digit. `error`, if not NULL,
 * refers to its end (at_end) or its start. */
typedef struct LiteralNumber {
    size_t length;
    int base;
    bool is_float, old_octal, at_end;
    const char *error;
} LiteralNumber;
LiteralNumber literal_scan_number(Str s);

/* Converts float text scanned by the above; false if it is out of range or its exponent has no
 * digits. */
bool literal_float(Str s, Buf *scratch, double *out);
