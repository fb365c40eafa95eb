/* Parsers for what a client of the proxy sends: the head of its request, and the end of its body. Both are fed
 * (FEED_MORE: all bytes consumed, more needed).
 *
 * Strict: lines end in CRLF, no folded lines, one Host that agrees with the URL, Content-Length or chunked and never
 * both. One request per connection: the forwarded request says "Connection: close" and ends with its body, so that no
 * second request can be smuggled in. */
#pragma once
#include "base/feed.h"
#include "net/target.h"

enum { PROXY_HEAD_MAX = 64 << 10, PROXY_HEADERS_MAX = 200 };

typedef struct ProxyHead {               /* zero-initialise, proxy_head_clear at the end */
    Buf bytes;
    size_t scanned;
    /* once FEED_READY */
    bool connect;                        /* CONNECT, else plain HTTP */
    Target target;
    Buf forward;                         /* plain: the head to forward */
    Str rest;                            /* what followed the head, in `bytes` */
    bool chunked;
    uint64_t length;                     /* of the body, unless chunked */
} ProxyHead;

/* FEED_BAD: ERR_LIMIT over PROXY_HEAD_MAX, else ERR_PROTOCOL. */
Feed proxy_head_feed(ProxyHead *h, Str bytes, Error *err);
void proxy_head_clear(ProxyHead *h);

typedef struct ProxyBody { bool chunked; int step; unsigned digits; uint64_t left; } ProxyBody;

void proxy_body_start(ProxyBody *b, const ProxyHead *h);
/* FEED_READY: the body ends after *used of these bytes. */
Feed proxy_body_feed(ProxyBody *b, Str bytes, size_t *used);
