/* Paged lists, and the cache of lists with a TTL. */
#include "base/clock.h"
#include "base/vec.h"
#include "mcp/remote/client_private.h"
#include "value/int.h"

enum { KEEP_MAX_MS = 3600000, KEPT_BYTES_MAX = 4 << 20 };

static ClientKept *kept_of(McpClient *c, Str method) {
    for (size_t i = 0; i < sizeof c->kept / sizeof *c->kept; i++)
        if (str_eq(c->kept[i].method, method)) return &c->kept[i];
    return NULL;
}

void client_list_forget(McpClient *c, Str method) {
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < sizeof c->kept / sizeof *c->kept; i++)
        if (!method.n || str_eq(c->kept[i].method, method)) c->kept[i].until_ns = 0;
    pthread_mutex_unlock(&c->lock);
}

static bool from_kept(McpClient *c, Str method, Heap *heap, List **out) {
    Value v = VALUE_GONE;
    Error err;
    bool ok = false;
    pthread_mutex_lock(&c->lock);
    ClientKept *k = kept_of(c, method);
    if (k && k->until_ns > clock_mono_ns()) ok = json_read(heap, buf_str(&k->json), &(JsonRead){ 0 }, &v, &err) && value_is_list(v);
    pthread_mutex_unlock(&c->lock);
    if (ok) *out = value_list(v);
    return ok;
}

/* Method names are string literals, so they outlive the client. */
static void keep(McpClient *c, Str method, const List *list, int64_t ms) {
    Error err;
    if (ms <= 0) return;
    pthread_mutex_lock(&c->lock);
    ClientKept *k = kept_of(c, method);
    if (!k) k = kept_of(c, (Str){ 0 });
    if (k) {
        k->method = method;
        buf_reset(&k->json);
        bool ok = json_write(&k->json, value_from_object(list), &(JsonWrite){ .max_bytes = KEPT_BYTES_MAX }, &err);
        k->until_ns = ok ? clock_mono_ns() + (ms < KEEP_MAX_MS ? ms : KEEP_MAX_MS) * 1000000 : 0;
    }
    pthread_mutex_unlock(&c->lock);
}

static bool add_page(McpClient *c, Heap *heap, Value page, Str method, Str member, List *all, Error *err) {
    Value *items = dict_find_str(value_dict(page), member);
    if (!items || !value_is_list(*items))
        return error_set(err, ERR_PROTOCOL, "server " STR_FMT ": the response to " STR_FMT " has no list of " STR_FMT, STR_ARG(c->config.server->name),
                         STR_ARG(method), STR_ARG(member));
    for (uint32_t i = 0; i < value_list(*items)->n; i++)
        if (!vec_limit(all->n, MCP_ENTRIES_MAX, "entries in one list", err) || !list_push(heap, all, value_list(*items)->at[i], err)) return false;
    return true;
}

static int64_t page_ms(Value page) {
    Value v = value_member(page, "ttlMs");
    int64_t ms;
    return value_is_int(v) && int_to_i64(v, &ms) && ms > 0 ? ms : 0;
}

static bool pages(McpClient *c, Str method, Str member, Cancel *cancel, Heap *heap, List *all, int64_t *ms, Error *err) {
    Value params = VALUE_GONE, page;
    size_t before = heap_stats(heap).used;
    *ms = INT64_MAX;
    for (int i = 0; i < MCP_PAGES_MAX; i++) {
        bool sent;
        if (!mcp_client_request(c, method, params, NULL, cancel, heap, &page, &sent, err) || !add_page(c, heap, page, method, member, all, err)) return false;
        if (page_ms(page) < *ms) *ms = page_ms(page);
        Value next = value_member(page, "nextCursor");
        if (!value_is_string(next)) return true;
        if (!client_gathered(c, heap, before, err)) return false;
        Dict *d = dict_new(heap, 1, err);
        if (!d || !dict_put_str(heap, d, STR("cursor"), next, err)) return false;
        params = value_from_object(d);
    }
    return error_set(err, ERR_LIMIT, "server " STR_FMT ": " STR_FMT " has more than %d pages", STR_ARG(c->config.server->name), STR_ARG(method), MCP_PAGES_MAX);
}

bool mcp_client_list(McpClient *c, Str method, Str member, Cancel *cancel, Heap *heap, List **out, Error *err) {
    int64_t ms = 0;
    bool tools = str_eq(method, STR("tools/list"));
    if (from_kept(c, method, heap, out)) return true;
    List *all = list_new(heap, 16, err);
    if (!all || !pages(c, method, member, cancel, heap, all, &ms, err)) return false;
    if (tools && c->config.server->url.n && !client_headers_note(c, all, err)) return false;
    keep(c, method, all, ms);
    *out = all;
    return true;
}
