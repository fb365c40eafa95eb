/* An event stream parses the same however it is split; the output is UTF-8. */
#include <stdio.h>
#include <stdlib.h>
#include "base/utf8.h"
#include "net/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Feed take(SseReader *r, Str bytes, Buf *out) {
    SseEvent e;
    Error err = { 0 };
    Feed fed = sse_feed(r, bytes, &e, &err);
    for (; fed == FEED_READY; fed = sse_feed(r, STR(""), &e, &err)) {
        if (!utf8_valid(e.data) || !utf8_valid(e.type) || !utf8_valid(e.id) || e.type.n == 0) abort();
        buf_add(out, e.type);
        buf_add_char(out, 0);
        buf_add(out, e.data);
        buf_add_char(out, 0);
        buf_add(out, e.id);
        buf_add_char(out, 0);
    }
    if (fed == FEED_BAD && err.kind != ERR_LIMIT) abort();
    return fed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    size_t piece = 1 + data[0], max = data[1] ? (size_t)data[1] * 16 : 0;
    Str all = { (const char *)data + 2, size - 2 };
    SseReader *whole = sse_new(max), *parts = sse_new(max);
    Buf a = { 0 }, b = { 0 };
    Feed first = take(whole, all, &a), second = FEED_MORE;
    for (size_t at = 0; at < all.n && second != FEED_BAD; at += piece) second = take(parts, str_sub(all, at, at + piece), &b);
    if (first != second || !str_eq(buf_str(&a), buf_str(&b)) || sse_retry_ms(whole) != sse_retry_ms(parts)) {
        fprintf(stderr, "sse: pieces of %zu read differently\n", piece);
        abort();
    }
    buf_clear(&a);
    buf_clear(&b);
    sse_free(whole);
    sse_free(parts);
    return 0;
}
