/* Takes secrets out of text: known values (6 bytes or more, also as they look inside JSON, URLs, base64 and hexadecimal) and
 * patterns. Any thread; values and patterns may be added at any time. Text in which a pattern cannot be searched to the end
 * (steps, time) is withheld as a whole. */
#pragma once
#include "base/error.h"
#include "base/str.h"

typedef struct Redactor Redactor;

enum { REDACT_VALUE_MIN = 6 };           /* shorter ones would take ordinary words away */

Redactor *redact_new(void);
void redact_free(Redactor *r);
void redact_add_value(Redactor *r, Str secret);          /* copied; of a text of several lines each long one counts by itself too */
bool redact_add_pattern(Redactor *r, Str pattern, Error *err);
bool redact_text(Redactor *r, Buf *text);                /* in place; true when something was replaced by [redacted] */
void redact_chars(Redactor *r, char *text, size_t size);  /* the same where no more than `size` bytes have room: the rest is cut */
/* The same for the text of a JSON value, which stays one: strings are searched as what they stand for (so "\u0061" hides
 * nothing), a number becomes the string "[redacted]"; where a pattern reaches across strings, so does everything. Text that does
 * not start like JSON's {, [ or " is plain. */
bool redact_json(Redactor *r, Buf *text);
void redact_stream(void *redactor, Buf *text);            /* redact_json, as event_stream_redact wants it */
bool redact_would(Redactor *r, Str text);

/* Text that comes in pieces: what comes out is what redact_text would make of the whole, each part of it as soon as nothing that
 * may follow can change it. So only a tail that a secret may begin with waits; with patterns, which may begin anywhere, all of it. */
typedef struct RedactFeed { Redactor *r; Buf held; } RedactFeed;     /* { .r = … }, and redact_feed_end at the end */
void redact_feed(RedactFeed *f, Str piece, Buf *out);                /* adds to *out */
void redact_feed_end(RedactFeed *f, Buf *out);                       /* adds what waited; `f` is as at the start again */
bool redact_empty(const Redactor *r);                    /* nothing to look for: callers skip the work */
