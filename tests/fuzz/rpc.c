/* Lines parse the same however they are split. A valid message can be written and parses to the same message; an
 * invalid one has an error code for the response. */
#include <stdio.h>
#include <stdlib.h>
#include "base/utf8.h"
#include "mcp/wire/era.h"
#include "mcp/wire/rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "rpc: %s\n", what);
    abort();
}

static void write_message(const RpcMessage *m, Buf *out) {
    switch (m->kind) {
    case RPC_REQUEST: rpc_write_request(out, m->id, m->method, m->params); break;
    case RPC_NOTIFICATION: rpc_write_notification(out, m->method, m->params); break;
    case RPC_RESULT: rpc_write_result(out, m->id, m->result); break;
    case RPC_ERROR: rpc_write_error(out, m->id, (int)m->code, m->message, m->data); break;
    }
}

static void check_message(Str line) {
    Heap *h = heap_new(64 << 20);
    RpcMessage m, again;
    Error err = { 0 };
    int code = 0;
    Buf first = { 0 }, second = { 0 };
    if (!rpc_read(h, line, &m, &code, &err)) {
        check(code == RPC_PARSE || code == RPC_INVALID_REQUEST, "a failure has a code");
        check(err.msg[0] && utf8_valid(str_from(err.msg)), "a failure says why, in UTF-8");
        check(value_is_gone(m.id) || rpc_is_id(m.id), "an id that can be answered");
        rpc_write_error(&first, m.id, code, str_from(err.msg), VALUE_GONE);
        check(rpc_read(h, buf_str(&first), &again, &code, &err) && again.kind == RPC_ERROR, "the answer is a message");
    } else {
        check(m.kind == RPC_NOTIFICATION || m.kind == RPC_ERROR || rpc_is_id(m.id), "it has an id");
        write_message(&m, &first);
        check(!memchr(first.at, '\n', first.n), "one line");
        check(rpc_read(h, buf_str(&first), &again, &code, &err) && again.kind == m.kind && str_eq(again.method, m.method), "it can be read again");
        write_message(&again, &second);
        check(str_eq(buf_str(&first), buf_str(&second)), "it stays the same");
    }
    buf_clear(&first);
    buf_clear(&second);
    heap_free(h);
}

static void take(RpcLines *l, Str bytes, Buf *out, bool read) {
    Str line;
    Error err = { 0 };
    for (Feed fed = rpc_lines(l, bytes, &line, &err); fed == FEED_READY; fed = rpc_lines(l, STR(""), &line, &err)) {
        check(!memchr(line.at, '\n', line.n), "a line has no line break");
        buf_add(out, line);
        buf_add_char(out, '\n');
        if (read) check_message(line);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    size_t piece = 1 + data[0];
    Str all = { (const char *)data + 1, size - 1 };
    RpcLines whole = { 0 }, parts = { 0 };
    Buf a = { 0 }, b = { 0 };
    take(&whole, all, &a, true);
    take(&whole, STR("\n"), &a, true);
    for (size_t at = 0; at < all.n; at += piece) take(&parts, str_sub(all, at, at + piece), &b, false);
    take(&parts, STR("\n"), &b, false);
    check(str_eq(buf_str(&a), buf_str(&b)), "pieces read differently");
    buf_clear(&a);
    buf_clear(&b);
    rpc_lines_clear(&whole);
    rpc_lines_clear(&parts);
    return 0;
}
