/* Events on their way into the database. A commit for each costs more than a small call does; so a server that makes many gathers them
 * in FILE-tail, a file mapped into memory, and brings them into the database many at a time, a moment later. What stands in the file
 * outlives the process like a commit does: whoever opens the database next, and finds the file without an owner, takes in what is left.
 *
 *     | half 0: used, record, record …        | half 1: used, record …               |
 *
 * Those who emit write into the active half, under the lock. Whoever flushes has the store's lock, makes the other half the active one
 * and brings the first one over; nobody waits meanwhile until the second one is full too. `used` grows after the record is there, so a
 * record is there whole or not at all. Taking in twice does no harm (store_page.c). */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/thread.h"
#include "store/inside.h"

#ifdef HARNESS_HOSTILE
enum { HALF = 4 << 10, SOME = 3 };
#else
enum { HALF = 2 << 20, SOME = 2000 };    /* as much as comes while the disk takes its time; what is not used takes no memory */
#endif
enum { TICK_NS = 10000000, AGAIN_NS = 200000000, TEXTS = 5, LINE = 64, AHEAD = 512 };
static const Str lease = { "tail", 4 };

typedef struct Half { _Atomic uint64_t used; char at[HALF - sizeof(uint64_t)]; } Half;
typedef struct Record { uint32_t size; int32_t depth; uint64_t seq; int64_t time_ns; uint32_t n[TEXTS + 1]; } Record;   /* its texts follow */

struct StoreTail {
    pthread_mutex_t lock;                /* guards what follows, and the active half */
    pthread_cond_t changed;
    int active;
    bool idle;                           /* the thread waits for the first event */
    bool ticking;                        /* it waits for more, until a quarter is full */
    bool over;                           /* it is to end */
    Error failed;                        /* of the last flush */
    Half *half;                          /* two, in the file */
    pthread_t thread;
    Store *store;
};

static char *tail_path(const Store *s) {
    char *path = NULL;
    return asprintf(&path, "%s-tail", s->path) < 0 ? NULL : path;
}

/* ---- into the database, with the store's lock held ---- */

/* False: what stands there is no record. */
static bool read_record(const Half *h, uint64_t at, Event *e, uint32_t *size) {
    const uint64_t used = atomic_load_explicit(&h->used, memory_order_acquire);
    Record r;
    if (used > sizeof h->at || used - at < sizeof r) return false;
    memcpy(&r, h->at + at, sizeof r);
    uint64_t need = sizeof r;
    for (int i = 0; i < TEXTS; i++) need += r.n[i];
    if (r.size < need || r.size > used - at || r.size % _Alignof(Record)) return false;
    *e = (Event){ .seq = r.seq, .time_ns = r.time_ns, .depth = r.depth };
    Str *text[TEXTS] = { &e->run, &e->agent, &e->parent, &e->type, &e->data };
    const char *from = h->at + at + sizeof r;
    for (int i = 0; i < TEXTS; from += r.n[i++]) *text[i] = (Str){ from, r.n[i] };
    return *size = r.size, true;
}

/* SOME at a time, so that little memory is needed; always the same ones, so that a page that was written before is the same page again. */
static bool put_pages(Store *s, const Half *h, Error *err) {
    Event *some = mem_alloc(SOME * sizeof *some);
    uint64_t at = 0;
    size_t n;
    bool ok = true;
    do {
        uint32_t size;
        for (n = 0; n < SOME && read_record(h, at, &some[n], &size); n++) at += size;
        ok = store_pages_put(s, some, n, err);
    } while (ok && n == SOME);
    free(some);
    return ok;
}

static bool bring_over(Store *s, Half *h, Error *err) {
    if (!atomic_load_explicit(&h->used, memory_order_acquire)) return true;
    bool ok = store_begin(s, "write events", err) && store_commit(s, put_pages(s, h, err), "write events", err);
    if (ok) atomic_store_explicit(&h->used, 0, memory_order_release);
    return ok;
}

bool store_tail_flush(Store *s, Error *err) {
    StoreTail *t = s->tail;
    Error why = { 0 };
    if (!t) return true;
    store_lock(s);
    bool ok = bring_over(s, &t->half[!t->active], &why);     /* left from a flush that failed? */
    pthread_mutex_lock(&t->lock);
    if (ok) t->active = !t->active;
    pthread_mutex_unlock(&t->lock);
    ok = ok && bring_over(s, &t->half[!t->active], &why);
    pthread_mutex_lock(&t->lock);
    t->failed = why;
    pthread_mutex_unlock(&t->lock);
    if (!ok && err) *err = why;
    return store_unlock(s, ok);
}

/* ---- into the file ---- */

/* The other processor has just read what stood there, or has it still: asked for now, it is here when the next event comes. */
static void fetch_ahead(const Half *h, uint64_t used) {
    for (uint64_t at = used; at < used + AHEAD && at < sizeof h->at; at += LINE) __builtin_prefetch(h->at + at, 1);
}

static bool put(StoreTail *t, const Event *e, uint32_t size) {
    Half *h = &t->half[t->active];
    uint64_t used = atomic_load_explicit(&h->used, memory_order_relaxed);
    if (sizeof h->at - used < size) return false;
    const Str text[TEXTS] = { e->run, e->agent, e->parent, e->type, e->data };
    Record r = { .size = size, .depth = e->depth, .seq = e->seq, .time_ns = e->time_ns };
    char *to = h->at + used + sizeof r;
    for (int i = 0; i < TEXTS; to += text[i++].n) {
        r.n[i] = (uint32_t)text[i].n;
        if (text[i].n) memcpy(to, text[i].at, text[i].n);
    }
    memcpy(h->at + used, &r, sizeof r);
    atomic_store_explicit(&h->used, used + size, memory_order_release);
    fetch_ahead(h, used + size);
    if (t->idle || (t->ticking && used > sizeof h->at / 4)) t->idle = t->ticking = false, pthread_cond_signal(&t->changed);
    return true;
}

/* After a flush that failed the next event tries again at once: who cannot write it down must not go on. */
bool store_tail_add(Store *s, const Event *e, bool *fits, Error *err) {
    StoreTail *t = s->tail;
    const uint64_t need = sizeof(Record) + e->run.n + e->agent.n + e->parent.n + e->type.n + e->data.n + _Alignof(Record) - 1;
    *fits = need < sizeof t->half->at;
    if (!*fits) return store_tail_flush(s, err);
    for (;;) {
        pthread_mutex_lock(&t->lock);
        bool done = t->failed.kind == ERR_NONE && put(t, e, (uint32_t)(need - need % _Alignof(Record)));
        pthread_mutex_unlock(&t->lock);
        if (done) return true;
        if (!store_tail_flush(s, err)) return false;
    }
}

static void *carry(void *arg) {
    StoreTail *t = arg;
    (void)sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 });    /* of this thread: it pushes nobody aside whose events it carries */
    pthread_mutex_lock(&t->lock);
    while (!t->over) {
        t->idle = t->failed.kind == ERR_NONE && !atomic_load_explicit(&t->half[t->active].used, memory_order_relaxed);
        if (t->idle) {
            pthread_cond_wait(&t->changed, &t->lock);
            continue;
        }
        int64_t until = clock_mono_ns() + (t->failed.kind == ERR_NONE ? TICK_NS : AGAIN_NS);
        t->ticking = true;
        thread_cond_wait(&t->changed, &t->lock, until);
        t->ticking = false;
        pthread_mutex_unlock(&t->lock);
        store_tail_flush(t->store, NULL);
        pthread_mutex_lock(&t->lock);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* ---- the file; the lease is held ---- */

static Half *map_file(const char *path, bool make) {
    int fd = fault_hit() ? -1 : open(path, O_RDWR | (make ? O_CREAT : 0) | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
    struct stat st;
    if (fd < 0) return NULL;
    bool ok = make ? posix_fallocate(fd, 0, 2 * sizeof(Half)) == 0 : fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= (off_t)(2 * sizeof(Half));
    void *at = ok ? mmap(NULL, 2 * sizeof(Half), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    close(fd);
    if (at == MAP_FAILED) return NULL;
    madvise(at, 2 * sizeof(Half), MADV_DONTFORK);
    return at;
}

static bool take_in(Store *s, Half *half, Error *err) { return bring_over(s, &half[0], err) && bring_over(s, &half[1], err); }

/* What a process left that was killed. What cannot be taken in stays for the next one. */
void store_tail_recover(Store *s) {
    char *path = tail_path(s);
    if (path && access(path, F_OK) == 0 && store_lease_sure(s, lease)) {
        Half *half = map_file(path, false);
        if (!half || take_in(s, half, NULL)) unlink(path);
        if (half) munmap(half, 2 * sizeof *half);
        store_lease_drop(s, lease);
    }
    free(path);
}

static void end(StoreTail *t, bool done) {
    Store *s = t->store;
    char *path = tail_path(s);
    if (done && path) unlink(path);
    free(path);
    munmap(t->half, 2 * sizeof *t->half);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->changed);
    free(t);
    store_lease_drop(s, lease);
}

static StoreTail *tail_new(Store *s, Half *half) {
    StoreTail *t = mem_zero(1, sizeof *t);
    pthread_mutex_init(&t->lock, NULL);
    thread_cond_init(&t->changed);
    t->half = half;
    t->store = s;
    return t;
}

/* Tried once, before the first event that may go this way: nobody finds one that is not ready. */
void store_tail_start(Store *s) {
    if (s->tail_tried) return;
    s->tail_tried = true;
    if (s->sync_full || !store_lease_sure(s, lease)) return;
    char *path = tail_path(s);
    Half *half = path ? map_file(path, true) : NULL;
    free(path);
    if (!half) return store_lease_drop(s, lease);
    StoreTail *t = tail_new(s, half);
    bool ok = take_in(s, half, NULL);
    if (ok && thread_start(&t->thread, carry, t) == 0) s->tail = t;
    else end(t, ok);
}

void store_tail_close(Store *s) {
    StoreTail *t = s->tail;
    if (!t) return;
    pthread_mutex_lock(&t->lock);
    t->over = true;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    end(t, store_tail_flush(s, NULL));
}
