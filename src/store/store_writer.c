/* Appends events to a run, with their hashes, and keeps the counts of its row. */
#include "store/store_private.h"
#include "value/dict.h"
#include "value/json.h"

/* The row of a run holds the hash of its last event. Reading it there, and not from the last event, makes the next event show that events were
 * removed from the end. */
bool store_writer_open(Store *s, Str run, StoreWriter *out, Error *err) {
    StoreQuery q = store_query(s, SQL_RUN_HEAD, "write events", err);
    bool some = false, ok = store_bind(&q, "s", run) && store_row(&q, &some);
    *out = (StoreWriter){ .id = run };
    store_event_first(run, out->hash);
    if (ok && some) {
        Str hash = store_text(&q, 1);
        out->n = store_int(&q, 0);
        if (hash.n == SHA256_BYTES) memcpy(out->hash, hash.at, SHA256_BYTES);
        if (s->driver->fence_events) ok = s->driver->fence_events(s, &q, out, err);
    }
    return store_end(&q, ok);
}

/* In US dollars. */
static double cost_of(Str data) {
    Heap *h = heap_new(0);
    Value v;
    Error err;
    double cost = 0;
    if (json_read(h, data, NULL, &v, &err) && value_is_dict(v)) {
        Value usd = value_member(value_member(v, "usage"), "usd");
        cost = value_is_float(usd) ? value_float(usd) : 0;
    }
    heap_free(h);
    return cost;
}

static void count(StoreWriter *w, const Event *e) {
    if (str_eq(e->type, STR("completion.completed"))) w->turns += e->depth == 0, w->cost += cost_of(e->data);
    w->calls += str_eq(e->type, STR("tool.started"));
}

bool store_writer_add(Store *s, StoreWriter *w, const Event *e, Error *err) {
    count(w, e);
    store_event_chain(e, w->hash, w->hash);
    w->last = e->seq;
    StoreQuery q = store_query(s, SQL_EVENT_PUT, "write events", err);
    return store_end(&q, store_bind(&q, "iississb", store_event_id(w->n, e->seq), e->time_ns, e->agent, e->parent, (int64_t)e->depth, e->type, e->data,
                                    (Str){ (const char *)w->hash, SHA256_BYTES }) && store_row(&q, &(bool){ 0 }));
}

bool store_writer_close(Store *s, const StoreWriter *w, Error *err) {
    if (s->driver->wrote) s->driver->wrote(s, w);
    StoreQuery q = store_query(s, SQL_RUN_GROW, "write events", err);
    return store_end(&q, store_bind(&q, "iiiibd", w->n, w->turns, w->calls, (int64_t)w->last, (Str){ (const char *)w->hash, SHA256_BYTES }, w->cost) &&
                             store_row(&q, &(bool){ 0 }));
}
