/* Artifacts in chunks, so that a part of one is read without the rest. */
#include "base/clock.h"
#include "store/postgres_private.h"

enum { CHUNK = 256 << 10 };

static bool put_chunk(Store *s, Str key, int64_t n, Str bytes, Error *err) {
    StoreQuery q = store_query(s, SQL_ARTIFACT_CHUNK, "store artifact", err);
    return store_end(&q, store_bind(&q, "sib", key, n, bytes) && store_row(&q, &(bool){ 0 }));
}

static bool put_all(Store *s, Str key, Str run, Str tool, Str mime, Str bytes, bool *fresh, Error *err) {
    StoreQuery q = store_query(s, SQL_ARTIFACT_PUT, "store artifact", err);
    bool ok = store_end(&q, store_bind(&q, "ssssii", key, run, tool, mime, clock_wall_ns(), (int64_t)bytes.n) && store_row(&q, &(bool){ 0 }));
    *fresh = ok && store_changes(s) == 1;
    for (size_t at = 0; ok && *fresh && at < bytes.n; at += CHUNK) ok = put_chunk(s, key, (int64_t)(at / CHUNK), str_sub(bytes, at, at + CHUNK), err);
    return ok;
}

bool postgres_artifact_put(Store *s, Str key, Str run, Str tool, Str mime, Str bytes, bool *fresh, Error *err) {
    return store_begin_fenced(s, run, "store artifact", err) && store_end_fenced(s, put_all(s, key, run, tool, mime, bytes, fresh, err), "store artifact", err);
}

static bool read_chunk(Store *s, Str key, uint64_t at, uint64_t n, Buf *out, Error *err) {
    bool some = false;
    StoreQuery q = store_query(s, SQL_ARTIFACT_READ, "read artifact", err);
    bool ok = store_bind(&q, "si", key, (int64_t)(at / CHUNK)) && store_row(&q, &some);
    if (ok && some) buf_add(out, str_sub(store_text(&q, 0), at % CHUNK, at % CHUNK + n));
    if (ok && !some) ok = error_set(err, ERR_IO, "read artifact: %s lacks a part of " STR_FMT, s->name, STR_ARG(key));
    return store_end(&q, ok);
}

bool postgres_artifact_get(Store *s, Str run, Str key, uint64_t offset, uint64_t limit, Buf *out, uint64_t *total, Error *err) {
    bool some = false;
    StoreQuery q = store_query(s, SQL_ARTIFACT_FIND, "read artifact", err);
    bool ok = store_bind(&q, "ss", key, run) && store_row(&q, &some);
    uint64_t size = ok && some ? (uint64_t)store_int(&q, 0) : 0, left = offset < size ? size - offset : 0, n = limit < left ? limit : left;
    ok = store_end(&q, ok) && (some || store_no_such("artifact", key, err));
    if (ok) buf_reset(out);
    for (uint64_t at = offset; ok && at < offset + n; at = (at / CHUNK + 1) * CHUNK) ok = read_chunk(s, key, at, offset + n - at, out, err);
    if (ok && total) *total = size;
    return ok;
}
