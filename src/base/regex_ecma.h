/* JavaScript's regular expressions (ECMA-262 with the flag u) in PCRE2's words.
 *
 * Differences that are translated: \d \w \b are ASCII while \s knows Unicode's spaces; `.`
 * stops at four line breaks; [] and [^]; \cX, \u1234, \u{1F600} and surrogate pairs;
 * \p{Letter}, \p{Script=Greek}, \p{gc=Lu}; \k<name>; `[` inside a class. What JavaScript
 * does not have is refused: \A \Q (?#…) (?P<x>) (?i) a++ (*VERB).
 * Looser than the flag u, as patterns in the wild are: any punctuation may be escaped, and
 * { } ] may stand for themselves. */
#pragma once
#include "base/error.h"
#include "base/str.h"

/* Appends the PCRE2 form of `pattern` (valid UTF-8) to `out`, or only checks it when `out` is NULL. Fails with ERR_PARSE,
 * "at 5: …", counting code points from 1. */
bool regex_ecma_translate(Str pattern, Buf *out, Error *err);
