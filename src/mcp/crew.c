#include "mcp/crew.h"
#include <pthread.h>
#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"

enum { FIRSTS = 4 };                     /* so many times as many may work, where each has an owner with nothing else under way */

typedef struct Job Job;
struct Job { Job *next; CrewWork *work; void *arg; };

/* Somebody with work that waits or is under way. */
typedef struct Owner Owner;
struct Owner { Owner *next; const void *key; Job *first, **last; size_t active; };

/* `active` threads work, `idle` ones look for work, `waiting` ones wait for somebody, between crew_wait and crew_go_on. */
struct Crew {
    pthread_mutex_t lock;
    pthread_cond_t more;
    Owner *owners, **last;
    VEC(pthread_t) threads;
    size_t max, queued, active, idle, waiting;
    bool closing;
};

Crew *crew_new(size_t at_work) {
    Crew *c = mem_zero(1, sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->more, NULL);
    c->last = &c->owners;
    c->max = at_work;
    return c;
}

/* ---- owners, with the lock held ---- */

static Owner *owner_of(Crew *c, const void *key) {
    for (Owner *o = c->owners; o; o = o->next)
        if (o->key == key) return o;
    Owner *o = mem_zero(1, sizeof *o);
    *o = (Owner){ .key = key };
    o->last = &o->first;
    *c->last = o;
    c->last = &o->next;
    return o;
}

static void take_out(Crew *c, Owner *o) {
    Owner **at = &c->owners;
    while (*at != o) at = &(*at)->next;
    *at = o->next;
    if (!*at) c->last = at;
    o->next = NULL;
}

static void drop_unless_used(Crew *c, Owner *o) {
    if (o->first || o->active) return;
    take_out(c, o);
    free(o);
}

static bool has_room(const Crew *c, const Owner *o) { return c->active < c->max || (o->active == 0 && c->active < FIRSTS * c->max); }

/* Whose work comes next; NULL: nobody's, or enough are at work. */
static Owner *next_owner(const Crew *c) {
    Owner *best = NULL;
    for (Owner *o = c->owners; o; o = o->next)
        if (o->first && (!best || o->active < best->active)) best = o;
    return best && has_room(c, best) ? best : NULL;
}

/* ---- work, with the lock held ---- */

static void *member(void *arg);
static bool start_member(Crew *c) {
    pthread_t thread;
    bool ok = thread_start(&thread, member, c) == 0;
    if (ok) VEC_PUSH(&c->threads, thread);
    return ok;
}

/* Somebody to take the next job, unless enough are at work. False: there is nobody, and never will be. */
static bool find_somebody(Crew *c) {
    if (!next_owner(c)) return true;
    if (c->idle) return pthread_cond_signal(&c->more), true;
    return start_member(c) || c->active > 0;
}

static void end_work(Crew *c, const void *key) {
    Owner *o = owner_of(c, key);
    c->active--;
    o->active--;
    drop_unless_used(c, o);
}

/* One that was woken takes one job; another may have come before it was awake, for which nobody was: it looks for somebody. */
static void work_for(Crew *c, Owner *o) {
    Job *job = o->first;
    const void *key = o->key;
    o->first = job->next;
    if (!o->first) o->last = &o->first;
    c->queued--;
    c->active++;
    o->active++;
    take_out(c, o);                                          /* to the end: those with as much to do take turns */
    *c->last = o;
    c->last = &o->next;
    find_somebody(c);
    pthread_mutex_unlock(&c->lock);
    job->work(job->arg);
    free(job);
    pthread_mutex_lock(&c->lock);
    end_work(c, key);
}

static void *member(void *arg) {
    Crew *c = arg;
    pthread_mutex_lock(&c->lock);
    while (!c->closing || c->queued) {
        Owner *o = next_owner(c);
        if (o) {
            work_for(c, o);
            continue;
        }
        c->idle++;
        pthread_cond_wait(&c->more, &c->lock);
        c->idle--;
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- public ---- */

void crew_add(Crew *c, const void *owner, CrewWork *work, void *arg) {
    Job *job = mem_alloc(sizeof *job);
    *job = (Job){ NULL, work, arg };
    pthread_mutex_lock(&c->lock);
    Owner *o = owner_of(c, owner);
    *o->last = job;
    o->last = &job->next;
    c->queued++;
    if (!find_somebody(c)) work_for(c, next_owner(c));
    pthread_mutex_unlock(&c->lock);
}

bool crew_join(Crew *c, const void *owner) {
    pthread_mutex_lock(&c->lock);
    Owner *o = owner_of(c, owner);
    bool may = !o->first && has_room(c, o);
    if (may) c->active++, o->active++;
    else drop_unless_used(c, o);
    pthread_mutex_unlock(&c->lock);
    return may;
}

void crew_leave(Crew *c, const void *owner) {
    pthread_mutex_lock(&c->lock);
    end_work(c, owner);
    find_somebody(c);
    pthread_mutex_unlock(&c->lock);
}

bool crew_wait(Crew *c, const void *owner) {
    pthread_mutex_lock(&c->lock);
    bool may = c->waiting < CREW_WAITING_MAX;
    if (may) {
        c->waiting++;
        c->active--;
        owner_of(c, owner)->active--;                        /* dropped when its work ends */
        find_somebody(c);
    }
    pthread_mutex_unlock(&c->lock);
    return may;
}

void crew_go_on(Crew *c, const void *owner) {
    pthread_mutex_lock(&c->lock);
    c->waiting--;
    c->active++;
    owner_of(c, owner)->active++;
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
