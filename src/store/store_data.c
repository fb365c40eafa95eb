/* Artifacts, tasks, hook counters, notes. */
#include "base/clock.h"
#include "base/random.h"
#include "store/store_private.h"

enum { KEY_CHARS = 12, KEY_TRIES = 10 };

static bool no_such(const char *what, Str key, Error *err) {
    return error_set(err, ERR_VALIDATION, "no such %s: " STR_FMT, what, STR_ARG(key));
}

/* ---- artifacts ---- */

static void make_key(char out[4 + KEY_CHARS + 1]) {
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    memcpy(out, "art_", 4);
    for (int i = 0; i < KEY_CHARS; i++) out[4 + i] = letters[random_below(sizeof letters - 1)];
    out[4 + KEY_CHARS] = 0;
}

bool store_artifact_put(Store *s, Str run, Str tool, Str mime, Str bytes, Buf *key, Error *err) {
    char text[4 + KEY_CHARS + 1];
    bool ok = true, fresh = false;
    store_lock(s);
    for (int i = 0; ok && !fresh && i < KEY_TRIES; i++) {
        make_key(text);
        StoreQuery q = store_query(s, SQL_ARTIFACT_PUT, "store artifact", err);
        ok = store_end(&q, store_bind(&q, "ssssib", str_from(text), run, tool, mime, clock_wall_ns(), bytes) && store_row(&q, &(bool){ 0 }));
        fresh = ok && s->api->changes(s->db) == 1;
    }
    if (ok && !fresh) ok = error_set(err, ERR_INTERNAL, "store artifact: every generated key is in use");
    if (ok) buf_reset(key), buf_add(key, str_from(text));
    return store_unlock(s, ok);
}

static bool find_artifact(Store *s, Str run, Str key, int64_t *row, Error *err) {
    StoreQuery q = store_query(s, SQL_ARTIFACT_FIND, "read artifact", err);
    bool some = false, ok = store_bind(&q, "ss", key, run) && store_row(&q, &some);
    if (ok && some) *row = store_int(&q, 0);
    if (ok && !some) ok = no_such("artifact", key, err);
    return store_end(&q, ok);
}

static bool read_blob(Store *s, sqlite3_blob *blob, uint64_t offset, uint64_t limit, Buf *out, uint64_t *total, Error *err) {
    uint64_t size = (uint64_t)s->api->blob_bytes(blob), left = offset < size ? size - offset : 0, n = limit < left ? limit : left;
    buf_reset(out);
    char *room = n ? buf_room(out, n) : NULL;
    if (n && !room) return error_set(err, ERR_LIMIT, "read artifact: too large");
    if (n && s->api->blob_read(blob, room, (int)n, (int)offset) != SQLITE_OK) return store_failed(s, "read artifact", err);
    if (n) buf_commit(out, n);
    if (total) *total = size;
    return true;
}

bool store_artifact_get(Store *s, Str run, Str key, uint64_t offset, uint64_t limit, Buf *out, uint64_t *total, Error *err) {
    int64_t row;
    sqlite3_blob *blob = NULL;
    store_lock(s);
    bool ok = find_artifact(s, run, key, &row, err);
    if (ok && s->api->blob_open(s->db, "main", "artifacts", "bytes", row, 0, &blob) != SQLITE_OK) ok = store_failed(s, "read artifact", err);
    ok = ok && read_blob(s, blob, offset, limit, out, total, err);
    if (blob) s->api->blob_close(blob);
    return store_unlock(s, ok);
}

/* ---- tasks ---- */

bool store_task_put(Store *s, Str run, Str task, Str tool, Str status, Str result, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_TASK_PUT, "store task", err);
    return store_unlock(s, store_end(&q, store_bind(&q, "sssss", run, task, tool, status, result) && store_row(&q, &(bool){ 0 })));
}

bool store_task_get(Store *s, Str run, Str task, Buf *status, Buf *result, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_TASK_GET, "read task", err);
    bool some = false, ok = store_bind(&q, "ss", run, task) && store_row(&q, &some);
    if (ok && !some) ok = no_such("task", task, err);
    if (ok) {
        buf_reset(status), buf_add(status, store_text(&q, 0));
        buf_reset(result), buf_add(result, store_text(&q, 1));
    }
    return store_unlock(s, store_end(&q, ok));
}

/* ---- hook counters ---- */

static bool add_counts(Store *s, const StoreHook *h, Error *err) {
    StoreQuery q = store_query(s, SQL_HOOK_ADD, "count hooks", err);
    return store_end(&q, store_bind(&q, "siiii", h->hook, (int64_t)h->calls, (int64_t)h->blocks, (int64_t)h->errors, (int64_t)h->ns) &&
                             store_row(&q, &(bool){ 0 }));
}

bool store_hook_add(Store *s, const StoreHook *counts, size_t n, Error *err) {
    store_lock(s);
    bool ok = store_begin(s, "count hooks", err);
    if (ok) {
        for (size_t i = 0; ok && i < n; i++) ok = add_counts(s, &counts[i], err);
        ok = store_commit(s, ok, "count hooks", err);
    }
    return store_unlock(s, ok);
}

bool store_hook_each(Store *s, bool (*each)(void *ctx, const StoreHook *h), void *ctx, Error *err) {
    store_lock(s);
    StoreQuery q = store_walk(s, "SELECT hook, calls, blocks, errors, ns FROM hooks ORDER BY hook", "list hooks", err);
    bool some = true, ok = true;
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        StoreHook h = { store_text(&q, 0), (uint64_t)store_int(&q, 1), (uint64_t)store_int(&q, 2), (uint64_t)store_int(&q, 3), (uint64_t)store_int(&q, 4) };
        if (!each(ctx, &h)) break;
    }
    return store_unlock(s, store_end(&q, ok));
}

/* ---- notes ---- */

bool store_note_put(Store *s, Str scope, Str key, Str text, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_NOTE_PUT, "store note", err);
    return store_unlock(s, store_end(&q, store_bind(&q, "sss", scope, key, text) && store_row(&q, &(bool){ 0 })));
}

bool store_note_get(Store *s, Str scope, Str key, Buf *out, bool *found, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_NOTE_GET, "read note", err);
    bool some = false, ok = store_bind(&q, "ss", scope, key) && store_row(&q, &some);
    if (ok && some) buf_reset(out), buf_add(out, store_text(&q, 0));
    if (ok) *found = some;
    return store_unlock(s, store_end(&q, ok));
}

bool store_note_delete(Store *s, Str scope, Str key, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_NOTE_DELETE, "delete note", err);
    return store_unlock(s, store_end(&q, store_bind(&q, "ss", scope, key) && store_row(&q, &(bool){ 0 })));
}

bool store_note_each(Store *s, Str scope, bool (*each)(void *ctx, Str key, Str text), void *ctx, Error *err) {
    store_lock(s);
    StoreQuery q = store_walk(s, "SELECT key, text FROM notes WHERE scope = ?1 ORDER BY key", "list notes", err);
    bool some = true, ok = store_bind(&q, "s", scope);
    while (ok && some && (ok = store_row(&q, &some)) && some)
        if (!each(ctx, store_text(&q, 0), store_text(&q, 1))) break;
    return store_unlock(s, store_end(&q, ok));
}
