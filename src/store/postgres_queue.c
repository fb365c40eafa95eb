/* The queue: rows of `runs` whose state is not ''. */
#include "store/store_queue.h"
#include <stdio.h>
#include "base/clock.h"
#include "store/postgres_private.h"

static PostgresStore *own(Store *s) { return (PostgresStore *)s; }

bool store_queue_check(const Store *s, Error *err) {
    if (s->driver->fence) return true;
    error_set(err, ERR_CONFIG, "the queue needs PostgreSQL, and the runs are kept in %s", s->name);
    return error_hint(err, "set HARNESS_STATE or store.url to postgresql://…");
}

bool store_queue_put(Store *s, const StoreJob *j, Error *err) {
    if (!store_queue_check(s, err)) return false;
    store_lock(s);
    StoreQuery q = store_query(s, SQL_QUEUE_PUT, "queue run", err);
    return store_unlock(s, store_end(&q, store_bind(&q, "sssiiib", j->id, j->agent, j->title, clock_wall_ns(), j->priority, j->wake_ns, j->job) &&
                                             store_row(&q, &(bool){ 0 })));
}

bool store_queue_join(Store *s, const char *kind, Error *err) {
    if (!store_queue_check(s, err)) return false;
    store_lock(s);
    own(s)->lease.kind = kind;
    return store_unlock(s, postgres_register(own(s), err));
}

void store_queue_host(Store *s, const char *id) {
    if (s->driver->fence) snprintf(own(s)->lease.host_id, sizeof own(s)->lease.host_id, "%s", id);
}

/* ---- taking and giving back ---- */

static void copy_to(Buf *out, Str text) {
    buf_reset(out);
    buf_add(out, text);
}

static int64_t epoch_of(PostgresStore *s, Str id) {
    for (size_t i = 0; i < s->held.n; i++)
        if (str_eq(str_from(s->held.at[i].id), id)) return s->held.at[i].epoch;
    return -1;
}

static bool hand_back(Store *s, Str id, Error *err) {
    StoreQuery q = store_query(s, SQL_QUEUE_BACK, "hand back run", err);
    bool ok = store_end(&q, store_bind(&q, "si", id, epoch_of(own(s), id)) && store_row(&q, &(bool){ 0 }));
    if (ok && store_changes(s) == 0) ok = error_set(err, ERR_POLICY, "hand back run: run " STR_FMT " does not belong to this process any more", STR_ARG(id));
    if (ok) postgres_lease_drop(s, id);
    return ok;
}

/* The statement that took the run may have read the notes before another host took the run, bound it to itself and handed it back. */
static bool is_for_here(Store *s, Str id, bool *here, Error *err) {
    bool some = false;
    StoreQuery q = store_query(s, SQL_NOTE_GET, "take run", err);
    bool ok = store_bind(&q, "ss", STR("queue.host"), id) && store_row(&q, &some);
    if (ok) {
        Str host = some ? store_text(&q, 0) : STR("#");
        ptrdiff_t mark = str_find_char(host, '#');
        *here = !some || (mark >= 0 && str_eq(str_sub(host, (size_t)mark + 1, host.n), str_from(own(s)->lease.host_id)));
    }
    return store_end(&q, ok);
}

bool store_queue_take(Store *s, bool bind, StoreTaken *out, bool *some, Error *err) {
    bool found = false;
    char host[POSTGRES_HOST_SIZE] = "";
    if (!store_queue_check(s, err)) return false;
    store_lock(s);
    if (bind) postgres_host(own(s), host);
    StoreQuery q = store_query(s, SQL_QUEUE_TAKE, "take run", err);
    bool ok = store_bind(&q, "iiss", (int64_t)STORE_QUEUE_TRIES, (int64_t)STORE_QUEUE_JOURNAL, str_from(own(s)->lease.host_id), str_from(host)) &&
              store_row(&q, &found);
    if (ok && found) {
        copy_to(&out->id, store_text(&q, 0));
        copy_to(&out->agent, store_text(&q, 2));
        copy_to(&out->job, store_text(&q, 4));
        out->started = store_int(&q, 3) > 0;
        out->bound = store_int(&q, 5);
        postgres_hold(own(s), buf_str(&out->id), store_int(&q, 1), !out->started);
    }
    ok = store_end(&q, ok);
    bool here = true;
    if (ok && found) ok = is_for_here(s, buf_str(&out->id), &here, err) && (here || hand_back(s, buf_str(&out->id), err));
    if (ok) *some = found && here;
    return store_unlock(s, ok);
}

bool store_queue_back(Store *s, Str id, Error *err) {
    if (!store_queue_check(s, err) || !store_flush(s, err)) return false;
    store_lock(s);
    return store_unlock(s, hand_back(s, id, err));
}

bool store_queue_park(Store *s, Str id, Str questions, Error *err) {
    if (!store_queue_check(s, err) || !store_flush(s, err)) return false;
    store_lock(s);
    if (!store_begin_alone(s, "park run", err)) return store_unlock(s, false);
    StoreQuery q = store_query(s, SQL_QUEUE_PARK, "park run", err);
    bool ok = store_end(&q, store_bind(&q, "sis", id, epoch_of(own(s), id), questions) && store_row(&q, &(bool){ 0 }));
    if (ok && store_changes(s) == 0) ok = error_set(err, ERR_POLICY, "park run: run " STR_FMT " does not belong to this process any more", STR_ARG(id));
    return store_unlock(s, store_commit(s, ok, "park run", err));            /* with the old epoch, this process writes nothing more to it */
}

bool store_queue_waiting(Store *s, int64_t *n, Error *err) {
    bool some = false;
    if (!store_queue_check(s, err)) return false;
    store_lock(s);
    StoreQuery q = store_query(s, SQL_QUEUE_WAITING, "look at the queue", err);
    bool ok = q.stmt && store_row(&q, &some);
    if (ok) *n = some ? store_int(&q, 0) : 0;
    return store_unlock(s, store_end(&q, ok));
}

bool store_queue_ready(Store *s, int64_t most, int64_t *n, Error *err) {
    bool some = false;
    if (!store_queue_check(s, err)) return false;
    store_lock(s);
    StoreQuery q = store_query(s, SQL_QUEUE_READY, "look at the queue", err);
    bool ok = store_bind(&q, "iisi", (int64_t)STORE_QUEUE_TRIES, (int64_t)STORE_QUEUE_JOURNAL, str_from(own(s)->lease.host_id), most) && store_row(&q, &some);
    if (ok) *n = some ? store_int(&q, 0) : 0;
    return store_unlock(s, store_end(&q, ok));
}

/* ---- runs that no worker may take ---- */

typedef struct Stopped { StoreRun run; uint64_t last; bool cancel; Buf usage, agent; } Stopped;

/* *mine is false if another process was faster. */
static bool seize(Store *s, Str id, Stopped *out, bool *mine, Error *err) {
    store_lock(s);
    if (!store_begin_alone(s, "end run", err)) return store_unlock(s, false);        /* an answer locks its question before the run */
    StoreQuery q = store_query(s, SQL_QUEUE_SEIZE, "end run", err);
    bool ok = store_bind(&q, "si", id, (int64_t)STORE_QUEUE_TRIES) && store_row(&q, mine);
    if (ok && *mine) {
        postgres_hold(own(s), id, store_int(&q, 0), false);
        out->cancel = store_int(&q, 1);
        out->last = (uint64_t)store_int(&q, 2);
        copy_to(&out->usage, store_text(&q, 5));
        copy_to(&out->agent, store_text(&q, 7));
        out->run = (StoreRun){ .id = id, .status = out->cancel ? STR("cancelled") : STR("failed"), .turns = store_int(&q, 3), .tool_calls = store_int(&q, 4),
                               .usage = buf_str(&out->usage), .cost = store_double(&q, 6) };
    }
    return store_unlock(s, store_commit(s, store_end(&q, ok), "end run", err));
}

static bool tell_ended(Store *s, const Stopped *x, Str why, Error *err) {
    Buf data = { 0 };
    EventSink sink = store_event_sink(s);
    event_data_start(&data);
    event_data_str(&data, "status", x->run.status);
    event_data_str(&data, "reason", why);
    event_data_int(&data, "turns", x->run.turns);
    event_data_int(&data, "tool_calls", x->run.tool_calls);
    event_data_end(&data);
    Event e = { .seq = x->last + 1, .time_ns = clock_wall_ns(), .run = x->run.id, .agent = buf_str(&x->agent), .type = STR("run.ended"), .data = buf_str(&data) };
    bool ok = sink.write(sink.self, &e, err) && store_run_end(s, &x->run, err);
    buf_clear(&data);
    return ok;
}

bool store_queue_fail(Store *s, Str id, Str why, Error *err) {
    Stopped x = { .run = { .id = id, .status = STR("failed") } };
    return store_queue_check(s, err) && store_event_last(s, id, &x.last, err) && tell_ended(s, &x, why, err);
}

static bool end_stopped(Store *s, Str id, Error *err) {
    Stopped x = { 0 };
    Buf why = { 0 };
    bool mine = false;
    store_lock(s);
    bool ok = store_unlock(s, postgres_register(own(s), err)) && seize(s, id, &x, &mine, err);
    if (x.cancel) buf_add(&why, STR("cancelled while it waited in the queue"));
    else buf_add_fmt(&why, "%d workers died or lost their lease with this run, without a new event", STORE_QUEUE_TRIES);
    if (ok && mine) ok = tell_ended(s, &x, buf_str(&why), err);
    buf_clear(&why);
    buf_clear(&x.usage);
    buf_clear(&x.agent);
    return ok;
}

static bool next_stopped(Store *s, Buf *id, bool *some, Error *err) {
    store_lock(s);
    StoreQuery q = store_query(s, SQL_QUEUE_STOPPED, "look at the queue", err);
    bool ok = store_bind(&q, "i", (int64_t)STORE_QUEUE_TRIES) && store_row(&q, some);
    if (ok && *some) copy_to(id, store_text(&q, 0));
    return store_unlock(s, store_end(&q, ok));
}

bool store_queue_reap(Store *s, Error *err) {
    Buf id = { 0 };
    bool some = true;
    if (!store_queue_check(s, err)) return false;
    store_lock(s);
    StoreQuery q = store_query(s, SQL_QUEUE_REAP, "look for dead workers", err);
    bool ok = store_unlock(s, store_run(&q));
    while (ok && some) ok = next_stopped(s, &id, &some, err) && (!some || end_stopped(s, buf_str(&id), err));
    buf_clear(&id);
    return ok;
}

/* ---- cancelling ---- */

bool store_queue_cancel(Store *s, Str id, bool *queued, bool *ended, Error *err) {
    *queued = *ended = false;
    if (!s->driver->fence) return true;
    store_lock(s);
    StoreQuery q = store_query(s, SQL_QUEUE_CANCEL, "cancel run", err);
    bool ok = store_bind(&q, "s", id) && store_row(&q, queued);
    bool waits = ok && *queued && str_eq(store_text(&q, 0), STR("ready"));
    ok = store_unlock(s, store_end(&q, ok));
    if (ok && waits) ok = end_stopped(s, id, err);
    *ended = ok && waits;
    return ok;
}

bool store_queue_cancelled(Store *s) { return s->driver->fence && atomic_load(&own(s)->lease.cancelled); }

/* ---- runs that are bound to a host ---- */

bool store_queue_unbind(Store *s, Str id, Error *err) { return store_note_delete(s, STR("queue.host"), id, err); }

bool store_queue_stranded(Store *s, bool (*each)(void *ctx, Str id, Str host), void *ctx, Error *err) {
    bool some = true;
    if (!s->driver->fence) return true;
    store_lock(s);
    StoreQuery q = store_query(s, SQL_QUEUE_STRANDED, "look for stranded runs", err);
    bool ok = q.stmt != NULL;
    while (ok && some && (ok = store_row(&q, &some)) && some)
        if (!each(ctx, store_text(&q, 0), store_text(&q, 1))) break;
    return store_unlock(s, store_end(&q, ok));
}

static bool is_stranded(Store *s, Str id, Buf *host, Error *err) {
    bool some = false;
    StoreQuery q = store_query(s, SQL_QUEUE_PIN, "adopt run", err);
    bool ok = store_bind(&q, "s", id) && store_row(&q, &some);
    if (ok && !some) ok = store_no_such("run", id, err);
    if (ok) copy_to(host, store_text(&q, 1));
    if (ok && !str_eq(store_text(&q, 0), STR("ready"))) ok = error_set(err, ERR_POLICY, "run " STR_FMT " does not wait in the queue", STR_ARG(id));
    if (ok && host->n == 0) ok = error_set(err, ERR_POLICY, "run " STR_FMT " is not bound to a host: any worker takes it", STR_ARG(id));
    if (ok && store_int(&q, 2)) {
        ok = error_set(err, ERR_POLICY, "run " STR_FMT " is not stranded: its host, " STR_FMT ", has a worker", STR_ARG(id), STR_ARG(buf_str(host)));
        error_hint(err, "stop that worker first if another host should take the run");
    }
    return store_end(&q, ok);
}

bool store_queue_adopt(Store *s, Str id, Buf *host, Error *err) {
    if (!store_queue_check(s, err)) return false;
    store_lock(s);
    bool ok = is_stranded(s, id, host, err);
    if (ok) {
        StoreQuery q = store_query(s, SQL_QUEUE_ADOPT, "adopt run", err);
        ok = store_end(&q, store_bind(&q, "s", id) && store_row(&q, &(bool){ 0 }));
        if (ok && store_changes(s) == 0) ok = error_set(err, ERR_POLICY, "run " STR_FMT " has changed meanwhile: try again", STR_ARG(id));
    }
    return store_unlock(s, ok);
}

/* ---- workers ---- */

bool store_queue_workers(Store *s, bool (*each)(void *ctx, const StoreWorker *w), void *ctx, Error *err) {
    bool some = true;
    if (!store_queue_check(s, err)) return false;
    store_lock(s);
    StoreQuery q = store_query(s, SQL_WORKER_EACH, "list workers", err);
    bool ok = q.stmt != NULL;
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        StoreWorker w = { .id = store_text(&q, 0), .host = store_text(&q, 1), .pid = store_int(&q, 2), .kind = store_text(&q, 3),
                          .started_ns = store_int(&q, 4) * 1000, .lease_ms = store_int(&q, 5), .runs = store_text(&q, 6) };
        if (!each(ctx, &w)) break;
    }
    return store_unlock(s, store_end(&q, ok));
}
