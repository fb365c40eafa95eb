/* Artifacts: large results, as blobs. */
#include "base/clock.h"
#include "base/random.h"
#include "store/store_private.h"

void store_artifact_key(char out[STORE_KEY_SIZE]) {
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    memcpy(out, "art_", 4);
    for (int i = 4; i < STORE_KEY_SIZE - 1; i++) out[i] = letters[random_below(sizeof letters - 1)];
    out[STORE_KEY_SIZE - 1] = 0;
}

bool store_artifact_put(Store *s, Str run, Str tool, Str mime, Str bytes, Buf *key, Error *err) {
    char text[STORE_KEY_SIZE];
    bool ok = true, fresh = false;
    store_lock(s);
    for (int i = 0; ok && !fresh && i < STORE_KEY_TRIES; i++) {
        store_artifact_key(text);
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
    if (ok && !some) ok = store_no_such("artifact", key, err);
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
