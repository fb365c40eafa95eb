#include "mcp/crew.h"
#include <pthread.h>
#include <signal.h>
#include "base/fault.h"
#include "base/mem.h"
#include "base/vec.h"

typedef struct Job Job;
struct Job { Job *next; CrewWork *work; void *arg; };

/* `active` threads work, `idle` ones look for work; the others wait for somebody, between crew_wait and crew_go_on. */
struct Crew {
    pthread_mutex_t lock;
    pthread_cond_t more;
    Job *first, **last;
    VEC(pthread_t) threads;
    size_t max, active, idle;
    bool closing;
};

Crew *crew_new(size_t at_work) {
    Crew *c = mem_zero(1, sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->more, NULL);
    c->last = &c->first;
    c->max = at_work;
    return c;
}

/* ---- with the lock held ---- */

static void work_on_first(Crew *c) {
    Job *job = c->first;
    c->first = job->next;
    if (!c->first) c->last = &c->first;
    c->active++;
    pthread_mutex_unlock(&c->lock);
    job->work(job->arg);
    free(job);
    pthread_mutex_lock(&c->lock);
    c->active--;
}

static void *member(void *arg) {
    Crew *c = arg;
    pthread_mutex_lock(&c->lock);
    while (!c->closing || c->first) {
        if (c->first && c->active < c->max) {
            work_on_first(c);
            continue;
        }
        c->idle++;
        pthread_cond_wait(&c->more, &c->lock);
        c->idle--;
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Signals stay with the threads that expect them. */
static bool start_member(Crew *c) {
    sigset_t all, before;
    pthread_t thread;
    if (fault_hit()) return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool ok = pthread_create(&thread, NULL, member, c) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (ok) VEC_PUSH(&c->threads, thread);
    return ok;
}

/* Somebody to take the first job, unless enough are at work. False: there is nobody, and never will be. */
static bool find_somebody(Crew *c) {
    if (!c->first || c->active >= c->max) return true;
    if (c->idle) return pthread_cond_signal(&c->more), true;
    return start_member(c) || c->active > 0;
}

/* ---- public ---- */

void crew_add(Crew *c, CrewWork *work, void *arg) {
    Job *job = mem_alloc(sizeof *job);
    *job = (Job){ NULL, work, arg };
    pthread_mutex_lock(&c->lock);
    *c->last = job;
    c->last = &job->next;
    if (!find_somebody(c)) work_on_first(c);
    pthread_mutex_unlock(&c->lock);
}

void crew_wait(Crew *c) {
    pthread_mutex_lock(&c->lock);
    c->active--;
    find_somebody(c);
    pthread_mutex_unlock(&c->lock);
}

void crew_go_on(Crew *c) {
    pthread_mutex_lock(&c->lock);
    c->active++;
    pthread_mutex_unlock(&c->lock);
}

void crew_free(Crew *c) {
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->closing = true;
    pthread_cond_broadcast(&c->more);
    pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < c->threads.n; i++) pthread_join(c->threads.at[i], NULL);
    VEC_CLEAR(&c->threads);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->more);
    free(c);
}
