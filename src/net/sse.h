/* Server-sent events (text/event-stream): an incremental reader. Lines may end in LF, CRLF or CR. Skips a BOM at the start
 * and comments. Invalid UTF-8 becomes U+FFFD; a character may be split between two feeds.
 *
 *     Feed fed = sse_feed(r, bytes, &event, &err);
 *     for (; fed == FEED_READY; fed = sse_feed(r, STR(""), &event, &err)) use(&event); */
#pragma once
#include "base/error.h"
#include "base/feed.h"
#include "base/str.h"

typedef struct SseReader SseReader;

typedef struct SseEvent {                /* borrowed from the reader until the next call */
    Str type;                            /* "message" if the event names none */
    Str data;                            /* lines joined by LF */
    Str id;                              /* the last one seen so far in the stream; "" when none */
} SseEvent;

enum { SSE_EVENT_MAX = 16 << 20 };

SseReader *sse_new(size_t max_event);    /* bytes of one event and of one line; 0: SSE_EVENT_MAX */
void sse_free(SseReader *r);             /* NULL is fine */
/* Consumes all bytes. FEED_READY: one event; call again with no bytes for the next. FEED_MORE: no complete event.
 * FEED_BAD: ERR_LIMIT, an event is too long; the reader stays in this state. A partial event at end of stream is
 * discarded. */
Feed sse_feed(SseReader *r, Str bytes, SseEvent *out, Error *err);
/* Reconnection delay in milliseconds last requested by the server; -1: none. */
int64_t sse_retry_ms(const SseReader *r);
Str sse_last_id(const SseReader *r);     /* for Last-Event-ID: last id read; borrowed until the next call */
