/* The inside of string and number literals. */
#pragma once
#include "base/str.h"

typedef struct LiteralForm { bool raw, bytes; } LiteralForm;
enum { LITERAL_WHY_SIZE = 160 };

/* Appends what the text between the quotes stands for; on failure says why in the words of
 * the error message. */
bool literal_unescape(Str body, LiteralForm form, Buf *out, char why[LITERAL_WHY_SIZE]);

/* The number at the start of s, which starts with a digit, or with "." and a digit. `error`, if not NULL, is
 * about its end or its start (at_end). */
typedef struct LiteralNumber {
    size_t length;
    int base;
    bool is_float, old_octal, at_end;
    const char *error;
} LiteralNumber;
LiteralNumber literal_scan_number(Str s);

/* The value of float text as scanned above; false when it is out of range or its exponent
 * has no digits. */
bool literal_float(Str s, Buf *scratch, double *out);
