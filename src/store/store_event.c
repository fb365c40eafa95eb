/* Events. An append copies the event into a queue in memory; a flush writes the whole queue in one transaction.
 *
 *     emitters → filling → (flush: store lock held) → writing → BEGIN, INSERT …, COMMIT
 *
 * Any thread may flush: one that must wait for its events does so itself, and a thread of the store does it TICK_NS after the
 * first event otherwise. A flush takes all that is queued, so threads that wait for the store's lock usually find their
 * events written. `writing` is not empty between flushes only when the last one failed; the next one retries the same events. */
#include <sched.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/clock.h"
#include "base/table.h"
#include "base/thread.h"
#include "store/store_private.h"

#ifdef HARNESS_HOSTILE
enum { QUEUE_MAX = 4 << 10 };
#else
enum { QUEUE_MAX = 1 << 20 };            /* an emitter flushes first if more bytes than this are queued */
#endif
enum { TICK_NS = 5000000, AGAIN_NS = 200000000, TEXTS = 5, EVENT_MAX = 900 << 20 };      /* SQLite's limit for a row is 10^9 bytes */

/* The strings follow the struct. `skip`: the event can never be written. */
typedef struct Record { uint64_t size, seq; int64_t time_ns; int depth; bool skip; uint32_t n[TEXTS]; } Record;

/* ---- writing ---- */

typedef struct Batch { Arena arena; Table runs; StoreWriter *last; } Batch;

/* False with ERR_NONE: no such run. */
static bool find_run(Store *s, Batch *b, Str id, Error *err) {
    if (b->last && str_eq(b->last->id, id)) return true;
    b->last = table_get(&b->runs, id);
    if (b->last) return true;
    StoreWriter run;
    if (!store_writer_open(s, id, &run, err) || run.n == 0) return false;
    b->last = ARENA_ARRAY(&b->arena, StoreWriter, 1);
    *b->last = run;
    table_put(&b->runs, id, b->last);
    return true;
}

static bool write_runs(Store *s, Batch *b, Error *err) {
    bool ok = true;
    for (size_t i = 0; ok && i < b->runs.n; i++) ok = store_writer_close(s, b->runs.entry[i].value, err);
    return ok;
}

static Event event_at(const char *at, Record *out) {
    Record r;
    memcpy(&r, at, sizeof r);
    Event e = { .seq = r.seq, .time_ns = r.time_ns, .depth = r.depth };
    Str *text[TEXTS] = { &e.run, &e.agent, &e.parent, &e.type, &e.data };
    at += sizeof r;
    for (int i = 0; i < TEXTS; at += r.n[i++]) *text[i] = (Str){ at, r.n[i] };
    *out = r;
    return e;
}

/* Marks an event that can never be written, so that it does not block other runs: the next flush skips it. */
static bool give_up(Store *s, size_t at) {
    Record r;
    memcpy(&r, s->queue.writing.at + at, sizeof r);
    r.skip = true;
    memcpy(s->queue.writing.at + at, &r, sizeof r);
    return false;
}

static bool write_one(Store *s, Batch *b, const Event *e, size_t at, Error *err) {
    if (!find_run(s, b, e->run, err)) {
        if (err->kind != ERR_NONE) return false;
        error_set(err, ERR_VALIDATION, "write events: no such run: " STR_FMT, STR_ARG(e->run));
        return give_up(s, at);
    }
    if (store_writer_add(s, b->last, e, err)) return true;
    if (!s->driver->is_taken(s)) return false;
    error_set(err, ERR_IO, "write events: %s already has event %llu of run " STR_FMT ": another process writes it", s->name,
              (unsigned long long)e->seq, STR_ARG(e->run));
    return give_up(s, at);
}

/* Moves the queue to `writing`, after the rest of a failed flush. */
static void take(StoreQueue *q) {
    pthread_mutex_lock(&q->lock);
    if (q->writing.n == 0) {
        Buf empty = q->writing;
        q->writing = q->filling;
        q->filling = empty;
    } else {
        buf_add(&q->writing, buf_str(&q->filling));
        buf_reset(&q->filling);
    }
    pthread_mutex_unlock(&q->lock);
}

/* After a COMMIT with an unknown outcome: events that are committed are not written again. */
static bool skip_committed(Store *s, Error *err) {
    bool yes = false;
    size_t unsure = s->queue.unsure;
    Record r;
    if (!unsure) return true;
    if (!s->driver->committed(s, &yes, err)) return false;
    for (size_t at = 0; yes && at < unsure; at += r.size) {
        memcpy(&r, s->queue.writing.at + at, sizeof r);
        (void)give_up(s, at);
    }
    s->queue.unsure = 0;
    return true;
}

bool store_events_write(Store *s, Error *err) {
    Batch b = { 0 };
    Record r;
    bool ok = skip_committed(s, err);
    for (size_t at = 0; ok && at < s->queue.writing.n; at += r.size) {
        Event e = event_at(s->queue.writing.at + at, &r);
        ok = r.skip || write_one(s, &b, &e, at, err);
    }
    ok = ok && write_runs(s, &b, err);
    table_clear(&b.runs);
    arena_clear(&b.arena);
    return ok;
}

bool store_events_queued(Store *s) {
    take(&s->queue);
    return s->queue.writing.n > 0;
}

void store_events_done(Store *s, bool ok, const Error *why) {
    StoreQueue *q = &s->queue;
    if (ok) q->unsure = 0;
    else if (s->driver->was_unsure && s->driver->was_unsure(s)) q->unsure = q->writing.n;
    if (ok && q->writing.cap > 2 * (size_t)QUEUE_MAX) buf_clear(&q->writing);            /* shrink the buffer after an oversized event */
    else if (ok) buf_reset(&q->writing);
    pthread_mutex_lock(&q->lock);
    if (ok) q->failed = (Error){ 0 };
    else q->failed = *why;
    pthread_mutex_unlock(&q->lock);
}

bool store_flush(Store *s, Error *err) {
    Error why = { 0 };
    bool ok = true;
    store_lock(s);
    int64_t since = s->driver->again ? clock_mono_ns() : 0;
    if (store_events_queued(s)) {
        do {
            ok = store_begin(s, "write events", &why) && store_commit(s, store_events_write(s, &why), "write events", &why);
            store_events_done(s, ok, &why);
        } while (!ok && s->driver->again && s->driver->again(s, since));
    }
    if (!ok && err) *err = why;
    return store_unlock(s, ok);
}

/* ---- the queue ---- */

static void put(StoreQueue *q, const Event *e, size_t size) {
    const Str text[TEXTS] = { e->run, e->agent, e->parent, e->type, e->data };
    Record r;
    memset(&r, 0, sizeof r);
    r.size = size;
    r.seq = e->seq;
    r.time_ns = e->time_ns;
    r.depth = e->depth;
    for (int i = 0; i < TEXTS; i++) r.n[i] = (uint32_t)text[i].n;
    buf_add(&q->filling, (Str){ (const char *)&r, sizeof r });
    for (int i = 0; i < TEXTS; i++) buf_add(&q->filling, text[i]);
    if (q->idle || (q->ticking && q->filling.n > QUEUE_MAX / 4)) {
        q->idle = q->ticking = false;
        pthread_cond_signal(&q->changed);
    }
}

static void *flush_later(void *arg) {
    Store *s = arg;
    StoreQueue *q = &s->queue;
    (void)sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 });   /* this thread does not preempt the emitters */
    pthread_mutex_lock(&q->lock);
    while (!q->over) {
        bool failed = q->failed.kind != ERR_NONE;
        q->idle = !failed && q->filling.n == 0;
        if (q->idle) {
            pthread_cond_wait(&q->changed, &q->lock);
            continue;
        }
        q->ticking = true;
        thread_cond_wait(&q->changed, &q->lock, clock_mono_ns() + (failed ? AGAIN_NS : TICK_NS));
        q->ticking = false;
        pthread_mutex_unlock(&q->lock);
        store_flush(s, NULL);
        pthread_mutex_lock(&q->lock);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

/* After a failed flush the next append flushes first: a caller whose events cannot be written must stop. */
static bool append(void *self, const Event *e, Error *err) {
    Store *s = self;
    StoreQueue *q = &s->queue;
    size_t size = sizeof(Record) + e->run.n + e->agent.n + e->parent.n + e->type.n + e->data.n;
    if (e->seq >= UINT32_MAX) return error_set(err, ERR_LIMIT, "write events: run " STR_FMT " has too many events", STR_ARG(e->run));
    if (size > EVENT_MAX) return error_set(err, ERR_LIMIT, "write events: an event of %zu bytes is too large for %s", size, s->name);
    for (;;) {
        pthread_mutex_lock(&q->lock);
        bool fits = q->failed.kind == ERR_NONE && q->filling.n < QUEUE_MAX;
        if (fits) put(q, e, size);
        if (fits && !q->tried) q->started = thread_start(&q->thread, flush_later, s) == 0;
        q->tried = true;
        bool alone = !q->started;
        pthread_mutex_unlock(&q->lock);
        if (fits && !alone) return true;
        if (!store_flush(s, err)) return false;
        if (fits) return true;
    }
}

EventSink store_event_sink(Store *s) { return (EventSink){ append, NULL, s }; }

void store_queue_init(StoreQueue *q) {
    pthread_mutex_init(&q->lock, NULL);
    thread_cond_init(&q->changed);
}

void store_queue_close(Store *s) {
    StoreQueue *q = &s->queue;
    pthread_mutex_lock(&q->lock);
    q->over = true;
    pthread_cond_signal(&q->changed);
    pthread_mutex_unlock(&q->lock);
    if (q->started) pthread_join(q->thread, NULL);
    if (s->ready) store_flush(s, NULL);
    buf_clear(&q->filling);
    buf_clear(&q->writing);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->changed);
}

/* ---- reading ---- */

static bool walk_page(Store *s, int64_t *from, int64_t to, const char *doing, bool (*each)(void *ctx, const Event *e, Str hash), void *ctx, bool *more,
                      Error *err) {
    StoreQuery q = store_query(s, SQL_EVENT_EACH, doing, err);
    int rows = 0;
    bool some = true, ok = store_bind(&q, "ii", *from, to);
    *more = false;
    while (ok && some && (ok = store_row(&q, &some)) && some) {
        Event e = { .seq = (uint64_t)store_int(&q, 0), .time_ns = store_int(&q, 1), .agent = store_text(&q, 2), .parent = store_text(&q, 3),
                    .depth = (int)store_int(&q, 4), .type = store_text(&q, 5), .data = store_text(&q, 6) };
        *from = (*from & ~(int64_t)UINT32_MAX) + (int64_t)e.seq + 1;
        *more = ++rows == s->driver->page;
        if (!each(ctx, &e, store_text(&q, 7))) return *more = false, store_end(&q, true);
    }
    return store_end(&q, ok);
}

bool store_event_walk(Store *s, int64_t from, int64_t to, const char *doing, bool (*each)(void *ctx, const Event *e, Str hash), void *ctx, Error *err) {
    bool more = true, ok = true;
    while (ok && more && from <= to) ok = walk_page(s, &from, to, doing, each, ctx, &more, err);
    return ok;
}

typedef struct Walk { Str run; bool (*each)(void *ctx, const Event *e); void *ctx; } Walk;

static bool pass_on(void *ctx, const Event *e, Str hash) {
    const Walk *w = ctx;
    Event whole = *e;
    (void)hash;
    whole.run = w->run;
    return w->each(w->ctx, &whole);
}

static bool walk_events(Store *s, Str run, uint64_t from, bool (*each)(void *ctx, const Event *e), void *ctx, Error *err) {
    int64_t n;
    if (!store_run_number(s, run, &n, err)) return false;
    return store_event_walk(s, store_event_id(n, from), store_event_id(n, UINT32_MAX), "read events", pass_on, &(Walk){ run, each, ctx }, err);
}

bool store_event_each(Store *s, Str run, uint64_t from, bool (*each)(void *ctx, const Event *e), void *ctx, Error *err) {
    if (!store_flush(s, err)) return false;
    store_lock(s);
    return store_unlock(s, walk_events(s, run, from, each, ctx, err));
}

bool store_event_last(Store *s, Str run, uint64_t *seq, Error *err) {
    int64_t n;
    if (!store_flush(s, err)) return false;
    store_lock(s);
    if (!store_run_number(s, run, &n, err)) return store_unlock(s, false);
    StoreQuery q = store_query(s, SQL_EVENT_LAST, "read events", err);
    bool some = false, ok = store_bind(&q, "ii", store_event_id(n, 0), store_event_id(n, UINT32_MAX)) && store_row(&q, &some);
    if (ok) *seq = some ? (uint64_t)store_int(&q, 0) : 0;
    return store_unlock(s, store_end(&q, ok));
}
