/* Counters of hooks, summed over runs. */
#include "store/store_private.h"

static bool add_counts(Store *s, const StoreHook *h, Error *err) {
    StoreQuery q = store_query(s, SQL_HOOK_ADD, "count hooks", err);
    return store_end(&q, store_bind(&q, "siiii", h->hook, (int64_t)h->calls, (int64_t)h->blocks, (int64_t)h->errors, (int64_t)h->ns) &&
                             store_row(&q, &(bool){ 0 }));
}

bool store_hook_add(Store *s, const StoreHook *counts, size_t n, Error *err) {
    store_lock(s);
    bool ok = store_begin_alone(s, "count hooks", err);
    if (ok) {
        for (size_t i = 0; ok && i < n; i++) ok = add_counts(s, &counts[i], err);
        ok = store_commit(s, ok, "count hooks", err);
    }
    return store_unlock(s, ok);
}

bool store_hook_each(Store *s, bool (*each)(void *ctx, const StoreHook *h), void *ctx, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_HOOK_EACH, "list hooks", err);
    bool some = true, ok = true;
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        StoreHook h = { store_text(&q, 0), (uint64_t)store_int(&q, 1), (uint64_t)store_int(&q, 2), (uint64_t)store_int(&q, 3), (uint64_t)store_int(&q, 4) };
        if (!each(ctx, &h)) break;
    }
    return store_unlock(s, store_end(&q, ok));
}
