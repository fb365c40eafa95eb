/* Assembles a reply from pieces. */
#include "model/provider.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/random.h"
#include "value/json.h"

enum { CALLS_MAX = 1024, NAME_MAX_BYTES = 512 };

void provider_route(const ModelDef *def, ModelRoute *out) {
    const char *key_env = project_provider_key(def->provider);
    Str base = def->base_url.n ? def->base_url : str_from(project_provider_url(def->provider));
    while (base.n && base.at[base.n - 1] == '/') base.n--;
    out->base = base;
    out->key_env = def->api_key_env.n ? def->api_key_env : str_from(key_env);
    out->needs_key = def->api_key_env.n > 0 || (key_env[0] && def->base_url.n == 0);
}

static void note_piece(ProviderDraft *d, ModelPiece piece) {
    ModelReply *r = d->reply;
    if (piece.kind != PIECE_CALL && r->order.n && VEC_LAST(&r->order).kind == piece.kind) VEC_LAST(&r->order).bytes += piece.bytes;
    else VEC_PUSH(&r->order, piece);
}

void provider_text(ProviderDraft *d, Str piece) {
    if (piece.n == 0) return;
    note_piece(d, (ModelPiece){ PIECE_TEXT, piece.n });
    d->reply->text.limit = PROVIDER_REPLY_MAX;
    buf_add(&d->reply->text, piece);
    if (d->request->on_text) d->request->on_text(d->request->ctx, piece);
}

void provider_reasoning(ProviderDraft *d, Str piece) {
    if (piece.n == 0) return;
    note_piece(d, (ModelPiece){ PIECE_REASONING, piece.n });
    d->reply->reasoning.limit = PROVIDER_REPLY_MAX;
    buf_add(&d->reply->reasoning, piece);
    if (d->request->on_reasoning) d->request->on_reasoning(d->request->ctx, piece);
}

ProviderCall *provider_call(ProviderDraft *d, int64_t index, Error *err) {
    for (size_t i = d->n; i-- > 0;)
        if (d->calls[i].index == index) return &d->calls[i];
    if (d->n == CALLS_MAX) {
        error_set(err, ERR_PROVIDER, "too many tool calls in one reply (limit %d)", CALLS_MAX);
        return NULL;
    }
    if (d->n == d->cap) {
        d->cap = d->cap ? 2 * d->cap : 4;
        d->calls = mem_resize(d->calls, d->cap, sizeof *d->calls);
    }
    note_piece(d, (ModelPiece){ .kind = PIECE_CALL });
    d->calls[d->n] = (ProviderCall){ .index = index, .id = { .limit = NAME_MAX_BYTES }, .name = { .limit = NAME_MAX_BYTES },
        .arguments = { .limit = PROVIDER_REPLY_MAX },
                                        .extra = { .limit = PROVIDER_REPLY_MAX } };
    return &d->calls[d->n++];
}

static bool id_taken(const ProviderDraft *d, size_t n, Str id) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(buf_str(&d->calls[i].id), id)) return true;
    return false;
}

/* Replaces a missing or duplicate id, which would pair a result with the wrong call. Items received verbatim contain the old id, so they cannot be
 * sent back with the results; wires that build the items themselves do so after this. */
static void settle_id(ProviderDraft *d, size_t i) {
    Buf *id = &d->calls[i].id;
    if (id->n == 0 || id_taken(d, i, buf_str(id))) buf_reset(&d->reply->items);
    while (id->n == 0 || id_taken(d, i, buf_str(id))) {
        buf_reset(id);
        buf_add_fmt(id, "call_%016llx", (unsigned long long)random_u64());
    }
}

/* Keeps empty arguments empty: only the tool knows whether it needs any. If the reply was cut off before the arguments,
 * writes text that does not parse. */
static bool add_call(ProviderDraft *d, List *list, const ProviderCall *c, bool cut, Error *err) {
    Heap *h = d->reply->heap;
    Dict *one = dict_new(h, 3, err);
    Str arguments = str_trim(buf_str(&c->arguments)), none = cut ? STR("{") : c->object ? STR("{}") : STR("");
    return one && dict_put_text(h, one, "id", buf_str(&c->id), err) && dict_put_text(h, one, "name", buf_str(&c->name), err)
        && dict_put_text(h, one, "arguments", arguments.n ? arguments : none, err) && list_push(h, list, value_from_object(one), err);
}

bool provider_finish(ProviderDraft *d, Error *err) {
    ModelReply *r = d->reply;
    if (r->text.full || r->reasoning.full || r->items.full) return error_set(err, ERR_PROVIDER, "the answer is larger than %zu bytes", PROVIDER_REPLY_MAX);
    if (!r->heap) r->heap = heap_new(2 * PROVIDER_REPLY_MAX);
    List *list = list_new(r->heap, d->n, err);
    if (!list) return false;
    r->truncated = strcmp(r->finish_reason, "length") == 0;
    for (size_t i = 0; i < d->n; i++) {
        if (d->calls[i].name.full) return error_set(err, ERR_PROVIDER, "the reply has a tool call whose name is longer than %d bytes", NAME_MAX_BYTES);
        if (d->calls[i].name.n == 0) return error_set(err, ERR_PROVIDER, "the reply has a tool call without a name");
        if (d->calls[i].arguments.full) return error_set(err, ERR_PROVIDER, "a tool call's arguments are larger than %zu bytes", PROVIDER_REPLY_MAX);
        settle_id(d, i);
        if (!add_call(d, list, &d->calls[i], r->truncated && i + 1 == d->n, err)) return false;
    }
    r->tool_calls = value_from_object(list);
    return strcmp(r->finish_reason, "content_filter") != 0 || error_set(err, ERR_PROVIDER, "the provider's content filter stopped the answer");
}

bool model_reply_parts(const ModelReply *r, Heap *heap, List **out, Error *err) {
    static const char *const types[] = { [PIECE_TEXT] = "text", [PIECE_REASONING] = "reasoning", [PIECE_CALL] = "call" };
    List *order = list_new(heap, r->order.n, err);
    for (size_t i = 0; order && i < r->order.n; i++) {
        const ModelPiece *p = &r->order.at[i];
        Dict *d = dict_new(heap, 2, err);
        if (!d || !dict_put_text(heap, d, "type", str_from(types[p->kind]), err)
            || !dict_put_str(heap, d, STR("bytes"), value_from_small((int64_t)p->bytes), err)
            || !list_push(heap, order, value_from_object(d), err)) return false;
    }
    return order && parts_read_order(heap, value_from_object(order), buf_str(&r->reasoning), buf_str(&r->text), r->tool_calls, out, err);
}

void provider_draft_clear(ProviderDraft *d) {
    for (size_t i = 0; i < d->n; i++) {
        buf_clear(&d->calls[i].id);
        buf_clear(&d->calls[i].name);
        buf_clear(&d->calls[i].arguments);
        buf_clear(&d->calls[i].extra);
    }
    free(d->calls);
}
