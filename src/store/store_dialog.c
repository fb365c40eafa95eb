#include "store/store_dialog.h"
#include "base/clock.h"
#include "store/store_private.h"

#define SCOPE STR("viewers")

/* ---- dialogs ---- */

static StoreDialog dialog_at(const StoreQuery *q) {
    return (StoreDialog){ store_text(q, 0), store_text(q, 1), store_text(q, 2), store_text(q, 3), store_text(q, 4), store_int(q, 5), store_int(q, 6),
                          store_text(q, 7), store_text(q, 8), store_text(q, 9) };
}

bool store_dialog_ask(Store *s, const StoreDialog *d, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_APPROVAL_PUT, "show dialog", err);
    return store_unlock(s, store_end(&q, store_bind(&q, "ssssssssii", d->id, d->run, d->call, d->tool, d->body, STR("bridge"), STR(""), STR(""),
        d->asked_ns ? d->asked_ns : clock_wall_ns(), d->expires_ns) && store_row(&q, &(bool){ 0 })));
}

static bool walk(StoreQuery *q, bool bound, StoreDialogEach *each, void *ctx) {
    bool some = true, ok = bound;
    while (ok && some && (ok = store_row(q, &some)) && some) {
        StoreDialog d = dialog_at(q);
        if (!each(ctx, &d)) break;
    }
    return store_end(q, ok);
}

bool store_dialog_get(Store *s, Str id, StoreDialogEach *each, void *ctx, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_DIALOG_GET, "read dialog", err);
    return store_unlock(s, walk(&q, store_bind(&q, "s", id), each, ctx));
}

bool store_dialog_each(Store *s, StoreDialogEach *each, void *ctx, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_DIALOG_EACH, "list dialogs", err);
    return store_unlock(s, walk(&q, q.stmt != NULL, each, ctx));
}

bool store_dialog_answer(Store *s, Str id, Str answer, Str by, bool *first, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_DIALOG_ANSWER, "answer dialog", err);
    bool ok = store_bind(&q, "sss", id, answer, by) && store_row(&q, &(bool){ 0 });
    *first = ok && store_changes(s) > 0;
    return store_unlock(s, store_end(&q, ok));
}

bool store_dialog_withdraw(Store *s, Str id, Error *err) { return store_approval_withdraw(s, id, err); }

/* ---- open pages ---- */

typedef struct Viewers { Store *store; int64_t now_ns; bool any; Buf stale; } Viewers;

/* The clock of another machine may differ: a time in the future counts no longer than one in the past. */
static bool is_recent(Str text, int64_t now_ns) {
    int64_t then = 0;
    for (size_t i = 0; i < text.n && i < 18 && text.at[i] >= '0' && text.at[i] <= '9'; i++) then = then * 10 + (text.at[i] - '0');
    int64_t age = now_ns / 1000000000 - then;
    return age > -STORE_VIEWER_S && age < STORE_VIEWER_S;
}

static bool see_viewer(void *ctx, Str key, Str text) {
    Viewers *v = ctx;
    if (is_recent(text, v->now_ns)) v->any = true;
    else if (!v->stale.n) buf_add(&v->stale, key);
    return true;
}

bool store_viewer_any(Store *s, bool *any, Error *err) {
    Viewers v = { .store = s, .now_ns = clock_wall_ns() };
    bool ok = store_note_each(s, SCOPE, see_viewer, &v, err);
    if (ok) *any = v.any;
    buf_clear(&v.stale);
    return ok;
}

/* Also removes a console that was killed, one at a time. */
bool store_viewer_put(Store *s, Str console, Error *err) {
    Viewers v = { .store = s, .now_ns = clock_wall_ns() };
    Buf text = { 0 };
    buf_add_fmt(&text, "%lld", (long long)(v.now_ns / 1000000000));
    bool ok = store_note_each(s, SCOPE, see_viewer, &v, err) && (!v.stale.n || store_note_delete(s, SCOPE, buf_str(&v.stale), err)) &&
              store_note_put(s, SCOPE, console, buf_str(&text), err);
    buf_clear(&v.stale);
    buf_clear(&text);
    return ok;
}

bool store_viewer_remove(Store *s, Str console, Error *err) { return store_note_delete(s, SCOPE, console, err); }
