#include "store/store_decision.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "store/store_chain.h"
#include "store/store_private.h"

enum { TEXTS = 11, HASH_COLUMN = 13, INPUT_COLUMN };
#define CHAIN STR("decisions")

void store_decision_wait(Store *s, int ms) { s->driver->wait(s, ms); }

static void texts_of(const StoreDecision *d, Str out[TEXTS]) {
    const Str all[TEXTS] = { d->vendor, d->session, d->call, d->event, d->tool, d->vendor_tool, d->subject, d->verdict, d->rule, d->reason, d->root };
    memcpy(out, all, sizeof all);
}

/* Rows without an input have the hash that they had before the column existed. */
static void hash_row(const uint8_t previous[SHA256_BYTES], int64_t n, int64_t time_ns, const Str texts[TEXTS], Str input, uint8_t out[SHA256_BYTES]) {
    StoreChain c;
    store_chain_begin(&c, previous);
    store_chain_int(&c, n);
    store_chain_int(&c, time_ns);
    for (int i = 0; i < TEXTS; i++) store_chain_text(&c, texts[i]);
    if (input.n) store_chain_text(&c, input);
    store_chain_end(&c, out);
}

static void hex(const uint8_t hash[SHA256_BYTES], char out[2 * SHA256_BYTES + 1]) {
    for (int i = 0; i < SHA256_BYTES; i++) snprintf(out + 2 * i, 3, "%02x", hash[i]);
}

/* A long text is stored as its digest. */
static Str shorten(Str s, Arena *arena) {
    uint8_t digest[SHA256_BYTES];
    char text[2 * SHA256_BYTES + 1];
    if (s.n <= STORE_DECISION_TEXT_MAX) return s;
    sha256_of(s, digest);
    hex(digest, text);
    return str_from(arena_fmt(arena, "sha256:%s (%zu bytes)", text, s.n));
}

static bool has_table(Store *s, bool *out, Error *err) {
    StoreQuery q = store_query(s, SQL_DECISION_TABLE, "read decisions", err);
    return store_end(&q, store_row(&q, out));
}

static bool is_stored(Store *s, const StoreDecision *d, bool *out, Error *err) {
    StoreQuery q = store_query(s, SQL_DECISION_STORED, "write decision", err);
    bool ok = store_bind(&q, "ssss", d->vendor, d->session, d->call, d->event) && store_row(&q, out);
    return store_end(&q, ok);
}

static bool last_row(Store *s, int64_t *n, uint8_t hash[SHA256_BYTES], Error *err) {
    StoreQuery q = store_query(s, SQL_DECISION_LAST, "write decision", err);
    bool some = false, ok = store_row(&q, &some);
    *n = 0;
    store_chain_first(CHAIN, hash);
    if (ok && some) {
        Str stored = store_text(&q, 1);
        *n = store_int(&q, 0);
        if (stored.n == SHA256_BYTES) memcpy(hash, stored.at, SHA256_BYTES);
    }
    return store_end(&q, ok);
}

/* The number and hash of the last row, so that rows removed at the end are noticed. */
static bool put_head(Store *s, int64_t n, const uint8_t hash[SHA256_BYTES], Error *err) {
    char text[32 + 2 * SHA256_BYTES + 1], digits[2 * SHA256_BYTES + 1];
    hex(hash, digits);
    snprintf(text, sizeof text, "%lld %s", (long long)n, digits);
    StoreQuery q = store_query(s, SQL_NOTE_PUT, "write decision", err);
    return store_end(&q, store_bind(&q, "sss", CHAIN, STR("head"), str_from(text)) && store_row(&q, &(bool){ false }));
}

static bool insert(Store *s, const StoreDecision *d, Error *err) {
    Arena arena = { 0 };
    uint8_t hash[SHA256_BYTES], next[SHA256_BYTES];
    int64_t n = 0, now = clock_wall_ns();
    Str t[TEXTS], input = d->input.at ? d->input : STR("");
    texts_of(d, t);
    for (int i = 0; i < TEXTS; i++) t[i] = shorten(t[i], &arena);
    bool ok = last_row(s, &n, hash, err);
    if (ok) {
        hash_row(hash, ++n, now, t, input, next);
        StoreQuery q = store_query(s, SQL_DECISION_PUT, "write decision", err);
        ok = store_bind(&q, "iisssssssssssbs", n, now, t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], (Str){ (char *)next, SHA256_BYTES },
                        input) &&
             store_row(&q, &(bool){ false });
        ok = store_end(&q, ok) && put_head(s, n, next, err);
    }
    arena_clear(&arena);
    return ok;
}

bool store_decision_put(Store *s, const StoreDecision *d, bool *fresh, Error *err) {
    bool there = false, table = false;
    store_lock(s);
    if (!store_begin_alone(s, "write decision", err)) return store_unlock(s, false);
    bool ok = has_table(s, &table, err) && (table || s->driver->make_decisions(s, err)) && is_stored(s, d, &there, err) &&
              (there || insert(s, d, err));
    ok = store_commit(s, ok, "write decision", err);
    if (ok) *fresh = !there;
    return store_unlock(s, ok);
}

bool store_decision_last(Store *s, int64_t *n, uint8_t hash[SHA256_BYTES], Error *err) {
    bool table = false;
    *n = 0;
    store_lock(s);
    bool ok = has_table(s, &table, err) && (!table || last_row(s, n, hash, err));
    if (!table) store_chain_first(CHAIN, hash);
    return store_unlock(s, ok);
}

bool store_decision_hash(Store *s, int64_t n, uint8_t hash[SHA256_BYTES], bool *found, Error *err) {
    bool table = false, some = false;
    *found = false;
    store_lock(s);
    if (!has_table(s, &table, err)) return store_unlock(s, false);
    if (!table) return store_unlock(s, true);
    StoreQuery q = store_query(s, SQL_DECISION_HASH, "read decisions", err);
    bool ok = store_bind(&q, "i", n) && store_row(&q, &some);
    if (ok && some && store_text(&q, 0).n == SHA256_BYTES) {
        memcpy(hash, store_text(&q, 0).at, SHA256_BYTES);
        *found = true;
    }
    return store_unlock(s, store_end(&q, ok));
}

static void read_row(const StoreQuery *q, StoreDecision *d) {
    Str t[TEXTS];
    for (int i = 0; i < TEXTS; i++) t[i] = store_text(q, i + 2);
    *d = (StoreDecision){ .n = store_int(q, 0), .time_ns = store_int(q, 1), .vendor = t[0], .session = t[1], .call = t[2], .event = t[3], .tool = t[4],
                          .vendor_tool = t[5], .subject = t[6], .verdict = t[7], .rule = t[8], .reason = t[9], .root = t[10],
                          .input = store_text(q, INPUT_COLUMN) };
}

bool store_decision_each(Store *s, int64_t after, bool (*each)(void *ctx, const StoreDecision *d), void *ctx, Error *err) {
    bool table = false, some = true;
    store_lock(s);
    if (!has_table(s, &table, err)) return store_unlock(s, false);
    if (!table) return store_unlock(s, true);
    StoreQuery q = store_query(s, SQL_DECISION_EACH, "read decisions", err);
    bool ok = store_bind(&q, "i", after);
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        StoreDecision d;
        read_row(&q, &d);
        some = each(ctx, &d);
    }
    return store_unlock(s, store_end(&q, ok));
}

typedef struct Checking { StoreDecisionCheck *out; int64_t n; StoreDecisionEach *each; void *ctx; } Checking;

static void fault(Checking *c, StoreDecisionFault what, int64_t from, int64_t to) {
    c->out->faults++;
    if (c->each) c->each(c->ctx, what, from, to);
}

static void check_row(Checking *c, const StoreQuery *q) {
    StoreDecision d;
    Str t[TEXTS], stored = store_text(q, HASH_COLUMN);
    uint8_t hash[SHA256_BYTES];
    read_row(q, &d);
    texts_of(&d, t);
    if (d.n != c->n + 1) fault(c, STORE_DECISION_REMOVED, c->n + 1, d.n - 1);
    hash_row(c->out->hash, d.n, d.time_ns, t, d.input, hash);
    bool fits = stored.n == SHA256_BYTES && memcmp(stored.at, hash, SHA256_BYTES) == 0;
    if (!fits && d.n == c->n + 1) fault(c, STORE_DECISION_CHANGED, d.n, d.n);
    if (stored.n == SHA256_BYTES) memcpy(c->out->hash, stored.at, SHA256_BYTES);
    c->n = d.n;
    c->out->decisions++;
}

static bool check_head(Store *s, Checking *c, Error *err) {
    Buf head = { 0 };
    bool found = false;
    char text[32 + 2 * SHA256_BYTES + 1], digits[2 * SHA256_BYTES + 1];
    if (!store_note_get(s, CHAIN, STR("head"), &head, &found, err)) return false;
    hex(c->out->hash, digits);
    snprintf(text, sizeof text, "%lld %s", (long long)c->n, digits);
    bool fits = found ? str_eq(buf_str(&head), str_from(text)) : c->n == 0;
    if (!fits) fault(c, STORE_DECISION_HEAD, c->n, found ? strtoll(head.at, NULL, 10) : 0);
    buf_clear(&head);
    return true;
}

/* One read transaction, so that a decision that is written meanwhile does not appear as a mismatch. */
bool store_decision_verify(Store *s, StoreDecisionCheck *out, StoreDecisionEach *each, void *ctx, Error *err) {
    bool table = false, some = true;
    Checking c = { .out = out, .each = each, .ctx = ctx };
    *out = (StoreDecisionCheck){ 0 };
    store_chain_first(CHAIN, out->hash);
    store_lock(s);
    StoreQuery begin = store_query(s, SQL_BEGIN_READ, "verify decisions", err);
    bool ok = store_run(&begin);
    if (!ok) return store_unlock(s, false);
    ok = has_table(s, &table, err);
    if (ok && table) {
        StoreQuery q = store_query(s, SQL_DECISION_EACH, "verify decisions", err);
        ok = store_bind(&q, "i", INT64_MIN);
        while (ok && (ok = store_row(&q, &some)) && some) check_row(&c, &q);
        ok = store_end(&q, ok);
    }
    ok = ok && check_head(s, &c, err);
    ok = store_commit(s, ok, "verify decisions", err);
    return store_unlock(s, ok);
}
