/* Notes: named texts of a session or a project. */
#include "store/store_private.h"

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
