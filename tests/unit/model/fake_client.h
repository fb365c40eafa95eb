/* An HTTP client that responds from memory, in pieces of any size. It replaces net/client.c, so include it in only one
 * file of a program. */
#pragma once
#include "model/model.h"
#include "net/client.h"

static struct FakeAnswer { Str bytes; size_t piece; int status; bool lost; int asked; Buf request; } fake;

Client *client_new(void) { return NULL; }
void client_free(Client *c) { (void)c; }
Resolver *client_resolver(Client *c) { return (void)c, NULL; }
Str client_header(const ClientResponse *r, Str name) { return (void)r, (void)name, STR(""); }
void client_response_clear(ClientResponse *r) { buf_clear(&r->body); }

/* Like the real client, keeps the body of a response with a status other than 2xx. */
bool client_send(Client *c, const ClientRequest *request, Cancel *cancel, ClientResponse *out, Error *err) {
    (void)c;
    (void)cancel;
    fake.asked++;
    buf_reset(&fake.request);
    buf_add(&fake.request, request->body);
    out->status = fake.status ? fake.status : 200;
    if (out->status > 299) return buf_add(&out->body, fake.bytes), true;
    for (size_t at = 0; at < fake.bytes.n; at += fake.piece)
        if (!request->on_data(request->ctx, str_sub(fake.bytes, at, at + fake.piece), err)) return false;
    return !fake.lost || error_set(err, ERR_IO, "connection lost");
}

/* One attempt of a model of this provider, whose server responds with `bytes`; "responses" is the second wire format of openai. */
static inline bool fake_complete(Str provider, Str bytes, size_t piece, Heap *heap, ModelReply *reply, Error *err) {
    List *messages = list_new(heap, 1, NULL), *tools = list_new(heap, 1, NULL);
    ModelDef def = { .provider = project_provider_find(provider), .name = STR("m"), .base_url = STR("http://local"),
        .temperature = VALUE_GONE, .top_p = VALUE_GONE,
                     .retry = VALUE_GONE, .headers = VALUE_GONE, .price = VALUE_GONE };
    if (str_eq(provider, STR("responses"))) {
        def.provider = PROVIDER_OPENAI;
        def.wire = provider;
    }
    Dict *retry = dict_new(heap, 1, NULL);
    dict_put_str(heap, retry, STR("max_attempts"), value_from_small(1), NULL);
    def.retry = value_from_object(retry);
    Model *m;
    fake.bytes = bytes;
    fake.piece = piece;
    if (!model_open(NULL, &def, &(ModelEnv){ 0 }, &m, err)) return false;
    bool ok = model_complete(m, &(ModelRequest){ .messages = value_from_object(messages), .tools = value_from_object(tools) }, NULL, reply, err);
    model_free(m);
    return ok;
}
