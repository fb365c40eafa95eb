/* The artifacts of a run, read from the tables: "TOOL:MIME:SIZE " for each. */
#pragma once
#include "store/store_private.h"

static inline bool artifact_list(Store *s, Str run, Buf *out, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_ARTIFACT_KEYS, "list artifacts", err);
    bool some = true, ok = store_bind(&q, "s", run);
    while (ok && some && (ok = store_row(&q, &some)) && some)
        buf_add_fmt(out, STR_FMT ":" STR_FMT ":%lld ", STR_ARG(store_text(&q, 1)), STR_ARG(store_text(&q, 2)), (long long)store_int(&q, 3));
    return store_unlock(s, store_end(&q, ok));
}
