/* Events that are written a little later, many in one transaction: for runs with many short calls, whose every event would else be a transaction of its
 * own. One thread per store, started with the first of them. */
#include <signal.h>
#include <time.h>
#include "base/arena.h"
#include "base/mem.h"
#include "base/vec.h"
#include "store/inside.h"

enum { WAIT_NS = 20000000, BYTES_MAX = 1 << 20 };

/* `waiting` and its texts are filled under `lock`; whoever writes has `writing`, swaps them for the empty pair, and lets others go on. */
struct StoreGather {
    Store *store;
    pthread_mutex_t lock, writing;
    pthread_cond_t some;
    pthread_t thread;
    bool started, ending;
    VEC(Event) waiting, spare;
    Arena texts, spare_texts;
    size_t bytes;
    Error failed;                        /* of the thread, for the next who writes */
};

StoreGather *store_gather_new(Store *s) {
    StoreGather *g = mem_zero(1, sizeof *g);
    g->store = s;
    pthread_mutex_init(&g->lock, NULL);
    pthread_mutex_init(&g->writing, NULL);
    pthread_cond_init(&g->some, NULL);
    return g;
}

/* ---- writing ---- */

static bool write_waiting(StoreGather *g, Error *err) {
    Store *s = g->store;
    store_lock(s);
    bool ok = store_begin(s, "write events", err);
    for (size_t i = 0; ok && i < g->spare.n; i++) ok = store_event_put(s, &g->spare.at[i], err);
    return store_unlock(s, store_commit(s, ok, "write events", err));
}

bool store_gather_flush(StoreGather *g, Error *err) {
    if (!g) return true;
    pthread_mutex_lock(&g->writing);
    pthread_mutex_lock(&g->lock);
    VEC(Event) events = { g->waiting.at, g->waiting.n, g->waiting.cap };
    Arena texts = g->texts;
    bool ok = g->failed.kind == ERR_NONE;
    if (!ok) *err = g->failed, g->failed = (Error){ 0 };
    g->waiting.at = g->spare.at, g->waiting.n = 0, g->waiting.cap = g->spare.cap;
    g->texts = g->spare_texts;
    g->bytes = 0;
    pthread_mutex_unlock(&g->lock);
    g->spare.at = events.at, g->spare.n = events.n, g->spare.cap = events.cap;
    g->spare_texts = texts;
    if (g->spare.n && !write_waiting(g, ok ? err : &(Error){ 0 })) ok = false;
    g->spare.n = 0;
    arena_reset(&g->spare_texts);
    pthread_mutex_unlock(&g->writing);
    return ok;
}

/* ---- the thread ---- */

static void *write_later(void *arg) {
    StoreGather *g = arg;
    pthread_mutex_lock(&g->lock);
    while (!g->ending) {
        if (g->waiting.n == 0) {
            pthread_cond_wait(&g->some, &g->lock);
            continue;
        }
        pthread_mutex_unlock(&g->lock);
        nanosleep(&(struct timespec){ 0, WAIT_NS }, NULL);
        Error err = { 0 };
        bool ok = store_gather_flush(g, &err);
        pthread_mutex_lock(&g->lock);
        if (!ok) g->failed = err;
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

/* With the lock held. Signals stay with the threads that expect them. */
static void start(StoreGather *g) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    g->started = pthread_create(&g->thread, NULL, write_later, g) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool store_gather_add(StoreGather *g, const Event *e, Error *err) {
    pthread_mutex_lock(&g->lock);
    if (!g->started) start(g);
    Event copy = *e;
    copy.run = arena_str(&g->texts, e->run);
    copy.agent = arena_str(&g->texts, e->agent);
    copy.parent = arena_str(&g->texts, e->parent);
    copy.type = arena_str(&g->texts, e->type);
    copy.data = arena_str(&g->texts, e->data);
    VEC_PUSH(&g->waiting, copy);
    g->bytes += e->data.n + sizeof copy;
    if (g->waiting.n == 1) pthread_cond_signal(&g->some);
    bool now = !g->started || g->bytes > BYTES_MAX || g->failed.kind != ERR_NONE;
    pthread_mutex_unlock(&g->lock);
    return !now || store_gather_flush(g, err);
}

void store_gather_free(StoreGather *g) {
    if (!g) return;
    pthread_mutex_lock(&g->lock);
    g->ending = true;
    pthread_cond_signal(&g->some);
    pthread_mutex_unlock(&g->lock);
    if (g->started) pthread_join(g->thread, NULL);
    store_gather_flush(g, &(Error){ 0 });
    VEC_CLEAR(&g->waiting);
    VEC_CLEAR(&g->spare);
    arena_clear(&g->texts);
    arena_clear(&g->spare_texts);
    pthread_cond_destroy(&g->some);
    pthread_mutex_destroy(&g->lock);
    pthread_mutex_destroy(&g->writing);
    free(g);
}
