/* Questions and commands that processes exchange about a run. */
#include "base/clock.h"
#include "store/store_private.h"

/* ---- questions ---- */

static StoreApproval approval_at(const StoreQuery *q) {
    return (StoreApproval){ store_text(q, 0), store_text(q, 1), store_text(q, 2), store_text(q, 3), store_text(q, 4), store_text(q, 5), store_text(q, 6),
                            store_text(q, 7), store_int(q, 8), store_int(q, 9), store_text(q, 10), store_text(q, 11), store_text(q, 12) };
}

static bool is_used(Store *s, Str id, bool *used, Error *err) {
    StoreQuery q = store_query(s, SQL_APPROVAL_STATE, "ask", err);
    bool some = false, ok = store_bind(&q, "s", id) && store_row(&q, &some);
    *used = ok && some && str_eq(store_text(&q, 0), STR("used"));
    return store_end(&q, ok);
}

bool store_question_open(Store *s, Str id, bool *open, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_APPROVAL_STATE, "read question", err);
    bool some = false, ok = store_bind(&q, "s", id) && store_row(&q, &some);
    if (ok && some) *open = str_eq(store_text(&q, 0), STR("open"));
    return store_unlock(s, store_end(&q, ok));
}

static bool insert_question(Store *s, const StoreApproval *a, Str id, Error *err) {
    StoreQuery q = store_query(s, SQL_APPROVAL_PUT, "ask", err);
    return store_end(&q, store_bind(&q, "ssssssssii", id, a->run, a->call, a->tool, a->args, a->args_hash, a->why, a->rule,
        a->asked_ns ? a->asked_ns : clock_wall_ns(),
                                    a->expires_ns) && store_row(&q, &(bool){ 0 }));
}

static bool withdraw_others(Store *s, const StoreApproval *a, Str id, Error *err) {
    StoreQuery q = store_query(s, SQL_APPROVAL_REPLACE, "ask", err);
    return store_end(&q, store_bind(&q, "sss", id, a->run, a->call) && store_row(&q, &(bool){ 0 }));
}

bool store_approval_ask(Store *s, const StoreApproval *a, Buf *id, Error *err) {
    bool used = true;
    store_lock(s);
    bool ok = store_begin_alone(s, "ask", err);
    if (ok) {
        for (int i = 1; ok && used; i++) {
            buf_reset(id);
            buf_add(id, a->id);
            if (i > 1) buf_add_fmt(id, "-%d", i);
            ok = is_used(s, buf_str(id), &used, err);
        }
        ok = store_commit(s, ok && insert_question(s, a, buf_str(id), err) && withdraw_others(s, a, buf_str(id), err), "ask", err);
    }
    return store_unlock(s, ok);
}

bool store_approval_get(Store *s, Str id, bool (*each)(void *ctx, const StoreApproval *a), void *ctx, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_APPROVAL_GET, "read question", err);
    bool some = false, ok = store_bind(&q, "s", id) && store_row(&q, &some);
    if (ok && some) {
        StoreApproval a = approval_at(&q);
        (void)each(ctx, &a);
    }
    return store_unlock(s, store_end(&q, ok));
}

/* An update of at most one row; *changed: a row was updated. */
static bool change(Store *s, StoreQuery *q, bool bound, bool *changed) {
    bool ok = bound && store_row(q, &(bool){ 0 });
    if (changed) *changed = ok && store_changes(s) > 0;
    return store_end(q, ok);
}

/* A queued run that waits for this answer can be taken. */
static bool wake_run(Store *s, Str question, Error *err) {
    if (!s->driver->fence) return true;
    StoreQuery q = store_query(s, SQL_QUEUE_WAKE, "answer", err);
    return change(s, &q, store_bind(&q, "s", question), NULL);
}

bool store_approval_answer(Store *s, Str id, Str answer, Str by, bool *first, Error *err) {
    bool stored = false;
    store_lock(s);
    bool ok = store_begin_alone(s, "answer", err);
    if (ok) {
        StoreQuery q = store_query(s, SQL_APPROVAL_ANSWER, "answer", err);
        ok = change(s, &q, store_bind(&q, "sssi", id, answer, by, clock_wall_ns()), &stored) && (!stored || wake_run(s, id, err));
        ok = store_commit(s, ok, "answer", err);
    }
    if (ok) *first = stored;
    return store_unlock(s, ok);
}

bool store_approval_use(Store *s, Str id, bool *used, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_APPROVAL_USE, "use answer", err);
    return store_unlock(s, change(s, &q, store_bind(&q, "s", id), used));
}

bool store_approval_withdraw(Store *s, Str id, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_APPROVAL_WITHDRAW, "withdraw question", err);
    return store_unlock(s, change(s, &q, store_bind(&q, "s", id), NULL));
}

bool store_approval_each(Store *s, bool (*each)(void *ctx, const StoreApproval *a), void *ctx, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_APPROVAL_EACH, "list questions", err);
    bool some = true, ok = q.stmt != NULL;
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        StoreApproval a = approval_at(&q);
        if (!each(ctx, &a)) break;
    }
    return store_unlock(s, store_end(&q, ok));
}

bool store_approval_find(Store *s, Str prefix, Buf *id, Error *err) {
    int found = 0;
    buf_reset(id);
    store_lock(s);
    StoreQuery q = store_query(s, SQL_APPROVAL_FIND, "find question", err);
    bool some = true, ok = store_bind(&q, "s", prefix);
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        if (found++ == 0) buf_add(id, store_text(&q, 0));
        if (str_eq(buf_str(id), prefix)) break;                              /* the id is complete, although others start with it */
    }
    ok = store_unlock(s, store_end(&q, ok));
    if (!ok || found == 1) return ok;
    if (found == 0) return error_set(err, ERR_VALIDATION, "there is no question " STR_FMT, STR_ARG(prefix)), error_hint(err, "harness approvals lists them");
    error_set(err, ERR_VALIDATION, "more than one question begins with " STR_FMT, STR_ARG(prefix));
    return error_hint(err, "give more of the id");
}

/* ---- notes about questions ---- */

/* Pruning a run removes this scope. The number that store_approval_ask appends does not belong to the key. */
static void note_names(Str run, Str id, StoreQuestionNote what, Buf *scope, Buf *key) {
    ptrdiff_t number = str_find_char(id, '-');
    buf_add_fmt(scope, "questions:" STR_FMT, STR_ARG(run));
    buf_add(key, number < 0 ? id : str_sub(id, 0, (size_t)number));
    if (what == STORE_QUESTION_ABOUT) buf_add(key, STR("/about"));
}

bool store_question_note_put(Store *s, Str run, Str id, StoreQuestionNote what, Str text, Error *err) {
    Buf scope = { 0 }, key = { 0 };
    note_names(run, id, what, &scope, &key);
    bool ok = store_note_put(s, buf_str(&scope), buf_str(&key), text, err);
    buf_clear(&scope);
    buf_clear(&key);
    return ok;
}

bool store_question_note_get(Store *s, Str run, Str id, StoreQuestionNote what, Buf *out, bool *found, Error *err) {
    Buf scope = { 0 }, key = { 0 };
    note_names(run, id, what, &scope, &key);
    bool ok = store_note_get(s, buf_str(&scope), buf_str(&key), out, found, err);
    buf_clear(&scope);
    buf_clear(&key);
    return ok;
}

/* ---- commands ---- */

bool store_command_put(Store *s, Str run, Str kind, Str body, Str by, Error *err) {
    store_lock(s);
    bool ok = store_begin_alone(s, "send command", err);
    if (ok) {
        StoreQuery q = store_query(s, SQL_COMMAND_PUT, "send command", err);
        ok = store_commit(s, change(s, &q, store_bind(&q, "ssss", run, kind, body, by), NULL), "send command", err);
    }
    return store_unlock(s, ok);
}

bool store_command_each(Store *s, Str run, int64_t after, bool (*each)(void *ctx, const StoreCommand *c), void *ctx, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_COMMAND_EACH, "read commands", err);
    bool some = true, ok = store_bind(&q, "si", run, after);
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        StoreCommand c = { store_int(&q, 0), store_text(&q, 1), store_text(&q, 2), store_text(&q, 3) };
        if (!each(ctx, &c)) break;
    }
    return store_unlock(s, store_end(&q, ok));
}

bool store_version_counts_all(const Store *s) { return s->driver->counts_all; }

bool store_version(Store *s, int64_t *out, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_VERSION, "look for changes", err);
    bool some = false, ok = q.stmt && store_row(&q, &some);
    if (ok && some) *out = store_int(&q, 0);
    return store_unlock(s, store_end(&q, ok));
}
