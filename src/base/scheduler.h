/* Worker threads that run jobs, fairly by owner.
 *
 * At most `max` jobs run at a time. A job belongs to an owner (any pointer: a client, a connection; NULL is an owner
 * too). The owner with the fewest running jobs goes first; owners with equal numbers take turns, and the jobs of one
 * owner start in order. An owner without a running job does not wait for a slot: up to 4 * max jobs run if the extra
 * ones are their owners' only jobs.
 *
 * A job calls scheduler_wait_begin before it blocks on something external (a user, a peer). It then counts as waiting,
 * not running, and another thread takes its slot. Threads start on demand and end with the scheduler. All functions are
 * thread-safe; no lock is held while a job runs. */
#pragma once
#include <stddef.h>
#include "base/error.h"

typedef struct Scheduler Scheduler;
typedef struct SchedulerGroup SchedulerGroup;
typedef struct SchedulerWatch SchedulerWatch;
typedef void SchedulerJob(void *arg);

enum { SCHEDULER_WAITING_MAX = 512 };

Scheduler *scheduler_new(size_t max);                  /* at least 1 */
void scheduler_free(Scheduler *s);                     /* waits for all jobs; NULL is fine */

/* Fails with ERR_IO, without running the job, only if there is no thread and none can be started. */
bool scheduler_add(Scheduler *s, const void *owner, SchedulerJob *job, void *arg, Error *err);
/* Only as the last action of a running job: its thread looks for work next, so no other thread is woken. */
void scheduler_add_last(Scheduler *s, const void *owner, SchedulerJob *job, void *arg);

/* Around a wait inside a job of that owner; do not nest within a job. Begin fails with ERR_LIMIT when
 * SCHEDULER_WAITING_MAX jobs are waiting, and with ERR_IO when queued jobs would have no thread. The job must not wait
 * then. */
bool scheduler_wait_begin(Scheduler *s, const void *owner, Error *err);
void scheduler_wait_end(Scheduler *s, const void *owner);

/* Runs `job` once when fd is readable; the job calls scheduler_watch_again after reading. Idle threads wait for queued
 * jobs and descriptors together, so the thread that the kernel wakes reads, and can process the input itself
 * (scheduler_add_last) without waking another. The job uses no slot and one thread is reserved for it: it must be
 * short. A regular file, which epoll does not support, counts as always readable. */
bool scheduler_watch(Scheduler *s, int fd, SchedulerJob *job, void *arg, SchedulerWatch **out, Error *err);
void scheduler_watch_again(SchedulerWatch *w);
void scheduler_unwatch(SchedulerWatch *w);             /* waits for the job; it does not run again. Not from within the
                                                        * job. NULL is fine */

/* A group waits for its own jobs. Jobs may wait for groups: a waiting worker runs the group's queued jobs itself, so
 * nested waits cannot exhaust the threads. */
SchedulerGroup *scheduler_group_new(Scheduler *s);
bool scheduler_group_add(SchedulerGroup *g, const void *owner, SchedulerJob *job, void *arg, Error *err);      /* as scheduler_add */
void scheduler_group_wait(SchedulerGroup *g);
void scheduler_group_free(SchedulerGroup *g);          /* waits first; NULL is fine */
