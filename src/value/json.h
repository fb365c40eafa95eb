/* JSON, strictly RFC 8259: read straight into values, written back byte for byte.
 *
 * Integers keep every digit; a number with '.' or an exponent is a float, and one that
 * overflows (1e400) is an error. Text must be valid UTF-8; "\ud800" alone is an error.
 * Errors say "json: line N: …" and carry line and column. */
#pragma once
#include "value/dict.h"
#include "value/places.h"

enum { JSON_DEPTH_MAX = 512 };

typedef struct JsonRead {           /* the zero value is the default */
    size_t max_bytes;               /* 0: no limit but the heap's */
    unsigned max_depth;             /* 0: JSON_DEPTH_MAX */
    bool reject_duplicates;         /* else the last of equal keys wins */
    Place start;                    /* where the text's first byte stands in a larger one; {0, 0} means 1:1 */
    Places *places;                 /* filled when not NULL */
    Dict *names;                    /* keys are interned here when not NULL (string_intern) */
    const struct JsonKeys *keys;    /* keys that are expected; NULL: none */
    const struct Cancel *cancel;    /* asked now and then when not NULL */
} JsonRead;

/* Keys that come in nearly every text: known ones need no String of their own. Any thread may use them. */
typedef struct JsonKeys JsonKeys;
JsonKeys *json_keys_new(const char *const *keys);          /* NULL ends them; must be valid UTF-8 without escapes. Values that were read live no longer than they do */
void json_keys_free(JsonKeys *k);

bool json_read(Heap *h, Str text, const JsonRead *options, Value *out, Error *err);

typedef struct JsonWrite {          /* the zero value: compact, keys in order, non-ASCII as it is */
    unsigned indent;                /* spaces a level, at most 64; 0: compact */
    bool sort_keys;                 /* by byte order of the UTF-8 text */
    bool html_safe;                 /* escapes < > & U+2028 U+2029, so the text may stand inside HTML or JavaScript */
    size_t max_bytes;               /* 0: no limit; else ERR_LIMIT */
    const struct Cancel *cancel;
} JsonWrite;

/* Appends to `out`. Fails on what has no JSON form (NaN, infinity, a function, bytes, a set, non-string keys,
 * invalid UTF-8, nesting or cycles beyond JSON_DEPTH_MAX); the message says what and where: "at .items[3].price: …".
 * On failure `out` is as long as it was before. Tuples and ranges are written as arrays. */
bool json_write(Buf *out, Value v, const JsonWrite *options, Error *err);
void json_write_string(Buf *out, Str s, bool html_safe);   /* quoted and escaped; invalid bytes become U+FFFD */
