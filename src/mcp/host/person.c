/* Implements Person for a request: questions, progress and log messages go to its client. */
#include <pthread.h>
#include "mcp/host/host_private.h"
#include "mcp/host/input.h"
#include "mcp/host/input_ask.h"

/* State of one request, in its heap. Asks one question at a time, since a request can be parked only once. */
typedef struct RequestWay { InputWay way; McpRequest *q; pthread_mutex_t asking; } RequestWay;

static bool ask(InputWay *w, InputAsk *asks, size_t n, Heap *h, Cancel *cancel, Error *err) {
    RequestWay *r = (RequestWay *)w;
    pthread_mutex_lock(&r->asking);
    bool ok = serve_input_ask(r->q, asks, n, h, cancel, err);
    pthread_mutex_unlock(&r->asking);
    return ok;
}

static bool offered(InputWay *w, InputKind kind) { return serve_input_offered(((RequestWay *)w)->q, kind); }

/* If the call fails for lack of an answer, the error names the capability that the client would need. */
static void note_missing(RequestWay *r, const HostAsk *asks, size_t n) {
    Error err;
    for (size_t i = 0; i < n; i++) {
        bool sample = asks[i].kind == HOST_ASK_SAMPLE;
        if (asks[i].kind == HOST_ASK_ROOTS || offered(&r->way, sample ? INPUT_SAMPLE : INPUT_ELICIT)) continue;
        pthread_mutex_lock(&r->asking);
        serve_missing_capability(r->q, sample ? "sampling" : "elicitation", &err);
        pthread_mutex_unlock(&r->asking);
    }
}

/* Forms have lists since 2025-11-25. */
static bool form_fits(McpVersion v, const HostAsk *a, Error *err) {
    Value *fields = a->kind == HOST_ASK_FORM && value_is_dict(a->schema) ? dict_find_str(value_dict(a->schema), STR("properties")) : NULL;
    Entry *e;
    if (v >= MCP_2025_11_25 || !fields || !value_is_dict(*fields)) return true;
    for (uint32_t i = 0; dict_next(value_dict(*fields), &i, &e);) {
        Value *type = value_is_dict(e->value) ? dict_find_str(value_dict(e->value), STR("type")) : NULL;
        if (type && value_is_string(*type) && str_eq(value_str(*type), STR("array")))
            return error_set(err, ERR_SCRIPT, "field \"" STR_FMT "\" is a list: the client speaks " STR_FMT ", whose forms have no lists",
                             STR_ARG(value_str(e->key)), STR_ARG(mcp_version_date(v)));
    }
    return true;
}

static bool inquire(void *ctx, HostAsk *asks, size_t n, Heap *heap, Cancel *cancel, Error *err) {
    for (size_t i = 0; i < n; i++)
        if (!form_fits(((RequestWay *)ctx)->q->version, &asks[i], err)) return false;
    note_missing(ctx, asks, n);
    return input_inquire(ctx, asks, n, heap, cancel, err);
}

static ConfirmAnswer confirm(void *ctx, const ConfirmQuestion *question, Cancel *cancel) { return input_confirm(ctx, question, cancel); }

static void progress(void *ctx, Str call_id, Value done, Value total, Str message) {
    McpRequest *q = ((RequestWay *)ctx)->q;
    Heap *h = heap_new(0);
    Error err;
    (void)call_id;
    Dict *d = value_is_gone(q->progress) ? NULL : dict_new(h, 4, &err);
    bool ok = d && dict_put_str(h, d, STR("progressToken"), q->progress, &err) && dict_put_str(h, d, STR("progress"), done, &err);
    if (ok && !value_is_gone(total) && !value_is_none(total)) ok = dict_put_str(h, d, STR("total"), total, &err);
    if (ok && message.n && q->version >= MCP_2025_03_26) ok = dict_put_text(h, d, "message", message, &err);
    if (ok) serve_notify(q, STR("notifications/progress"), value_from_object(d));
    heap_free(h);
}

static void tell(void *ctx, LogLevel level, Str source, Str message) { serve_log(((RequestWay *)ctx)->q, level, source, message); }

Person serve_person(McpRequest *q) {
    MEM_UNSET Error err;
    RequestWay *r = heap_buffer(q->heap, sizeof *r, &err);
    if (!r) return (Person){ 0 };
    *r = (RequestWay){ .way = { .ask = ask, .offered = offered }, .q = q };
    pthread_mutex_init(&r->asking, NULL);
    /* A client without forms cannot confirm anything: no user is present. */
    return (Person){ .confirm = serve_input_offered(q, INPUT_ELICIT) ? confirm : NULL, .inquire = inquire, .progress = progress, .log = tell,
                     .forms = serve_input_offered(q, INPUT_ELICIT),
                     .away = !q->peer->config.one_link, .apart = true, .source = "elicitation", .ctx = r };
}
