/* Exact, fast, locale-independent conversion between text and double. */
#pragma once
#include "base/str.h"

enum { NUMBER_TEXT_SIZE = 32 };

/* Shortest decimal digits that read back as d: value = 0.d1d2d3… × 10^*point, no trailing zeros, at least one digit
 * ("0" with point 1 for zero). d must be finite and >= 0. */
size_t number_digits(double d, char digits[NUMBER_TEXT_SIZE], int *point);

/* Shortest JSON text of a finite d; always has '.' or an exponent: 1.0, 0.1, 1e+21, -0.0. */
size_t number_write_double(double d, char out[NUMBER_TEXT_SIZE]);

/* Correctly rounded value of decimal text: digits, optional '.', optional exponent, optional leading '-'. The caller
 * has checked that `s` has this form. Overflow gives ±infinity. */
double number_read_double(Str s);

size_t number_write_i64(int64_t i, char out[NUMBER_TEXT_SIZE]);
void number_add_i64(Buf *to, int64_t i);
