/* Server-sent events. One thread looks for changes in the store, five times a second while there is a stream, and writes to all streams. Without a
 * stream it sleeps. */
#include "doors/console_private.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/random.h"
#include "store/store_dialog.h"
#include "store/store_page.h"

enum { WINDOW = 300, CATCH_UP = 200, EVENTS_AT_ONCE = 500, EVENTS_BYTES = 1 << 20, COMMENT_S = 15, LIVE_S = 2, DATABASE_S = 1, ANNOUNCE_S = 4 };
#define LOOK_NS ((int64_t)200 * 1000000)
#define SECOND_NS ((int64_t)1000000000)

typedef struct Stream {
    HttpServerRequest *q;                /* a reference */
    Buf run;                             /* whose events are sent; empty: none */
    uint64_t seq;                        /* the last one that was sent */
    int64_t since_n, since_ms;           /* what the client has: from the id that it sent; 0: it sent none */
    int64_t said_ns;
    bool fresh;
    atomic_bool gone;
} Stream;

/* A run as it was when the thread last looked. */
typedef struct Row { int64_t n, started_ns, ended_ns; uint64_t mark; bool running; size_t at, size; } Row;   /* at, size: its JSON in the window's text */
typedef struct Window { Store *store; VEC(Row) rows; Buf text; uint64_t questions, dialogs; int64_t open, open_dialogs; } Window;

struct ConsoleStreams {
    Console *console;
    pthread_t thread;
    bool started;
    Window now, before;                  /* only used by the thread, like what follows */
    int64_t version, looked_ns;
    bool busy;                           /* a run has more events than one look sends */
    char viewer[24];                     /* names this console among those with open pages */
    int64_t announced_ns;                /* when it last said that a page is open; 0: none is */
    pthread_mutex_t lock;                /* guards what follows */
    pthread_cond_t changed;
    bool over, poked;
    VEC(Stream *) all;
    VEC(char *) jobs;                    /* JSON of jobs that changed */
};

/* ---- what is there ---- */

static void window_reset(Window *w) {
    w->rows.n = 0;
    buf_reset(&w->text);
    w->questions = w->dialogs = 0;
    w->open = w->open_dialogs = 0;
}

static void window_clear(Window *w) {
    VEC_CLEAR(&w->rows);
    buf_clear(&w->text);
}

static bool take_row(void *ctx, int64_t n, const StoreRun *r) {
    Window *w = ctx;
    size_t at = w->text.n;
    store_page_run_json(w->store, r, &w->text);
    Str json = { w->text.at + at, w->text.n - at };
    VEC_PUSH(&w->rows, ((Row){ n, r->started_ns, r->ended_ns, hash_bytes(json), str_eq(r->status, STR("running")), at, json.n }));
    return true;
}

static bool take_question(void *ctx, const StoreApproval *a) {
    Window *w = ctx;
    w->open++;
    w->questions = w->questions * 31 + hash_bytes(a->id);
    return true;
}

static bool take_dialog(void *ctx, const StoreDialog *d) {
    Window *w = ctx;
    if (!console_dialog_shown(w->store, d)) return true;
    w->open_dialogs++;
    w->dialogs = w->dialogs * 31 + hash_bytes(d->id);
    return true;
}

static bool any_running(const Window *w) {
    for (size_t i = 0; i < w->rows.n; i++)
        if (w->rows.at[i].running) return true;
    return false;
}

/* True if it is time to look without a sign of a change: a process that dies changes nothing in the store, and the version of a database does not count
 * new runs and questions. */
static bool is_due(const ConsoleStreams *s, int64_t now_ns) {
    int64_t since = now_ns - s->looked_ns;
    if (s->looked_ns == 0 || (since > LIVE_S * SECOND_NS && any_running(&s->now))) return true;
    return since > DATABASE_S * SECOND_NS && !store_version_counts_all(s->console->config->store);
}

static bool may_have_changed(ConsoleStreams *s, bool poked) {
    int64_t version = s->version, now = clock_mono_ns();
    bool read = store_version(s->console->config->store, &version, NULL);
    bool due = poked || (read && version != s->version) || is_due(s, now);
    s->version = version;
    if (due) s->looked_ns = now;
    return due;
}

static bool look(ConsoleStreams *s) {
    Window old = s->before;
    Store *store = s->console->config->store;
    s->before = s->now;
    s->now = old;
    window_reset(&s->now);
    s->now.store = store;
    return store_page_runs(store, 0, WINDOW, take_row, &s->now, NULL) && store_approval_each(store, take_question, &s->now, NULL) &&
           store_dialog_each(store, take_dialog, &s->now, NULL);
}

static const Row *find_row(const Window *w, int64_t n) {
    for (size_t i = 0; i < w->rows.n; i++)
        if (w->rows.at[i].n == n) return &w->rows.at[i];
    return NULL;
}

static Str row_json(const Window *w, const Row *r) { return (Str){ w->text.at + r->at, r->size }; }

/* ---- messages ---- */

static int64_t newest(const ConsoleStreams *s) { return s->now.rows.n ? s->now.rows.at[0].n : 0; }

/* A line break inside the data starts another data line; JSON treats it as white space. */
static void add_message(ConsoleStreams *s, const Stream *t, Buf *out, const char *event, Str json) {
    const ConsoleConfig *config = s->console->config;
    Buf data = { 0 };
    buf_add(&data, json);
    if (config->hide) config->hide(config->ctx, &data);
    buf_add_fmt(out, "id: %lld.%llu.%lld\nevent: %s\ndata: ", (long long)newest(s), (unsigned long long)t->seq, (long long)(clock_wall_ns() / 1000000), event);
    for (size_t i = 0; i < data.n; i++) {
        if (data.at[i] == '\n' || data.at[i] == '\r') buf_add(out, STR("\ndata: "));
        else buf_add_char(out, data.at[i]);
    }
    buf_add(out, STR("\n\n"));
    buf_clear(&data);
}

static void add_open(ConsoleStreams *s, const Stream *t, Buf *out, const char *event) {
    char text[80];
    snprintf(text, sizeof text, "{\"open\":%lld,\"dialogs\":%lld}", (long long)s->now.open, (long long)s->now.open_dialogs);
    add_message(s, t, out, event, str_from(text));
}

/* What changed since the id of the client: runs that are new, running, or ended since. */
static bool missed(const Stream *t, const Row *r) {
    return r->n > t->since_n || r->running || r->ended_ns / 1000000 >= t->since_ms;
}

static void greet(ConsoleStreams *s, Stream *t, Buf *out) {
    size_t n = 0;
    t->fresh = false;
    add_open(s, t, out, "hello");
    if (!t->since_ms) return;
    for (size_t i = 0; i < s->now.rows.n; i++) n += missed(t, &s->now.rows.at[i]);
    if (n > CATCH_UP) return add_message(s, t, out, "reset", STR("{}"));
    for (size_t i = s->now.rows.n; i > 0; i--)
        if (missed(t, &s->now.rows.at[i - 1])) add_message(s, t, out, "run", row_json(&s->now, &s->now.rows.at[i - 1]));
}

static void add_changes(ConsoleStreams *s, const Stream *t, Buf *out) {
    int64_t oldest = s->before.rows.n ? VEC_LAST(&s->before.rows).n : 0;
    for (size_t i = s->now.rows.n; i > 0; i--) {
        const Row *r = &s->now.rows.at[i - 1], *old = find_row(&s->before, r->n);
        if (old ? old->mark != r->mark : r->n > oldest) add_message(s, t, out, "run", row_json(&s->now, r));
    }
    if (s->now.open != s->before.open || s->now.questions != s->before.questions) add_open(s, t, out, "approvals");
    if (s->now.dialogs != s->before.dialogs) add_open(s, t, out, "dialogs");
}

typedef struct Sending { ConsoleStreams *s; Stream *t; Buf *out; Buf json; size_t n, start; } Sending;

static bool send_event(void *ctx, const Event *e) {
    Sending *x = ctx;
    if (x->n++ >= EVENTS_AT_ONCE || x->out->n - x->start > EVENTS_BYTES) return x->s->busy = true, false;
    x->t->seq = e->seq;
    buf_reset(&x->json);
    event_write_json(&x->json, e);
    add_message(x->s, x->t, x->out, "event", buf_str(&x->json));
    return true;
}

static void add_events(ConsoleStreams *s, Stream *t, Buf *out) {
    if (!t->run.n) return;
    Sending x = { .s = s, .t = t, .out = out, .start = out->n };
    (void)store_event_each(s->console->config->store, buf_str(&t->run), t->seq + 1, send_event, &x, NULL);   /* the next look tries again */
    buf_clear(&x.json);
}

/* ---- the thread ---- */

static void write_to(Stream *t, Buf *out) {
    int64_t now = clock_mono_ns();
    if (!out->n && now - t->said_ns > COMMENT_S * SECOND_NS) buf_add(out, STR(":\n\n"));
    if (!out->n) return;
    t->said_ns = now;
    if (!http_server_write(t->q, buf_str(out))) atomic_store(&t->gone, true);
}

static void serve_stream(ConsoleStreams *s, Stream *t, bool changed, bool more, char *const *jobs, size_t n_jobs) {
    Buf out = { 0 };
    bool fresh = t->fresh;
    if (fresh) greet(s, t, &out);
    else if (changed) add_changes(s, t, &out);
    if (fresh || changed || more) add_events(s, t, &out);
    for (size_t i = 0; i < n_jobs; i++) add_message(s, t, &out, "job", str_from(jobs[i]));
    write_to(t, &out);
    buf_clear(&out);
}

static void stream_free(Stream *t) {
    http_server_on_gone(t->q, NULL, NULL);
    http_server_end(t->q);
    http_server_release(t->q);
    buf_clear(&t->run);
    free(t);
}

/* Only this thread removes streams. True: there are others. */
static bool drop_gone(ConsoleStreams *s) {
    for (;;) {
        Stream *t = NULL;
        pthread_mutex_lock(&s->lock);
        for (size_t i = 0; i < s->all.n && !t; i++)
            if (atomic_load(&s->all.at[i]->gone)) t = s->all.at[i], s->all.at[i] = s->all.at[--s->all.n];
        bool left = s->all.n > 0;
        pthread_mutex_unlock(&s->lock);
        if (!t) return left;
        stream_free(t);
    }
}

static void serve_all(ConsoleStreams *s, bool poked, char *const *jobs, size_t n_jobs) {
    Stream *all[CONSOLE_STREAMS_MAX];
    pthread_mutex_lock(&s->lock);
    size_t n = s->all.n;
    for (size_t i = 0; i < n; i++) all[i] = s->all.at[i];
    pthread_mutex_unlock(&s->lock);
    bool changed = may_have_changed(s, poked), more = s->busy;
    if (changed) changed = look(s);
    s->busy = false;
    for (size_t i = 0; i < n; i++) serve_stream(s, all[i], changed, more, jobs, n_jobs);
}

/* Tells runs whether a page is open: bridge tools show dialogs there. A store that cannot be written shows none, and the next look tries again. */
static void announce(ConsoleStreams *s, bool open) {
    int64_t now = clock_mono_ns();
    Store *store = s->console->config->store;
    if (open && (!s->announced_ns || now - s->announced_ns > ANNOUNCE_S * SECOND_NS)) {
        if (store_viewer_put(store, str_from(s->viewer), NULL)) s->announced_ns = now;
    } else if (!open && s->announced_ns && store_viewer_remove(store, str_from(s->viewer), NULL)) s->announced_ns = 0;
}

static void *run(void *arg) {
    ConsoleStreams *s = arg;
    pthread_mutex_lock(&s->lock);
    while (!s->over) {
        if (!s->poked && s->all.n == 0) pthread_cond_wait(&s->changed, &s->lock);
        else if (!s->poked) thread_cond_wait(&s->changed, &s->lock, clock_mono_ns() + (s->busy ? LOOK_NS / 20 : LOOK_NS));
        bool poked = s->poked;
        size_t n = s->jobs.n;
        char **jobs = s->jobs.at;
        s->jobs.at = NULL;
        s->jobs.n = s->jobs.cap = 0;
        s->poked = false;
        pthread_mutex_unlock(&s->lock);
        announce(s, drop_gone(s));
        serve_all(s, poked, jobs, n);
        for (size_t i = 0; i < n; i++) free(jobs[i]);
        free(jobs);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static void poke(ConsoleStreams *s) {
    s->poked = true;
    pthread_cond_signal(&s->changed);
}

ConsoleStreams *console_streams_new(Console *console, Error *err) {
    ConsoleStreams *s = mem_zero(1, sizeof *s);
    s->console = console;
    snprintf(s->viewer, sizeof s->viewer, "%016llx", (unsigned long long)random_u64());
    pthread_mutex_init(&s->lock, NULL);
    thread_cond_init(&s->changed);
    int problem = thread_start(&s->thread, run, s);
    s->started = problem == 0;
    if (s->started) return s;
    error_set(err, ERR_IO, "start a thread: %s", strerror(problem));
    console_streams_free(s);
    return NULL;
}

void console_streams_stop(ConsoleStreams *s) {
    if (!s || !s->started) return;
    pthread_mutex_lock(&s->lock);
    s->over = true;
    poke(s);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    s->started = false;
    for (size_t i = 0; i < s->all.n; i++) atomic_store(&s->all.at[i]->gone, true);
    announce(s, drop_gone(s));
}

void console_streams_free(ConsoleStreams *s) {
    if (!s) return;
    console_streams_stop(s);
    (void)drop_gone(s);
    VEC_CLEAR(&s->all);
    for (size_t i = 0; i < s->jobs.n; i++) free(s->jobs.at[i]);
    VEC_CLEAR(&s->jobs);
    window_clear(&s->now);
    window_clear(&s->before);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    free(s);
}

void console_streams_changed(ConsoleStreams *s) {
    pthread_mutex_lock(&s->lock);
    poke(s);
    pthread_mutex_unlock(&s->lock);
}

void console_streams_job(ConsoleStreams *s, Str json) {
    pthread_mutex_lock(&s->lock);
    if (s->all.n) {
        VEC_PUSH(&s->jobs, str_dup(json));
        poke(s);
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- the request ---- */

static void on_gone(void *ctx, HttpServerRequest *q) {
    (void)q;
    atomic_store(&((Stream *)ctx)->gone, true);          /* the thread notices at its next look */
}

static bool read_number(Str *rest, int64_t *out) {
    size_t i = 0;
    *out = 0;
    for (; i < rest->n && i < 18 && rest->at[i] >= '0' && rest->at[i] <= '9'; i++) *out = *out * 10 + (rest->at[i] - '0');
    bool ok = i > 0 && (i == rest->n || rest->at[i] == '.');
    *rest = i < rest->n ? str_sub(*rest, i + 1, rest->n) : STR("");
    return ok;
}

/* "N.SEQ.MS", as add_message writes it. */
static bool read_last(ConsoleCall *c, Stream *t, bool *has_seq, Error *err) {
    Str text = http_server_header(c->q, STR("Last-Event-ID"));
    int64_t seq;
    if (!text.n) text = http_server_query(c->q, STR("last"));
    if (!text.n) return true;
    if (text.n > 60 || !read_number(&text, &t->since_n) || !read_number(&text, &seq) || !read_number(&text, &t->since_ms) || text.n)
        return error_set(err, ERR_VALIDATION, "Last-Event-ID is not an id of this stream");
    t->seq = seq > UINT32_MAX ? UINT32_MAX : (uint64_t)seq;
    return *has_seq = true;
}

static bool prepare(ConsoleCall *c, Stream *t, Error *err) {
    Str run = http_server_query(c->q, STR("run"));
    Store *s = c->console->config->store;
    int64_t n = 0;
    bool has_seq = false;
    if (!read_last(c, t, &has_seq, err)) return false;
    if (!run.n) return t->seq = 0, true;
    if (!store_page_run_number(s, run, &n, err)) return false;
    if (!n) return error_set(err, ERR_VALIDATION, "no such run: " STR_FMT, STR_ARG(str_sub(run, 0, CONSOLE_ID_MAX)));
    buf_add(&t->run, run);
    return has_seq || store_event_last(s, run, &t->seq, err);
}

static bool add_stream(ConsoleStreams *s, Stream *t) {
    static const HttpServerHeader headers[] = { { STR("Content-Type"), STR("text/event-stream") }, { STR("X-Accel-Buffering"), STR("no") } };
    pthread_mutex_lock(&s->lock);
    bool ok = s->all.n < CONSOLE_STREAMS_MAX && !s->over;
    if (ok) {
        http_server_keep(t->q);
        (void)http_server_stream(t->q, 200, headers, sizeof headers / sizeof *headers);      /* false: gone, which the first write notices */
        http_server_on_gone(t->q, on_gone, t);
        VEC_PUSH(&s->all, t);
        poke(s);
    }
    pthread_mutex_unlock(&s->lock);
    return ok;
}

void console_stream(ConsoleCall *c) {
    Error err = { 0 };
    Stream *t = mem_zero(1, sizeof *t);
    *t = (Stream){ .q = c->q, .fresh = true, .said_ns = clock_mono_ns() };
    bool ok = prepare(c, t, &err);
    if (ok && add_stream(c->console->streams, t)) return;
    if (ok) error_set(&err, ERR_LIMIT, "too many streams are open: at most %d", CONSOLE_STREAMS_MAX);
    console_fail(c, &err);
    buf_clear(&t->run);
    free(t);
}
