/* A JSON reader for streams, as a second opinion on json_read: the outcome must not depend on how a text is split. */
#pragma once
#include "base/feed.h"
#include "value/json.h"

/* Reads a stream of documents that arrives in pieces (newline-delimited or just concatenated). Feed bytes; take
 * documents; what is left stays inside. FEED_MORE: nothing complete yet. FEED_READY: *out is one document, call
 * again with no bytes for the next. FEED_BAD: err says why, with the line counted over the whole stream; the reader has skipped to the end
 * of the bad line and may be used on. A number or literal at the very end is complete only after json_feed_end. */
typedef struct JsonFeed JsonFeed;
JsonFeed *json_feed_new(const JsonRead *options);          /* options->max_bytes bounds one document (default 16 MiB) and so the memory */
void json_feed_free(JsonFeed *f);
Feed json_feed(JsonFeed *f, Heap *h, Str bytes, Value *out, Error *err);
Feed json_feed_end(JsonFeed *f, Heap *h, Value *out, Error *err); /* FEED_MORE: nothing was left */
