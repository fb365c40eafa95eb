#include "base/clock.h"
#include "store/store_private.h"

bool store_run_number(Store *s, Str id, int64_t *n, Error *err) {
    StoreQuery q = store_query(s, SQL_RUN_NUMBER, "find run", err);
    bool some = false, ok = store_bind(&q, "s", id) && store_row(&q, &some);
    if (ok) *n = some ? store_int(&q, 0) : 0;
    return store_end(&q, ok);
}

static bool insert_run(Store *s, Str id, Str agent, Str session, Error *err) {
    StoreHolder me;
    store_holder_self(&me);
    StoreQuery q = store_query(s, SQL_RUN_START, "start run", err);
    return store_end(&q, store_bind(&q, "sssiiis", id, agent, session, clock_wall_ns(), me.pid, me.start, str_from(me.boot)) && store_row(&q, &(bool){ 0 }));
}

bool store_run_start(Store *s, Str id, Str agent, Str session, Error *err) {
    store_lock(s);
    bool ok = store_lease_take(s, id) || error_set(err, ERR_POLICY, "run " STR_FMT " is in use", STR_ARG(id));
    if (ok && !insert_run(s, id, agent, session, err)) ok = false, store_lease_drop(s, id);
    return store_unlock(s, ok);
}

static bool read_holder(Store *s, Str id, StoreHolder *out, Error *err) {
    StoreQuery q = store_query(s, SQL_RUN_HOLDER, "lease run", err);
    bool some = false, ok = store_bind(&q, "s", id) && store_row(&q, &some);
    if (ok && !some) ok = error_set(err, ERR_VALIDATION, "no such run: " STR_FMT, STR_ARG(id));
    if (ok) {
        Str boot = store_text(&q, 2);
        *out = (StoreHolder){ .pid = store_int(&q, 0), .start = store_int(&q, 1) };
        memcpy(out->boot, boot.at, boot.n < sizeof out->boot ? boot.n : sizeof out->boot - 1);
    }
    return store_end(&q, ok);
}

static bool held(Str id, const StoreHolder *by, Error *err) {
    return error_set(err, ERR_POLICY, "run " STR_FMT " is in use by process %lld", STR_ARG(id), (long long)by->pid);
}

static bool take_over(Store *s, Str id, Error *err) {
    StoreHolder me, other;
    store_holder_self(&me);
    if (!read_holder(s, id, &other, err)) return false;
    bool mine = other.pid == me.pid && other.start == me.start;
    if (!mine && store_holder_alive(&other)) return held(id, &other, err);
    if (!store_lease_take(s, id)) return held(id, &other, err);
    StoreQuery q = store_query(s, SQL_RUN_LEASE, "lease run", err);
    bool ok = store_end(&q, store_bind(&q, "siis", id, me.pid, me.start, str_from(me.boot)) && store_row(&q, &(bool){ 0 }));
    if (!ok && !mine) store_lease_drop(s, id);
    return ok;
}

bool store_run_lease(Store *s, Str id, Error *err) {
    store_lock(s);
    bool ok = store_begin(s, "lease run", err) && store_commit(s, take_over(s, id, err), "lease run", err);
    return store_unlock(s, ok);
}

static bool update_ended(Store *s, const StoreRun *run, Error *err) {
    int64_t ended = run->ended_ns ? run->ended_ns : clock_wall_ns();
    StoreQuery q = store_query(s, SQL_RUN_END, "end run", err);
    bool ok = store_end(&q, store_bind(&q, "ssiiisd", run->id, run->status, ended, run->turns, run->tool_calls, run->usage, run->cost) &&
                                store_row(&q, &(bool){ 0 }));
    if (ok && s->api->changes(s->db) == 0) ok = error_set(err, ERR_VALIDATION, "no such run: " STR_FMT, STR_ARG(run->id));
    return ok;
}

/* Writes the last events of the run in the same transaction, before the row, whose counts they change. */
bool store_run_end(Store *s, const StoreRun *run, Error *err) {
    Error why = { 0 };
    store_lock(s);
    bool queued = store_events_queued(s), ok = store_begin(s, "end run", &why);
    if (ok) ok = store_commit(s, (!queued || store_events_write(s, &why)) && update_ended(s, run, &why), "end run", &why);
    if (queued) store_events_done(s, ok, &why);
    if (ok) store_lease_drop(s, run->id);
    if (!ok && err) *err = why;
    return store_unlock(s, ok);
}

bool store_run_title(Store *s, Str id, Str title, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_RUN_TITLE, "name run", err);
    return store_unlock(s, store_end(&q, store_bind(&q, "ss", id, title) && store_row(&q, &(bool){ 0 })));
}

StoreRun store_run_of(const StoreQuery *q) {
    StoreRun r = { .id = store_text(q, 0), .status = store_text(q, 1), .agent = store_text(q, 2), .parent = store_text(q, 3),
                   .session = store_text(q, 4), .started_ns = store_int(q, 5), .ended_ns = store_int(q, 6), .turns = store_int(q, 7),
                   .tool_calls = store_int(q, 8), .usage = store_text(q, 9), .title = store_text(q, 13), .cost = store_double(q, 14) };
    StoreHolder by = { .pid = store_int(q, 10), .start = store_int(q, 11) };
    Str boot = store_text(q, 12);
    memcpy(by.boot, boot.at, boot.n < sizeof by.boot ? boot.n : sizeof by.boot - 1);
    if (str_eq(r.status, STR("running")) && !store_holder_alive(&by)) r.status = STR("interrupted");
    return r;
}

bool store_run_get(Store *s, Str id, bool (*each)(void *ctx, const StoreRun *run), void *ctx, bool *found, Error *err) {
    store_lock(s);
    StoreQuery q = store_walk(s, STORE_RUN_COLUMNS " FROM runs WHERE id = ?1", "find run", err);
    bool ok = store_bind(&q, "s", id) && store_row(&q, found);
    if (ok && *found) {
        StoreRun run = store_run_of(&q);
        (void)each(ctx, &run);
    }
    return store_unlock(s, store_end(&q, ok));
}

static bool copy_status(void *ctx, const StoreRun *r) {
    buf_reset(ctx);
    buf_add(ctx, r->status);
    return true;
}

bool store_run_status(Store *s, Str id, Buf *status, Error *err) {
    bool found = false;
    if (!store_run_get(s, id, copy_status, status, &found, err)) return false;
    return found || store_no_such("run", id, err);
}

bool store_run_each(Store *s, bool (*each)(void *ctx, const StoreRun *run), void *ctx, Error *err) {
    store_lock(s);
    StoreQuery q = store_walk(s, STORE_RUN_COLUMNS " FROM runs ORDER BY started_ns DESC, id DESC", "list runs", err);
    bool some = true, ok = true;
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        StoreRun run = store_run_of(&q);
        if (!each(ctx, &run)) break;
    }
    return store_unlock(s, store_end(&q, ok));
}

bool store_run_find(Store *s, Str id_or_prefix, Buf *id, Error *err) {
    size_t found = 0;
    bool some = true;
    Buf first = { 0 };
    store_lock(s);
    StoreQuery q = store_walk(s, "SELECT id, id = ?1 OR ?1 = 'last' FROM runs WHERE substr(id, 1, length(?1)) = ?1 OR substr(id, -length(?1)) = ?1 OR "
                                 "(?1 = 'last' AND (title <> '' OR turns > 0)) ORDER BY id = ?1 DESC, started_ns DESC LIMIT 2", "find run", err);
    bool ok = id_or_prefix.n ? store_bind(&q, "s", id_or_prefix) : error_set(err, ERR_VALIDATION, "a run id is required");
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        if (!found++) buf_add(&first, store_text(&q, 0));
        if (store_int(&q, 1)) break;                     /* an exact match wins over longer ids */
    }
    ok = store_end(&q, ok);
    if (ok && found == 0) {
        ok = error_set(err, ERR_VALIDATION, "no such run: " STR_FMT, STR_ARG(id_or_prefix));
        error_hint(err, "list runs with: harness runs");
    }
    if (ok && found > 1) ok = error_set(err, ERR_VALIDATION, "more than one run has an id that starts or ends with " STR_FMT, STR_ARG(id_or_prefix));
    if (ok) buf_reset(id), buf_add(id, buf_str(&first));
    buf_clear(&first);
    return store_unlock(s, ok);
}
