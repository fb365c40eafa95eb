#include "base/scheduler.h"
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"

enum { FIRST_FACTOR = 4, BUCKETS = 64 };

typedef struct Job Job;
struct Job { Job *next; SchedulerJob *run; void *arg; SchedulerGroup *group; };

/* An owner with queued, running or waiting jobs. `in_hash` links the owners of a bucket, next and prev all owners; an
 * owner moves to the end of the list when one of its jobs starts. */
typedef struct Owner Owner;
struct Owner {
    Owner *in_hash, *next, *prev;
    const void *key;
    Job *first, **last;
    size_t running, waiting;
};

/* One lock guards everything; jobs run without it.
 *
 * `idle` threads sleep: on the condition `work`, or, once a descriptor is watched, in epoll_wait, where the eventfd
 * `wake` replaces the condition. `woken` (0 or 1) of them were signalled for a job, and `starting` threads are not
 * running yet. At most one thread is being woken at a time: it wakes the next one when it has taken a job and more are
 * queued, so a burst of short jobs wakes no more threads than needed. `pending` counts jobs that have not ended. */
struct Scheduler {
    pthread_mutex_t lock;
    pthread_cond_t work, done;                         /* for idle threads; for threads that wait for jobs to end */
    Owner *buckets[BUCKETS], *owners, *owners_end;
    VEC(pthread_t) threads;
    size_t max, running, waiting, idle, woken, starting, pending;
    bool closing;
    int epoll, wake;                                   /* -1: nothing is watched */
    VEC(SchedulerWatch *) watches;
    size_t armed;
};

/* Freed with the scheduler: a thread may hold an unprocessed event for it. `regular`: epoll does not support it. */
struct SchedulerWatch { Scheduler *scheduler; int fd; SchedulerJob *job; void *arg; int running; bool armed, removed, regular; };

struct SchedulerGroup { Scheduler *scheduler; size_t pending; };

static _Thread_local const Scheduler *worker_of;       /* the scheduler of this worker thread */

Scheduler *scheduler_new(size_t max) {
    Scheduler *s = mem_zero(1, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->work, NULL);
    pthread_cond_init(&s->done, NULL);
    s->max = max ? max : 1;
    s->epoll = s->wake = -1;
    return s;
}

/* ---- owners; the lock is held from here on ---- */

static Owner **bucket_of(Scheduler *s, const void *key) {
    uint64_t h = (uint64_t)(uintptr_t)key * UINT64_C(0x9E3779B97F4A7C15);
    return &s->buckets[h >> 58];                       /* the upper bits: BUCKETS is 2^6 */
}

static void list_append(Scheduler *s, Owner *o) {
    o->next = NULL;
    o->prev = s->owners_end;
    if (o->prev) o->prev->next = o;
    else s->owners = o;
    s->owners_end = o;
}

static void list_remove(Scheduler *s, Owner *o) {
    if (o->prev) o->prev->next = o->next;
    else s->owners = o->next;
    if (o->next) o->next->prev = o->prev;
    else s->owners_end = o->prev;
}

static Owner *owner_of(Scheduler *s, const void *key) {
    Owner **bucket = bucket_of(s, key);
    for (Owner *o = *bucket; o; o = o->in_hash)
        if (o->key == key) return o;
    Owner *o = mem_zero(1, sizeof *o);
    o->key = key;
    o->last = &o->first;
    o->in_hash = *bucket;
    *bucket = o;
    list_append(s, o);
    return o;
}

static void drop_if_unused(Scheduler *s, Owner *o) {
    if (o->first || o->running || o->waiting) return;
    Owner **at = bucket_of(s, o->key);
    while (*at != o) at = &(*at)->in_hash;
    *at = o->in_hash;
    list_remove(s, o);
    free(o);
}

static bool has_slot(const Scheduler *s, const Owner *o) {
    return s->running < s->max || (o->running == 0 && s->running < FIRST_FACTOR * s->max);
}

/* The owner whose job starts next; NULL: no queued job, or no free slot. */
static Owner *next_owner(const Scheduler *s) {
    Owner *best = NULL;
    for (Owner *o = s->owners; o; o = o->next) {
        if (!o->first || (best && o->running >= best->running)) continue;
        best = o;
        if (o->running == 0) break;                    /* none has fewer */
    }
    return best && has_slot(s, best) ? best : NULL;
}

/* ---- jobs ---- */

static void queue_job(Scheduler *s, const void *owner, SchedulerGroup *group, SchedulerJob *run, void *arg) {
    Job *job = mem_alloc(sizeof *job);
    *job = (Job){ .run = run, .arg = arg, .group = group };
    Owner *o = owner_of(s, owner);
    *o->last = job;
    o->last = &job->next;
    s->pending++;
    if (group) group->pending++;
}

/* Removes the job *at from the queue of o. */
static Job *take_job(Owner *o, Job **at) {
    Job *job = *at;
    *at = job->next;
    if (o->last == &job->next) o->last = at;
    return job;
}

static void run_job(Scheduler *s, Job *job) {
    SchedulerGroup *group = job->group;
    pthread_mutex_unlock(&s->lock);
    job->run(job->arg);
    free(job);
    pthread_mutex_lock(&s->lock);
    s->pending--;
    bool group_done = group && --group->pending == 0;
    if (group_done || s->pending == 0) pthread_cond_broadcast(&s->done);
}

/* ---- threads ---- */

static void *work(void *arg);

static int start_thread(Scheduler *s) {
    pthread_t thread;
    int failure = thread_start(&thread, work, s);
    if (failure) return failure;
    VEC_PUSH(&s->threads, thread);
    s->starting++;
    return 0;
}

static void signal_idle(Scheduler *s) {
    if (s->epoll < 0) pthread_cond_signal(&s->work);
    else (void)!write(s->wake, &(uint64_t){ 1 }, sizeof(uint64_t));
}

/* Wakes or starts a thread for the next job, unless no slot is free or a thread is already coming; and one that polls
 * the descriptors. 0, or the errno of a failed start. */
static int wake_one(Scheduler *s) {
    bool job = next_owner(s) != NULL, must_look = s->armed && s->idle == 0;
    if (s->starting || (!job && !must_look)) return 0;
    if (s->idle == 0) return start_thread(s);
    if (!s->woken) {
        s->woken = 1;
        signal_idle(s);
    }
    return 0;
}

static void start_next(Scheduler *s, Owner *o) {
    Job *job = take_job(o, &o->first);
    s->running++;
    o->running++;
    list_remove(s, o);
    list_append(s, o);
    wake_one(s);                                       /* on failure this thread runs the job later */
    run_job(s, job);
    s->running--;
    o->running--;
    drop_if_unused(s, o);
}

static void sleep_on_condition(Scheduler *s) {
    do pthread_cond_wait(&s->work, &s->lock);
    while (!s->woken && !s->closing && s->epoll < 0);
    s->woken = 0;
}

/* The watch that became readable, or NULL. */
static SchedulerWatch *sleep_on_descriptors(Scheduler *s) {
    struct epoll_event event;
    pthread_mutex_unlock(&s->lock);
    int n = epoll_wait(s->epoll, &event, 1, -1);
    pthread_mutex_lock(&s->lock);
    if (n <= 0) return NULL;
    SchedulerWatch *w = event.data.ptr;
    if (!w) s->woken = 0;                              /* the eventfd */
    if (!w || !w->armed) return NULL;
    w->armed = false;
    w->running++;
    s->armed--;
    return w;
}

static void run_watch(Scheduler *s, SchedulerWatch *w) {
    wake_one(s);
    pthread_mutex_unlock(&s->lock);
    w->job(w->arg);
    pthread_mutex_lock(&s->lock);
    w->running--;                                      /* the job may have been started again since it was re-armed */
    if (w->removed) pthread_cond_broadcast(&s->done);
}

static void sleep_idle(Scheduler *s) {
    SchedulerWatch *w = NULL;
    s->idle++;
    if (s->epoll < 0) sleep_on_condition(s);
    else w = sleep_on_descriptors(s);
    s->idle--;
    if (w) run_watch(s, w);
}

static void *work(void *arg) {
    Scheduler *s = arg;
    worker_of = s;
    pthread_mutex_lock(&s->lock);
    s->starting--;
    while (!s->closing) {
        Owner *o = next_owner(s);
        if (o) start_next(s, o);
        else sleep_idle(s);
    }
    if (s->epoll >= 0) signal_idle(s);                 /* one event wakes one thread: each exiting thread wakes the
                                                        * next */
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static bool no_thread(Error *err, int failure) {
    errno = failure;
    return error_set(err, ERR_IO, "cannot start a thread: %m (see ulimit -u and the memory limit)");
}

static bool add(Scheduler *s, const void *owner, SchedulerGroup *group, SchedulerJob *job, void *arg, Error *err) {
    pthread_mutex_lock(&s->lock);
    int failure = s->threads.n > s->waiting ? 0 : start_thread(s);     /* is there a thread that will return for it? */
    if (!failure) {
        queue_job(s, owner, group, job, arg);
        wake_one(s);
        if (group) pthread_cond_broadcast(&s->done);   /* a worker that waits for the group can run it */
    }
    pthread_mutex_unlock(&s->lock);
    return failure == 0 || no_thread(err, failure);
}

/* ---- public ---- */

bool scheduler_add(Scheduler *s, const void *owner, SchedulerJob *job, void *arg, Error *err) { return add(s, owner, NULL, job, arg, err); }

void scheduler_add_last(Scheduler *s, const void *owner, SchedulerJob *job, void *arg) {
    pthread_mutex_lock(&s->lock);
    queue_job(s, owner, NULL, job, arg);
    pthread_mutex_unlock(&s->lock);
}

static void set_waiting(Scheduler *s, const void *owner) {
    Owner *o = owner_of(s, owner);
    s->running--;
    s->waiting++;
    o->running--;
    o->waiting++;
}

static void set_running(Scheduler *s, const void *owner) {
    Owner *o = owner_of(s, owner);
    s->running++;
    s->waiting--;
    o->running++;
    o->waiting--;
}

bool scheduler_wait_begin(Scheduler *s, const void *owner, Error *err) {
    int failure = 0;
    pthread_mutex_lock(&s->lock);
    bool full = s->waiting >= SCHEDULER_WAITING_MAX;
    if (!full) {
        set_waiting(s, owner);
        failure = wake_one(s);
        if (s->threads.n > s->waiting) failure = 0;    /* another thread will return for the queued jobs */
        if (failure) set_running(s, owner);
    }
    pthread_mutex_unlock(&s->lock);
    if (full) return error_set(err, ERR_LIMIT, "%d requests already wait for answers: try again later", SCHEDULER_WAITING_MAX);
    return failure == 0 || no_thread(err, failure);
}

void scheduler_wait_end(Scheduler *s, const void *owner) {
    pthread_mutex_lock(&s->lock);
    set_running(s, owner);
    pthread_mutex_unlock(&s->lock);
}

void scheduler_free(Scheduler *s) {
    if (!s) return;
    pthread_mutex_lock(&s->lock);
    while (s->pending) pthread_cond_wait(&s->done, &s->lock);
    s->closing = true;
    pthread_cond_broadcast(&s->work);
    if (s->epoll >= 0) signal_idle(s);
    pthread_mutex_unlock(&s->lock);
    for (size_t i = 0; i < s->threads.n; i++) pthread_join(s->threads.at[i], NULL);
    VEC_CLEAR(&s->threads);
    for (size_t i = 0; i < s->watches.n; i++) free(s->watches.at[i]);
    VEC_CLEAR(&s->watches);
    if (s->epoll >= 0) close(s->epoll);
    if (s->wake >= 0) close(s->wake);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->done);
    free(s);
}

/* ---- descriptors ---- */

/* Edge-triggered: one write wakes one thread, and nothing needs to be read. Threads that sleep on the condition move
 * over. */
static bool open_epoll(Scheduler *s) {
    if (s->epoll >= 0) return true;
    int wake = fault_hit() ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), epoll = fault_hit() ? -1 : epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = { .events = EPOLLIN | EPOLLET };
    if (wake < 0 || epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, wake, &event) < 0) {
        if (wake >= 0) close(wake);
        if (epoll >= 0) close(epoll);
        return false;
    }
    s->wake = wake;
    s->epoll = epoll;
    pthread_cond_broadcast(&s->work);
    return true;
}

/* The job for a regular file: uses a slot like any job. */
static void run_regular(void *arg) {
    SchedulerWatch *w = arg;
    Scheduler *s = w->scheduler;
    pthread_mutex_lock(&s->lock);
    bool run = w->armed;
    w->armed = false;
    w->running += run;
    pthread_mutex_unlock(&s->lock);
    if (!run) return;
    w->job(w->arg);
    pthread_mutex_lock(&s->lock);
    w->running--;
    if (w->removed) pthread_cond_broadcast(&s->done);
    pthread_mutex_unlock(&s->lock);
}

static void arm(SchedulerWatch *w, int operation) {
    Scheduler *s = w->scheduler;
    struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.ptr = w };
    w->armed = true;
    if (!w->regular && epoll_ctl(s->epoll, operation, w->fd, &event) < 0) w->regular = true;
    if (w->regular) queue_job(s, w, NULL, run_regular, w);
    else s->armed++;
}

bool scheduler_watch(Scheduler *s, int fd, SchedulerJob *job, void *arg, SchedulerWatch **out, Error *err) {
    SchedulerWatch *w = mem_zero(1, sizeof *w);
    *w = (SchedulerWatch){ .scheduler = s, .fd = fd, .job = job, .arg = arg };
    *out = w;
    pthread_mutex_lock(&s->lock);
    VEC_PUSH(&s->watches, w);
    bool opened = open_epoll(s);
    int failure = opened && s->threads.n <= s->waiting ? start_thread(s) : 0;
    if (opened && !failure) {
        arm(w, EPOLL_CTL_ADD);
        wake_one(s);
    }
    pthread_mutex_unlock(&s->lock);
    if (!opened) return error_set(err, ERR_IO, "watch a descriptor: %m");
    return failure == 0 || no_thread(err, failure);
}

void scheduler_watch_again(SchedulerWatch *w) {
    Scheduler *s = w->scheduler;
    pthread_mutex_lock(&s->lock);
    if (!w->removed && !w->armed) {
        arm(w, EPOLL_CTL_MOD);
        wake_one(s);
    }
    pthread_mutex_unlock(&s->lock);
}

void scheduler_unwatch(SchedulerWatch *w) {
    if (!w) return;
    Scheduler *s = w->scheduler;
    pthread_mutex_lock(&s->lock);
    if (!w->regular && !w->removed && s->epoll >= 0) epoll_ctl(s->epoll, EPOLL_CTL_DEL, w->fd, NULL);
    if (!w->regular && w->armed) s->armed--;
    w->armed = false;
    w->removed = true;
    while (w->running) pthread_cond_wait(&s->done, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

/* ---- groups ---- */

SchedulerGroup *scheduler_group_new(Scheduler *s) {
    SchedulerGroup *g = mem_alloc(sizeof *g);
    *g = (SchedulerGroup){ .scheduler = s };
    return g;
}

bool scheduler_group_add(SchedulerGroup *g, const void *owner, SchedulerJob *job, void *arg, Error *err) {
    return add(g->scheduler, owner, g, job, arg, err);
}

static Job *take_of_group(Scheduler *s, const SchedulerGroup *g) {
    for (Owner *o = s->owners; o; o = o->next)
        for (Job **at = &o->first; *at; at = &(*at)->next) {
            if ((*at)->group != g) continue;
            Job *job = take_job(o, at);
            drop_if_unused(s, o);
            return job;
        }
    return NULL;
}

void scheduler_group_wait(SchedulerGroup *g) {
    Scheduler *s = g->scheduler;
    bool helps = worker_of == s;
    pthread_mutex_lock(&s->lock);
    while (g->pending) {
        Job *job = helps ? take_of_group(s, g) : NULL;
        if (job) run_job(s, job);
        else pthread_cond_wait(&s->done, &s->lock);
    }
    pthread_mutex_unlock(&s->lock);
}

void scheduler_group_free(SchedulerGroup *g) {
    if (!g) return;
    scheduler_group_wait(g);
    free(g);
}
