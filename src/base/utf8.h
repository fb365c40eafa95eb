/* Strict UTF-8: no surrogates, no overlong forms, nothing above U+10FFFF. */
#pragma once
#include "base/str.h"

/* Length of the longest valid prefix; equal to s.n when all of it is valid. */
size_t utf8_valid_prefix(Str s);
static inline bool utf8_valid(Str s) { return utf8_valid_prefix(s) == s.n; }

/* Decodes the code point at the start of s (s.n > 0) and sets its length. Invalid input: *length is 1 and the result is
 * U+FFFD. */
uint32_t utf8_decode(Str s, size_t *length);
size_t utf8_encode(uint32_t codepoint, char out[4]);   /* codepoint must be a scalar value */
/* Controls, and characters that reorder or hide text: bidirectional marks, zero-width and
 * blank ones, tags, byte-order marks. */
bool utf8_is_deceptive(uint32_t codepoint);
/* Adds the text with deceptive characters as \u{…} and invalid bytes as \x…; `keep_lines`: newlines and tabs stay. Without it
 * the result is one line, whatever a file is called. */
void utf8_escape(Str text, bool keep_lines, Buf *out);
size_t utf8_count(Str s);                              /* code points; an invalid byte counts as one */
