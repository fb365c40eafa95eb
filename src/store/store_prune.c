/* Removes whole runs. A row with the hash of the last event stays. */
#include <stdlib.h>
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

/* SQLite reuses the pages that pruning freed; this returns them to the file system. */
bool store_shrink(Store *s, Error *err) {
    store_lock(s);
    return store_unlock(s, s->driver->shrink(s, err));
}

/* ---- a bound on the size ---- */

bool store_read_size(const char *text, int64_t *bytes, Error *err) {
    char *end;
    long long n = strtoll(text, &end, 10);
    int shift = *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (end == text || !shift || end[1] || n < 1 || n > 1000000) return error_set(err, ERR_VALIDATION, "\"%s\" is not a size like 500M or 2G", text);
    return *bytes = (int64_t)n << shift, true;
}

typedef struct Size { int64_t used, file, live; } Size;

static bool measure(Store *s, Size *out, Error *err) {
    bool some = false;
    StoreQuery q = store_query(s, SQL_SIZE, "measure the state", err);
    bool ok = q.stmt && store_row(&q, &some);
    if (ok) *out = (Size){ store_int(&q, 0), store_int(&q, 1), store_int(&q, 2) };
    return store_end(&q, ok);
}

static bool oldest_ended(Store *s, Buf *id, Error *err) {
    bool some = false;
    buf_reset(id);
    StoreQuery q = store_query(s, SQL_RUN_OLDEST, "find run", err);
    bool ok = q.stmt && store_row(&q, &some);
    if (ok && some) buf_add(id, store_text(&q, 0));
    return store_end(&q, ok);
}

static bool remove_oldest(Store *s, int64_t max, StoreBounded *out, Buf *id, Error *err) {
    Size size;
    for (int64_t most = max;; most = max / 10 * 9) {
        if (!measure(s, &size, err)) return false;
        out->over = size.used > most;
        if (!out->over) return true;
        if (!oldest_ended(s, id, err)) return false;
        if (id->n == 0) return out->over = size.used > max, true;
        if (!store_run_prune(s, buf_str(id), err)) return err->kind == ERR_POLICY;       /* it was resumed meanwhile: the next run tries again */
        out->removed++;
    }
}

/* Removed runs leave free pages, which later events use. The file is rewritten only if it is larger than the bound, and the caller's run alone would
 * wait for that. */
bool store_bound(Store *s, int64_t max, StoreBounded *out, Error *err) {
    Buf id = { 0 };
    Size size = { 0 };
    *out = (StoreBounded){ 0 };
    if (!s->driver->sized) {
        error_set(err, ERR_CONFIG, "HARNESS_STATE_MAX bounds a state file, and runs are stored in %s", s->name);
        return error_hint(err, "unset it, and remove old runs with: harness runs prune --older-than 30d");
    }
    store_lock(s);
    bool ok = remove_oldest(s, max, out, &id, err) && measure(s, &size, err);
    if (ok && out->removed && size.file > max && size.live <= 1) ok = store_shrink(s, err);
    buf_clear(&id);
    return store_unlock(s, ok);
}
