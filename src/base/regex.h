/* Regular expressions on PCRE2: UTF-8, JIT-compiled where supported.
 *
 * Steps, memory and time of a search are limited; exceeding a limit is ERR_LIMIT. A compiled Regex does not change, so
 * any number of threads may use it; working memory is per thread (one pthread key per process is the only hidden
 * state). */
#pragma once
#include "base/cancel.h"
#include "base/error.h"
#include "base/str.h"

typedef struct Regex Regex;

enum {
    REGEX_PATTERN_MAX = 1 << 16,         /* bytes of a pattern */
    REGEX_GROUPS_MAX = 1000,
    REGEX_STEPS_MAX = 1000000,           /* PCRE2's match limit, per starting position */
    REGEX_HEAP_KIB = 16384,
    REGEX_TIME_MS = 2000,                /* of one search, checked between starting positions */
};

enum {                                   /* flags */
    REGEX_IGNORE_CASE = 1,
    REGEX_MULTILINE = 2,                 /* ^ and $ match at line breaks too */
    REGEX_DOTALL = 4,                    /* . matches line breaks too */
    REGEX_ECMA = 8,                      /* JavaScript's dialect with the flag u, as required by JSON Schema
                                          * (base/regex_ecma.h) */
    REGEX_ANY_TEXT = 16,                 /* do not validate the text as UTF-8: invalid bytes are never part of a
                                          * match */
    REGEX_ANCHORED = 32,                 /* a match must start where the search does */
};

/* NULL with ERR_PARSE "regular expression: at 5: missing closing parenthesis"; the number counts code points from 1.
 * Invalid UTF-8 is ERR_PARSE, an oversized pattern ERR_LIMIT. */
Regex *regex_new(Str pattern, unsigned flags, Error *err);
void regex_free(Regex *re);              /* NULL is fine */
size_t regex_groups(const Regex *re);    /* capturing groups, without the whole match */
bool regex_is_native(const Regex *re);   /* JIT-compiled; else a search with REGEX_ANY_TEXT validates the whole text
                                          * each time */

/* Byte offsets of the whole match (0) and of each group; both REGEX_UNSET for a group that did not participate. */
typedef struct { size_t from, to; } RegexSpan;
#define REGEX_UNSET ((size_t)-1)

/* Searches from byte `start` (the first of a character); fills up to n spans when found. Fails with ERR_LIMIT "regular
 * expression: too many steps", ERR_VALIDATION for invalid UTF-8 (unless REGEX_ANY_TEXT), or as cancel_check does.
 * `cancel` may be NULL. */
bool regex_find(const Regex *re, Str text, size_t start, RegexSpan *spans, size_t n, Cancel *cancel, bool *found, Error *err);
/* The same for text already validated by an earlier search, so that repeated matches do not validate it again. */
bool regex_find_next(const Regex *re, Str text, size_t start, RegexSpan *spans, size_t n, Cancel *cancel, bool *found, Error *err);
bool regex_test(const Regex *re, Str text, bool *found, Error *err);   /* true if there is a match anywhere */
