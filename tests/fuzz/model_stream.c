/* The response of a model's server parses the same however it is split, and never crashes: first byte wire, second byte
 * size of a piece. Items are a JSON list, whatever the server sent. */
#include <stdio.h>
#include <stdlib.h>
#include "../unit/model/fake_client.h"
#include "base/utf8.h"
#include "model/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The reply or the error as text, without ids, because missing ones are random. */
static void read_reply(Str provider, Str bytes, size_t piece, Buf *out) {
    Heap *h = heap_new((size_t)64 << 20);
    ModelReply reply = { 0 };
    Error err = { 0 };
    if (fake_complete(provider, bytes, piece, h, &reply, &err)) {
        const List *calls = value_list(reply.tool_calls);
        buf_add_fmt(out, "%s %lld %lld ", reply.finish_reason, (long long)reply.usage.input, (long long)reply.usage.output);
        buf_add(out, buf_str(&reply.text));
        buf_add(out, buf_str(&reply.reasoning));
        Value items;
        if (reply.items.n && !(json_read(h, buf_str(&reply.items), NULL, &items, NULL) && value_is_list(items))) abort();
        if (reply.usage.input < 0 || reply.usage.output < 0 || !utf8_valid(buf_str(&reply.text))) abort();
        for (uint32_t i = 0; i < calls->n; i++) {
            buf_add(out, value_member_text(calls->at[i], "name"));
            buf_add(out, value_member_text(calls->at[i], "arguments"));
            for (uint32_t k = 0; k < i; k++)
                if (str_eq(value_member_text(calls->at[i], "id"), value_member_text(calls->at[k], "id"))) abort();
        }
    } else {
        if (err.kind == ERR_NONE || !err.msg[0]) abort();
        buf_add(out, str_from(error_kind_name(err.kind)));
    }
    model_reply_clear(&reply);
    heap_free(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    static const char *const wires[] = { "openai", "anthropic", "responses" };
    Str provider = str_from(wires[data[0] % 3]), bytes = { (const char *)data + 2, size - 2 };
    Buf whole = { 0 }, parts = { 0 };
    read_reply(provider, bytes, bytes.n + 1, &whole);
    read_reply(provider, bytes, 1 + data[1], &parts);
    if (!str_eq(buf_str(&whole), buf_str(&parts))) {
        fprintf(stderr, "pieces of %d: \"" STR_FMT "\" != \"" STR_FMT "\"\n", 1 + data[1], STR_ARG(buf_str(&parts)), STR_ARG(buf_str(&whole)));
        abort();
    }
    buf_clear(&whole);
    buf_clear(&parts);
    return 0;
}
