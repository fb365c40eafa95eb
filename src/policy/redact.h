/* Removes secrets from text: known values (6 bytes or more, also in their JSON, URL, base64 and hexadecimal encodings)
 * and patterns. Thread-safe; values and patterns may be added at any time. If a pattern search cannot be completed
 * (steps, time), the whole text is withheld. */
#pragma once
#include "base/error.h"
#include "base/str.h"

typedef struct Redactor Redactor;

enum { REDACT_VALUE_MIN = 6 };           /* shorter values would match ordinary words */

Redactor *redact_new(void);
void redact_free(Redactor *r);
void redact_add_value(Redactor *r, Str secret);          /* copies; also adds each long line of a multi-line secret */
bool redact_add_pattern(Redactor *r, Str pattern, Error *err);
bool redact_text(Redactor *r, Buf *text);                /* in place; true if something was replaced by [redacted] */
void redact_chars(Redactor *r, char *text, size_t size);  /* same for a buffer of `size` bytes: truncates the result */
/* The same for JSON text, which stays valid JSON: searches the decoded strings (so "\u0061" hides nothing) and replaces
 * a number by the string "[redacted]"; if a pattern matches across strings, replaces the whole text. Text that does not
 * start with {, [ or " is plain text. */
bool redact_json(Redactor *r, Buf *text);
void redact_stream(void *redactor, Buf *text);            /* redact_json with the signature of event_stream_redact */
bool redact_would(Redactor *r, Str text);

/* Redacts a stream. The output equals redact_text of the whole text; each part is released as soon as later input cannot change it. Without
 * patterns, only a tail that may be the beginning of a secret is held back. With patterns, which may match from anywhere, everything is held back
 * until the end. */
typedef struct RedactFeed { Redactor *r; Buf held; } RedactFeed;     /* { .r = … }; call redact_feed_end at the end */
void redact_feed(RedactFeed *f, Str piece, Buf *out);                /* appends to *out */
void redact_feed_end(RedactFeed *f, Buf *out);                       /* appends what was held back and resets `f` */
bool redact_empty(const Redactor *r);                    /* true if there is nothing to search for */
