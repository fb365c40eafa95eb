/* Background tasks: their status and result, for the process that started them and for later ones. */
#include "store/store_private.h"

bool store_task_write(Store *s, Str run, Str task, Str tool, Str status, Str result, Error *err) {
    StoreQuery q = store_query(s, SQL_TASK_PUT, "store task", err);
    return store_end(&q, store_bind(&q, "sssss", run, task, tool, status, result) && store_row(&q, &(bool){ 0 }));
}

bool store_task_put(Store *s, Str run, Str task, Str tool, Str status, Str result, Error *err) {
    store_lock(s);
    bool ok = store_begin_fenced(s, run, "store task", err);
    if (ok) ok = store_end_fenced(s, store_task_write(s, run, task, tool, status, result, err), "store task", err);
    return store_unlock(s, ok);
}

bool store_task_get(Store *s, Str run, Str task, Buf *status, Buf *result, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_TASK_GET, "read task", err);
    bool some = false, ok = store_bind(&q, "ss", run, task) && store_row(&q, &some);
    if (ok && !some) ok = store_no_such("task", task, err);
    if (ok) {
        buf_reset(status), buf_add(status, store_text(&q, 0));
        buf_reset(result), buf_add(result, store_text(&q, 1));
    }
    return store_unlock(s, store_end(&q, ok));
}
