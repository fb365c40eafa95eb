/* The head of a proxy request parses the same whole or in pieces. The forwarded head must be valid for a strict parser,
 * for the same host, without hop-by-hop headers; and the body must be the same in pieces. */
#include <stdio.h>
#include <stdlib.h>
#include "net/proxy_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "proxy_head: %s\n", what);
    abort();
}

static Feed feed_in_pieces(ProxyHead *h, Str all, size_t piece, Error *err) {
    Feed fed = FEED_MORE;
    for (size_t at = 0; fed == FEED_MORE && at < all.n; at += piece) fed = proxy_head_feed(h, str_sub(all, at, at + piece), err);
    return fed;
}

static size_t count_headers(Str head) {
    size_t lines = 0;
    for (ptrdiff_t end; (end = str_find(head, STR("\r\n"))) >= 0; lines++) head = str_sub(head, (size_t)end + 2, head.n);
    return lines - 2;                                  /* without the request line and the blank line */
}

/* Parses "GET /x HTTP/1.1 …" as a client would have sent it to a proxy. With the added Host and Connection it may
 * exceed a limit. */
static void read_again(const ProxyHead *h) {
    Str forward = buf_str(&h->forward);
    ProxyHead again = { 0 };
    Error err = { 0 };
    Buf text = { 0 };
    ptrdiff_t space = str_find_char(forward, ' ');
    check(str_ends(forward, STR("\r\nConnection: close\r\n\r\n")) && space > 0, "the head sent on is whole");
    check(str_find(str_sub(forward, 0, forward.n - 4), STR("\r\n\r\n")) < 0, "the head sent on is one");
    if (forward.at[space + 1] == '*') return;
    buf_add(&text, str_sub(forward, 0, (size_t)space + 1));
    buf_add(&text, STR("http://"));
    target_authority(&h->target, 80, &text);
    buf_add(&text, str_sub(forward, (size_t)space + 1, forward.n));
    check(count_headers(forward) <= PROXY_HEADERS_MAX + 2, "no other headers are added");
    if (text.n <= PROXY_HEAD_MAX && count_headers(forward) <= PROXY_HEADERS_MAX) {
        check(proxy_head_feed(&again, buf_str(&text), &err) == FEED_READY, err.msg);
        check(strcmp(again.target.host, h->target.host) == 0 && again.target.port == h->target.port, "the same host");
        check(again.chunked == h->chunked && again.length == h->length, "the same body");
        check(str_eq(buf_str(&again.forward), forward), "sent on once more it is the same");
    }
    proxy_head_clear(&again);
    buf_clear(&text);
}

static void read_body(const ProxyHead *h) {
    ProxyBody whole, parts;
    size_t used = 0, sum = 0, piece = 0;
    Feed fed = FEED_MORE;
    proxy_body_start(&whole, h);
    proxy_body_start(&parts, h);
    Feed expected = proxy_body_feed(&whole, h->rest, &used);
    check(expected == FEED_BAD || used <= h->rest.n, "no more than there is");
    if (h->rest.n == 0) return;
    for (size_t at = 0; fed == FEED_MORE && at < h->rest.n; at++) {
        fed = proxy_body_feed(&parts, str_sub(h->rest, at, at + 1), &piece);
        sum += fed == FEED_BAD ? 0 : piece;
    }
    check(fed == expected && (fed == FEED_BAD || sum == used), "the same body in pieces");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    Str all = { (const char *)data + 1, size - 1 };
    ProxyHead whole = { 0 }, parts = { 0 };
    Error err = { 0 }, ignored = { 0 };
    Feed fed = proxy_head_feed(&whole, all, &err);
    Feed in_parts = feed_in_pieces(&parts, all, 1 + data[0], &ignored);
    if (all.n <= PROXY_HEAD_MAX) check(fed == in_parts, "the same in pieces");
    if (fed == FEED_BAD) {
        check(err.kind == ERR_PROTOCOL || err.kind == ERR_LIMIT, "a kind");
        for (const char *c = err.msg; *c; c++) check((unsigned char)*c >= 0x20 && *c != 0x7f, "one plain line");
    } else if (fed == FEED_READY && !whole.connect) {
        check(in_parts != FEED_READY || str_eq(buf_str(&whole.forward), buf_str(&parts.forward)), "the same head sent on");
        read_again(&whole);
        read_body(&whole);
    }
    proxy_head_clear(&whole);
    proxy_head_clear(&parts);
    return 0;
}
