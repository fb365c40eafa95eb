#include "tool/pipeline/control.h"
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "store/store_queue.h"
#include "tool/pipeline/park.h"

enum { LOOK_NS = 200000000 };

struct Control {
    Store *store;
    pthread_t thread;
    pthread_mutex_t lock;                /* guards what follows; taken before the store's and a run's */
    pthread_cond_t changed;
    bool over;
    int64_t version;                     /* the store's data version at the last check */
    VEC(Run *) runs;
    VEC(const ControlQuestion *) questions;
};

/* ---- commands ---- */

typedef struct Taken { int64_t n; bool cancel; char *text; } Taken;
typedef struct Taking { int64_t seen; VEC(Taken) all; } Taking;

static bool take_command(void *ctx, const StoreCommand *c) {
    Taking *t = ctx;
    t->seen = c->n;
    VEC_PUSH(&t->all, (Taken){ c->n, str_eq(c->kind, STR("cancel")), str_dup(c->body) });
    return true;
}

/* `old`: commands sent before this process had the run. */
static void carry_out(Run *r, Taking *t, bool old) {
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < t->all.n; i++) {
        if (t->all.at[i].cancel) free(t->all.at[i].text);
        else VEC_PUSH(&r->messages, (RunMessage){ t->all.at[i].n, t->all.at[i].text });
    }
    pthread_mutex_unlock(&r->lock);
    for (size_t i = 0; i < t->all.n && !old; i++)
        if (t->all.at[i].cancel) cancel_fire(r->cancel);
    VEC_CLEAR(&t->all);
}

static bool look_for_commands(Run *r, bool old, Error *err) {
    Taking t = { .seen = r->commands_seen };
    bool ok = store_command_each(r->store, r->id, r->commands_seen, take_command, &t, err);
    r->commands_seen = t.seen;
    carry_out(r, &t, old);
    return ok;
}

bool run_take_message(Run *r, int64_t *n, Buf *text) {
    bool some = false;
    pthread_mutex_lock(&r->lock);
    while (!some && r->messages.n) {
        RunMessage m = r->messages.at[0];
        memmove(&r->messages.at[0], &r->messages.at[1], --r->messages.n * sizeof m);
        some = m.n > r->messages_said;
        if (some) *n = r->messages_said = m.n, buf_reset(text), buf_add(text, str_from(m.text));
        free(m.text);
    }
    pthread_mutex_unlock(&r->lock);
    return some;
}

void run_note_message(Run *r, int64_t n) {
    pthread_mutex_lock(&r->lock);
    if (n > r->messages_said) r->messages_said = n;
    pthread_mutex_unlock(&r->lock);
}

/* ---- questions ---- */

static void look_at_question(Control *c, const ControlQuestion *q) {
    bool open = true;
    if (store_question_open(c->store, q->id, &open, NULL) && !open) cancel_fire(q->stop);
}

/* Parks a run that waits for nothing but its questions. */
static void look_at_run(Control *c, Run *r) {
    size_t asking = 0;
    for (size_t i = 0; i < c->questions.n; i++) asking += c->questions.at[i]->run == r && c->questions.at[i]->parks;
    if (!park_try(r, asking)) return;
    for (size_t i = 0; i < c->questions.n; i++)
        if (c->questions.at[i]->run == r) cancel_fire(c->questions.at[i]->stop);
}

/* ---- the thread ---- */

static void look(Control *c) {
    int64_t now = c->version;
    if (store_lost(c->store) || store_queue_cancelled(c->store)) {           /* lost: another process may take the runs */
        for (size_t i = 0; i < c->runs.n; i++) cancel_fire(c->runs.at[i]->cancel);
        return;
    }
    for (size_t i = 0; c->questions.n && i < c->runs.n; i++) look_at_run(c, c->runs.at[i]);
    if (!store_version(c->store, &now, NULL) || now == c->version) return;       /* a store that cannot be read is noticed by the runs themselves */
    c->version = now;
    for (size_t i = 0; i < c->runs.n; i++) (void)look_for_commands(c->runs.at[i], false, NULL);
    for (size_t i = 0; i < c->questions.n; i++) look_at_question(c, c->questions.at[i]);
}

static void *look_until_over(void *arg) {
    Control *c = arg;
    pthread_mutex_lock(&c->lock);
    while (!c->over)
        if (!thread_cond_wait(&c->changed, &c->lock, clock_mono_ns() + LOOK_NS)) look(c);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static Control *start(Store *store, Error *err) {
    Control *c = mem_zero(1, sizeof *c);
    c->store = store;
    c->version = -1;
    pthread_mutex_init(&c->lock, NULL);
    thread_cond_init(&c->changed);
    int problem = thread_start(&c->thread, look_until_over, c);
    if (problem == 0) return c;
    error_set(err, ERR_IO, "start a thread: %s", strerror(problem));
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->changed);
    free(c);
    return NULL;
}

static Control *control_of(Run *r, Error *err) {
    Runtime *rt = r->rt;
    pthread_mutex_lock(&rt->lock);
    if (!rt->control) rt->control = start(r->store, err);
    Control *c = rt->control;
    pthread_mutex_unlock(&rt->lock);
    return c;
}

static Control *control_now(Runtime *rt) {
    pthread_mutex_lock(&rt->lock);
    Control *c = rt->control;
    pthread_mutex_unlock(&rt->lock);
    return c;
}

void control_free(Control *c) {
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->over = true;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    VEC_CLEAR(&c->runs);
    VEC_CLEAR(&c->questions);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->changed);
    free(c);
}

bool control_watch(Run *r, Error *err) {
    Control *c = control_of(r, err);
    if (!c) return false;
    pthread_mutex_lock(&c->lock);
    bool ok = !r->config.resume || look_for_commands(r, true, err);
    if (ok) VEC_PUSH(&c->runs, r);
    pthread_mutex_unlock(&c->lock);
    return ok;
}

void control_forget(Run *r) {
    Control *c = control_now(r->rt);
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->runs.n; i++)
        if (c->runs.at[i] == r) {
            c->runs.at[i] = c->runs.at[--c->runs.n];
            break;
        }
    pthread_mutex_unlock(&c->lock);
}

bool control_question_start(Run *r, const ControlQuestion *q, Error *err) {
    Control *c = control_of(r, err);
    if (!c) return false;
    pthread_mutex_lock(&c->lock);
    VEC_PUSH(&c->questions, q);
    look_at_question(c, q);                              /* it may have been answered before the thread knew of it */
    pthread_mutex_unlock(&c->lock);
    return true;
}

void control_question_end(Run *r, const ControlQuestion *q) {
    Control *c = control_now(r->rt);
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->questions.n; i++)
        if (c->questions.at[i] == q) {
            c->questions.at[i] = c->questions.at[--c->questions.n];
            break;
        }
    pthread_mutex_unlock(&c->lock);
}
