/* Notes: named texts of a session or a project. */
#include "store/store_private.h"

/* "" for a note that does not belong to a run. */
static Str run_of(Str scope) {
    static const Str of_runs[] = { STR("items:"), STR("media:"), STR("changes:") };
    for (size_t i = 0; i < sizeof of_runs / sizeof *of_runs; i++)
        if (str_starts(scope, of_runs[i])) return str_sub(scope, of_runs[i].n, scope.n);
    return STR("");
}

static bool put(Store *s, Str scope, Str key, Str text, Error *err) {
    StoreQuery q = store_query(s, SQL_NOTE_PUT, "store note", err);
    return store_end(&q, store_bind(&q, "sss", scope, key, text) && store_row(&q, &(bool){ 0 }));
}

bool store_note_put(Store *s, Str scope, Str key, Str text, Error *err) {
    Str run = run_of(scope);
    store_lock(s);
    bool ok = run.n ? store_begin_fenced(s, run, "store note", err) : put(s, scope, key, text, err);
    if (ok && run.n) ok = store_end_fenced(s, put(s, scope, key, text, err), "store note", err);
    return store_unlock(s, ok);
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
    StoreQuery q = store_query(s, SQL_NOTE_EACH, "list notes", err);
    bool some = true, ok = store_bind(&q, "s", scope);
    while (ok && some && (ok = store_row(&q, &some)) && some)
        if (!each(ctx, store_text(&q, 0), store_text(&q, 1))) break;
    return store_unlock(s, store_end(&q, ok));
}
