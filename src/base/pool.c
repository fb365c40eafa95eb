#include "base/pool.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/thread.h"

typedef struct Job Job;
struct Job { Job *next; PoolJob *run; void *arg; PoolGroup *group; };

/* One lock for everything; jobs run without it. `pending` counts jobs that are queued or
 * running. `work` is signalled when a job is queued or the pool closes, `done` whenever a
 * pending count reaches zero or a waiting worker may find a job of its group. */
struct Pool {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    Job *first, **last;
    pthread_t *thread;
    size_t threads, max, idle, queued, pending;
    bool closing;
};

struct PoolGroup { Pool *pool; size_t pending; };

Pool *pool_new(size_t threads) {
    Pool *p = mem_zero(1, sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->done, NULL);
    p->last = &p->first;
    p->max = threads ? threads : 1;
    return p;
}

/* ---- all static functions below are called with the lock held ---- */

static void queue_job(Pool *p, Job *job) {
    *p->last = job;
    p->last = &job->next;
    p->queued++;
    p->pending++;
    if (job->group)
        job->group->pending++;
}

/* Takes the job out that *at points to. */
static Job *take_job(Pool *p, Job **at) {
    Job *job = *at;
    *at = job->next;
    if (p->last == &job->next)
        p->last = at;
    p->queued--;
    return job;
}

static void finish_job(Pool *p, const Job *job) {
    p->pending--;
    bool last_of_group = job->group && --job->group->pending == 0;
    if (p->pending == 0 || last_of_group)
        pthread_cond_broadcast(&p->done);
}

static void run_job(Pool *p, Job *job) {
    pthread_mutex_unlock(&p->lock);
    job->run(job->arg);
    pthread_mutex_lock(&p->lock);
    finish_job(p, job);
    free(job);
}

static void *worker(void *arg) {
    Pool *p = arg;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (p->first == NULL && !p->closing) {
            p->idle++;
            pthread_cond_wait(&p->work, &p->lock);
            p->idle--;
        }
        if (p->first == NULL)
            break;
        run_job(p, take_job(p, &p->first));
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static int start_thread(Pool *p) {
    p->thread = mem_resize(p->thread, p->threads + 1, sizeof *p->thread);
    int failure = thread_start(&p->thread[p->threads], worker, p);
    p->threads += failure == 0;
    return failure;
}

static bool is_worker(const Pool *p) {
    for (size_t i = 0; i < p->threads; i++)
        if (pthread_equal(p->thread[i], pthread_self()))
            return true;
    return false;
}

static bool add_job(Pool *p, PoolGroup *group, PoolJob *run, void *arg, Error *err) {
    if (p->idle <= p->queued && p->threads < p->max) { /* nobody free to take one more? */
        int failure = start_thread(p);
        if (failure && p->threads == 0) {
            errno = failure;
            return error_set(err, ERR_IO, "start a thread: %m");
        }
    }
    Job *job = mem_alloc(sizeof *job);
    *job = (Job){ .run = run, .arg = arg, .group = group };
    queue_job(p, job);
    pthread_cond_signal(&p->work);
    if (group)
        pthread_cond_broadcast(&p->done);              /* a worker that waits for this group can run it */
    return true;
}

static Job **find_in_group(Pool *p, const PoolGroup *g) {
    for (Job **at = &p->first; *at; at = &(*at)->next)
        if ((*at)->group == g)
            return at;
    return NULL;
}

/* ---- public ---- */

bool pool_add(Pool *p, PoolJob *job, void *arg, Error *err) {
    pthread_mutex_lock(&p->lock);
    bool ok = add_job(p, NULL, job, arg, err);
    pthread_mutex_unlock(&p->lock);
    return ok;
}

void pool_free(Pool *p) {
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    while (p->pending) pthread_cond_wait(&p->done, &p->lock);
    p->closing = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->threads; i++) pthread_join(p->thread[i], NULL);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->work);
    pthread_cond_destroy(&p->done);
    free(p->thread);
    free(p);
}

PoolGroup *pool_group_new(Pool *p) {
    PoolGroup *g = mem_alloc(sizeof *g);
    *g = (PoolGroup){ .pool = p };
    return g;
}

bool pool_group_add(PoolGroup *g, PoolJob *job, void *arg, Error *err) {
    pthread_mutex_lock(&g->pool->lock);
    bool ok = add_job(g->pool, g, job, arg, err);
    pthread_mutex_unlock(&g->pool->lock);
    return ok;
}

/* A job that waits for a group occupies a worker. If all workers did that, nobody would run
 * what they wait for; so a waiting worker runs the queued jobs of that group itself. */
void pool_group_wait(PoolGroup *g) {
    Pool *p = g->pool;
    pthread_mutex_lock(&p->lock);
    bool helps = is_worker(p);
    while (g->pending) {
        Job **at = helps ? find_in_group(p, g) : NULL;
        if (at)
            run_job(p, take_job(p, at));
        else
            pthread_cond_wait(&p->done, &p->lock);
    }
    pthread_mutex_unlock(&p->lock);
}

void pool_group_free(PoolGroup *g) {
    if (g == NULL)
        return;
    pool_group_wait(g);
    free(g);
}
