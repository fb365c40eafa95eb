/* Removes whole runs. A row with the hash of the last event stays. */
#include "store/store_private.h"

static const StoreSql steps[] = { SQL_PRUNE_KEEP, SQL_PRUNE_EVENTS, SQL_PRUNE_CANCELS, SQL_PRUNE_TASK_NOTES, SQL_PRUNE_NOTES, SQL_PRUNE_ARTIFACTS,
                                  SQL_PRUNE_TASKS, SQL_PRUNE_APPROVALS, SQL_PRUNE_COMMANDS, SQL_PRUNE_RUN };

static bool remove_all(Store *s, Str run, Error *err) {
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof steps / sizeof *steps; i++) {
        StoreQuery q = store_query(s, steps[i], "prune run", err);
        ok = store_end(&q, store_bind(&q, "s", run) && store_row(&q, &(bool){ 0 }));
    }
    return ok;
}

static bool note_live(void *ctx, const StoreRun *r) {
    *(bool *)ctx = str_eq(r->status, STR("running"));
    return true;
}

/* The lease is held meanwhile, so that no process resumes the run. */
static bool prune(Store *s, Str run, Error *err) {
    bool live = false, found = false;
    if (!store_run_get(s, run, note_live, &live, &found, err)) return false;
    if (!found) return store_no_such("run", run, err);
    if (live || !s->driver->lease_free(s, run)) return error_set(err, ERR_POLICY, "run " STR_FMT " is running", STR_ARG(run));
    bool ok = remove_all(s, run, err);
    s->driver->lease_drop(s, run);
    return ok;
}

bool store_run_prune(Store *s, Str run, Error *err) {
    if (!store_flush(s, err)) return false;
    store_lock(s);
    bool ok = store_begin_alone(s, "prune run", err);
    if (ok) ok = store_commit(s, prune(s, run, err), "prune run", err);
    return store_unlock(s, ok);
}

bool store_pruned_each(Store *s, bool (*each)(void *ctx, const StorePruned *p), void *ctx, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_PRUNED_EACH, "list pruned runs", err);
    bool some = true, ok = q.stmt != NULL;
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        StorePruned p = { .run = store_text(&q, 0), .ended_ns = store_int(&q, 1), .last = (uint64_t)store_int(&q, 2), .hash = store_text(&q, 3) };
        if (!each(ctx, &p)) break;
    }
    return store_unlock(s, store_end(&q, ok));
}

/* Pages that pruning freed are used again; this gives them back to the file system. */
bool store_shrink(Store *s, Error *err) {
    store_lock(s);
    return store_unlock(s, s->driver->shrink(s, err));
}
