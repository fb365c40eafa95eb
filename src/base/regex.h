/* Regular expressions on PCRE2: UTF-8, compiled to machine code where the machine allows it.
 *
 * No pattern and no text can make a search run away: steps, memory and time are always
 * bounded, and passing a bound is ERR_LIMIT. A compiled Regex never changes, so any number
 * of threads may search with it at once; what a search needs for itself is kept per thread
 * (one pthread key, made once per process, is this room's only hidden state). */
#pragma once
#include "base/cancel.h"
#include "base/error.h"
#include "base/str.h"

typedef struct Regex Regex;

enum {
    REGEX_PATTERN_MAX = 1 << 16,         /* bytes of a pattern */
    REGEX_GROUPS_MAX = 1000,
    REGEX_STEPS_MAX = 1000000,           /* PCRE2's match limit, for one starting place */
    REGEX_HEAP_KIB = 16384,
    REGEX_TIME_MS = 2000,                /* of one search, checked between starting places */
};

enum {                                   /* flags */
    REGEX_IGNORE_CASE = 1,
    REGEX_MULTILINE = 2,                 /* ^ and $ match at line breaks too */
    REGEX_DOTALL = 4,                    /* . matches line breaks too */
    REGEX_ECMA = 8,                      /* JavaScript's dialect with the flag u, as JSON Schema asks for (base/regex_ecma.h) */
    REGEX_ANY_TEXT = 16,                 /* the text need not be UTF-8 and is not checked: what is not is never part of a match */
    REGEX_ANCHORED = 32,                 /* a match must begin where the search does */
};

/* NULL with ERR_PARSE "regular expression: at 5: missing closing parenthesis"; the number
 * counts code points from 1. What is not UTF-8 is ERR_PARSE, what is too large ERR_LIMIT. */
Regex *regex_new(Str pattern, unsigned flags, Error *err);
void regex_free(Regex *re);              /* NULL is fine */
size_t regex_groups(const Regex *re);    /* capturing groups, without the whole match */
bool regex_is_native(const Regex *re);   /* compiled to machine code; else a search with REGEX_ANY_TEXT checks the whole text each time */

/* Byte offsets of the whole match (0) and of each group; both REGEX_UNSET when a group took no part. */
typedef struct { size_t from, to; } RegexSpan;
#define REGEX_UNSET ((size_t)-1)

/* Searches from byte `start` (a character's first) on; fills up to n spans when found. Fails with ERR_LIMIT
 * "regular expression: too many steps", ERR_VALIDATION for text that is not UTF-8 (unless REGEX_ANY_TEXT), or as cancel_check does.
 * `cancel` may be NULL. */
bool regex_find(const Regex *re, Str text, size_t start, RegexSpan *spans, size_t n, Cancel *cancel, bool *found, Error *err);
/* The same for text that a search has found to be UTF-8 already: going on behind a match must not cost the whole text anew. */
bool regex_find_next(const Regex *re, Str text, size_t start, RegexSpan *spans, size_t n, Cancel *cancel, bool *found, Error *err);
bool regex_test(const Regex *re, Str text, bool *found, Error *err);   /* is there a match anywhere? */
