/* Translates JavaScript's regular expressions (ECMA-262 with the flag u) to PCRE2.
 *
 * Differences handled: \d \w \b are ASCII while \s matches Unicode spaces; `.` stops at four line terminators; [] and
 * [^]; \cX, \u1234, \u{1F600} and surrogate pairs; \p{Letter}, \p{Script=Greek}, \p{gc=Lu}; \k<name>; `[` inside a
 * class. Rejects what JavaScript does not have: \A \Q (?#…) (?P<x>) (?i) a++ (*VERB). Looser than the flag u, as
 * existing patterns require: any punctuation may be escaped, and { } ] may be literal. */
#pragma once
#include "base/error.h"
#include "base/str.h"

/* Appends the PCRE2 form of `pattern` (valid UTF-8) to `out`, or only checks it when `out` is NULL. Fails with ERR_PARSE,
 * "at 5: …", counting code points from 1. */
bool regex_ecma_translate(Str pattern, Buf *out, Error *err);
