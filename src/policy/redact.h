/* Takes secrets out of text: known values (6 bytes or more, also as they look inside JSON, URLs and base64) and patterns. Any thread;
 * values may be added at any time. */
#pragma once
#include "base/error.h"
#include "base/str.h"

typedef struct Redactor Redactor;

Redactor *redact_new(void);
void redact_free(Redactor *r);
void redact_add_value(Redactor *r, Str secret);
bool redact_add_pattern(Redactor *r, Str pattern, Error *err);
bool redact_text(Redactor *r, Buf *text);                /* in place; true when something was replaced by [redacted] */
bool redact_would(Redactor *r, Str text);
bool redact_empty(const Redactor *r);                    /* nothing to look for: callers skip the work */
