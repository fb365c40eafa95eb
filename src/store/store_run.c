#include "base/clock.h"
#include "store/store_private.h"

bool store_run_number(Store *s, Str id, int64_t *n, Error *err) {
    StoreQuery q = store_query(s, SQL_RUN_NUMBER, "find run", err);
    bool some = false, ok = store_bind(&q, "s", id) && store_row(&q, &some);
    if (ok) *n = some ? store_int(&q, 0) : 0;
    return store_end(&q, ok);
}

bool store_run_start(Store *s, Str id, Str agent, Str session, Error *err) {
    store_lock(s);
    return store_unlock(s, s->driver->run_start(s, id, agent, session, err));
}

bool store_run_lease(Store *s, Str id, Error *err) {
    store_lock(s);
    return store_unlock(s, s->driver->run_lease(s, id, err));
}

static bool update_ended(Store *s, const StoreRun *run, Error *err) {
    int64_t ended = run->ended_ns ? run->ended_ns : clock_wall_ns();
    if (!store_fence(s, run->id, "end run", err)) return false;
    StoreQuery q = store_query(s, SQL_RUN_END, "end run", err);
    bool ok = store_end(&q, store_bind(&q, "ssiiisd", run->id, run->status, ended, run->turns, run->tool_calls, run->usage, run->cost) &&
                                store_row(&q, &(bool){ 0 }));
    if (ok && store_changes(s) == 0) ok = error_set(err, ERR_VALIDATION, "no such run: " STR_FMT, STR_ARG(run->id));
    return ok;
}

/* Writes the last events of the run in the same transaction, before the row, whose counts they change. */
bool store_run_end(Store *s, const StoreRun *run, Error *err) {
    Error why = { 0 };
    store_lock(s);
    int64_t since = s->driver->again ? clock_mono_ns() : 0;
    bool queued = store_events_queued(s), ok;
    do {
        ok = store_begin(s, "end run", &why);
        if (ok) ok = store_commit(s, (!queued || store_events_write(s, &why)) && update_ended(s, run, &why), "end run", &why);
        if (queued) store_events_done(s, ok, &why);
    } while (!ok && s->driver->again && s->driver->again(s, since));
    if (ok) s->driver->lease_drop(s, run->id);
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
                   .tool_calls = store_int(q, 8), .usage = store_text(q, 9), .title = store_text(q, 10), .cost = store_double(q, 11) };
    if (str_eq(r.status, STR("running")) && !q->store->driver->alive(q)) r.status = STR("interrupted");
    return r;
}

bool store_run_get(Store *s, Str id, bool (*each)(void *ctx, const StoreRun *run), void *ctx, bool *found, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_RUN_GET, "find run", err);
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
    StoreQuery q = store_query(s, SQL_RUN_EACH, "list runs", err);
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
    StoreQuery q = store_query(s, SQL_RUN_FIND, "find run", err);
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

bool store_lost(Store *s) { return s->driver->lost && s->driver->lost(s); }
