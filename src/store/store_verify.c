/* The chain of hashes of a run's events, and the check of stored events against it. */
#include "store/store_private.h"

void store_event_first(Str run, uint8_t out[SHA256_BYTES]) {
    Buf about = { 0 };
    buf_add_fmt(&about, "run:" STR_FMT, STR_ARG(run));
    store_chain_first(buf_str(&about), out);
    buf_clear(&about);
}

void store_event_chain(const Event *e, const uint8_t previous[SHA256_BYTES], uint8_t out[SHA256_BYTES]) {
    StoreChain c;
    store_chain_begin(&c, previous);
    store_chain_int(&c, (int64_t)e->seq);
    store_chain_int(&c, e->time_ns);
    store_chain_text(&c, e->agent);
    store_chain_text(&c, e->parent);
    store_chain_int(&c, e->depth);
    store_chain_text(&c, e->type);
    store_chain_text(&c, e->data);
    store_chain_end(&c, out);
}

/* `hash` is the one stored with the last event that has one; `seq` is the number of the last event. */
typedef struct Check {
    StoreChecked *out;
    bool (*each)(void *ctx, const StoreBreak *b);
    void *ctx;
    uint8_t hash[SHA256_BYTES];
    uint64_t seq;
    bool chained;
} Check;

static void report(Check *c, StoreBreakKind kind, uint64_t from, uint64_t to) {
    c->out->breaks++;
    c->each(c->ctx, &(StoreBreak){ kind, from, to });
}

static void check_event(Check *c, const Event *e, Str stored) {
    uint8_t right[SHA256_BYTES];
    c->out->events++;
    if (stored.n != SHA256_BYTES) {
        if (c->chained) report(c, STORE_BREAK_INSERTED, e->seq, e->seq);
        else c->out->unchained++;
    } else {
        store_event_chain(e, c->hash, right);
        if (memcmp(right, stored.at, SHA256_BYTES) != 0) {
            if (e->seq > c->seq + 1) report(c, STORE_BREAK_REMOVED, c->seq + 1, e->seq - 1);
            else report(c, STORE_BREAK_CHANGED, e->seq, e->seq);
        }
        memcpy(c->hash, stored.at, SHA256_BYTES);
        c->chained = true;
    }
    c->seq = e->seq;
}

static void check_end(Check *c, uint64_t last, Str hash) {
    bool headed = hash.n == SHA256_BYTES;
    if (!headed && !c->chained) return;
    if (headed && c->seq < last) report(c, STORE_BREAK_REMOVED, c->seq + 1, last);
    else if (headed && c->seq > last) report(c, STORE_BREAK_INSERTED, last + 1, c->seq);
    else if (!headed || memcmp(c->hash, hash.at, SHA256_BYTES) != 0) report(c, STORE_BREAK_HEAD, c->seq, c->seq);
}

static bool check_one(void *ctx, const Event *e, Str hash) { return check_event(ctx, e, hash), true; }

static bool verify(Store *s, Str run, Check *c, Error *err) {
    StoreQuery q = store_query(s, SQL_RUN_VERIFY, "verify run", err);
    bool some = false, ok = store_bind(&q, "s", run) && store_row(&q, &some);
    if (ok && !some) ok = store_no_such("run", run, err);
    store_event_first(run, c->hash);
    int64_t n = ok ? store_int(&q, 0) : 0;
    if (ok && store_event_walk(s, store_event_id(n, 0), store_event_id(n, UINT32_MAX), "verify run", check_one, c, err)) {
        Str hash = store_text(&q, 2);
        check_end(c, (uint64_t)store_int(&q, 1), hash);
        if (hash.n == SHA256_BYTES) memcpy(c->out->hash, hash.at, SHA256_BYTES);
        c->out->chained = c->chained || hash.n == SHA256_BYTES;
    } else ok = false;
    return store_end(&q, ok);
}

/* In one transaction, because the run may be writing events. */
bool store_run_verify(Store *s, Str run, StoreChecked *out, bool (*each)(void *ctx, const StoreBreak *b), void *ctx, Error *err) {
    Check c = { .out = out, .each = each, .ctx = ctx };
    *out = (StoreChecked){ 0 };
    if (!store_flush(s, err)) return false;
    store_lock(s);
    StoreQuery begin = store_query(s, SQL_BEGIN_READ, "verify run", err);
    bool ok = store_run(&begin);
    if (ok) ok = store_commit(s, verify(s, run, &c, err), "verify run", err);
    return store_unlock(s, ok);
}

bool store_event_strays(Store *s, uint64_t *n, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_EVENT_STRAYS, "verify runs", err);
    bool some = false, ok = store_row(&q, &some);
    if (ok && some) *n = (uint64_t)store_int(&q, 0);
    return store_unlock(s, store_end(&q, ok));
}
