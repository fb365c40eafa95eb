/* Server-sent events (text/event-stream), as a reader that is fed. Lines may end in LF, CRLF or CR; a BOM at the start and
 * comments are skipped; bytes that are not UTF-8 become U+FFFD, also when a character is cut in two.
 *
 *     Feed fed = sse_feed(r, bytes, &event, &err);
 *     for (; fed == FEED_READY; fed = sse_feed(r, STR(""), &event, &err)) use(&event); */
#pragma once
#include "base/error.h"
#include "base/feed.h"
#include "base/str.h"

typedef struct SseReader SseReader;

typedef struct SseEvent {                /* borrowed from the reader until the next call */
    Str type;                            /* "message" when none was named */
    Str data;                            /* lines joined by LF */
    Str id;                              /* the last one seen so far in the stream; "" when none */
} SseEvent;

enum { SSE_EVENT_MAX = 16 << 20 };

SseReader *sse_new(size_t max_event);    /* bytes of one event and of one line; 0: SSE_EVENT_MAX */
void sse_free(SseReader *r);             /* NULL is fine */
/* Takes all bytes. FEED_READY: one event; ask again with no bytes for the next. FEED_MORE: no event is complete. FEED_BAD:
 * ERR_LIMIT, an event is too long; the reader stays bad. What is unfinished when the stream ends is no event. */
Feed sse_feed(SseReader *r, Str bytes, SseEvent *out, Error *err);
/* Milliseconds to wait before connecting again, as the server last asked for; -1: it did not. */
int64_t sse_retry_ms(const SseReader *r);
Str sse_last_id(const SseReader *r);     /* for Last-Event-ID: of all that was read; borrowed until the next call */
