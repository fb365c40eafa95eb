/* Removes whole runs. A row with the hash of the last event stays. */
#include "store/store_private.h"

/* In the order of execution: the first one needs the row of the run, the third one the notes of the fourth. */
static const char *const steps[] = {
    "INSERT OR REPLACE INTO pruned (run, ended_ns, last, hash) SELECT id, ended_ns, last, hash FROM runs WHERE id = ?1",
    "DELETE FROM events WHERE id BETWEEN (SELECT n << 32 FROM runs WHERE id = ?1) AND (SELECT n << 32 | 0xffffffff FROM runs WHERE id = ?1)",
    "DELETE FROM notes WHERE scope = 'task.cancel' AND key IN (SELECT key FROM notes WHERE scope = 'task' AND text = ?1)",
    "DELETE FROM notes WHERE scope = 'task' AND text = ?1",
    "DELETE FROM notes WHERE scope IN ('items:' || ?1, 'media:' || ?1, 'changes:' || ?1, 'questions:' || ?1)",
    "DELETE FROM artifacts WHERE run = ?1",
    "DELETE FROM tasks WHERE run = ?1",
    "DELETE FROM approvals WHERE run = ?1",
    "DELETE FROM commands WHERE run = ?1",
    "DELETE FROM runs WHERE id = ?1",
};

static bool remove_all(Store *s, Str run, Error *err) {
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof steps / sizeof *steps; i++) {
        StoreQuery q = store_walk(s, steps[i], "prune run", err);
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
    if (live || !store_lease_take(s, run)) return error_set(err, ERR_POLICY, "run " STR_FMT " is running", STR_ARG(run));
    bool ok = remove_all(s, run, err);
    store_lease_drop(s, run);
    return ok;
}

bool store_run_prune(Store *s, Str run, Error *err) {
    if (!store_flush(s, err)) return false;
    store_lock(s);
    bool ok = store_begin(s, "prune run", err);
    if (ok) ok = store_commit(s, prune(s, run, err), "prune run", err);
    return store_unlock(s, ok);
}

bool store_pruned_each(Store *s, bool (*each)(void *ctx, const StorePruned *p), void *ctx, Error *err) {
    store_lock(s);
    StoreQuery q = store_walk(s, "SELECT run, ended_ns, last, hash FROM pruned ORDER BY ended_ns, run", "list pruned runs", err);
    bool some = true, ok = q.stmt != NULL;
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        StorePruned p = { .run = store_text(&q, 0), .ended_ns = store_int(&q, 1), .last = (uint64_t)store_int(&q, 2), .hash = store_text(&q, 3) };
        if (!each(ctx, &p)) break;
    }
    return store_unlock(s, store_end(&q, ok));
}

/* SQLite reuses the pages that pruning freed; this returns them to the file system. */
bool store_shrink(Store *s, Error *err) {
    store_lock(s);
    return store_unlock(s, store_exec(s, "VACUUM", "shrink", err));
}
