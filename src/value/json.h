/* JSON, strictly RFC 8259: parses directly into values and serializes them.
 *
 * Integers keep every digit. A number with '.' or an exponent is a float; one that overflows
 * (1e400) is an error. Text must be valid UTF-8; a lone "\ud800" is an error. Errors say "json:
 * line N: …" and carry line and column. */
#pragma once
#include "value/dict.h"
#include "value/places.h"

enum { JSON_DEPTH_MAX = 512 };

typedef struct JsonRead {           /* the zero value is the default */
    size_t max_bytes;               /* 0: limited by the heap only */
    unsigned max_depth;             /* 0: JSON_DEPTH_MAX */
    bool reject_duplicates;         /* else the last of equal keys wins */
    Places *places;                 /* filled when not NULL */
    Dict *names;                    /* keys are interned here when not NULL (string_intern) */
    const struct JsonKeys *keys;    /* keys that are expected; NULL: none */
    const struct Cancel *cancel;    /* asked now and then when not NULL */
} JsonRead;

/* Keys that occur in nearly every text; the reader allocates no String for them. Thread-safe. */
typedef struct JsonKeys JsonKeys;
/* `keys` is NULL-terminated, valid UTF-8 without escapes. Must outlive all values read with it. */
JsonKeys *json_keys_new(const char *const *keys);
void json_keys_free(JsonKeys *k);

bool json_read(Heap *h, Str text, const JsonRead *options, Value *out, Error *err);

typedef struct JsonWrite {          /* zero means: compact, keys in order, non-ASCII unescaped */
    unsigned indent;                /* spaces a level, at most 64; 0: compact */
    bool sort_keys;                 /* by byte order of the UTF-8 text */
    bool html_safe;                 /* escapes < > & U+2028 U+2029 for use inside HTML or JavaScript */
    size_t max_bytes;               /* 0: no limit; else ERR_LIMIT */
    const struct Cancel *cancel;
} JsonWrite;

/* Appends to `out`. Fails on values without a JSON form (NaN, infinity, a function, bytes, a set, non-string keys,
 * invalid UTF-8, nesting or cycles beyond JSON_DEPTH_MAX). The message has the path: "at .items[3].price: …". On
 * failure truncates `out` to its previous length. Writes tuples and ranges as arrays. */
bool json_write(Buf *out, Value v, const JsonWrite *options, Error *err);
void json_write_string(Buf *out, Str s, bool html_safe);   /* quoted and escaped; invalid bytes become U+FFFD */
