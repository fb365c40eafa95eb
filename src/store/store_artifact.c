/* Artifacts: large results. */
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
        ok = s->driver->artifact_put(s, str_from(text), run, tool, mime, bytes, &fresh, err);
    }
    if (ok && !fresh) ok = error_set(err, ERR_INTERNAL, "store artifact: every generated key is in use");
    if (ok) buf_reset(key), buf_add(key, str_from(text));
    return store_unlock(s, ok);
}

bool store_artifact_get(Store *s, Str run, Str key, uint64_t offset, uint64_t limit, Buf *out, uint64_t *total, Error *err) {
    store_lock(s);
    return store_unlock(s, s->driver->artifact_get(s, run, key, offset, limit, out, total, err));
}
