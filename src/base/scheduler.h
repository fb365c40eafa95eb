/* Worker threads that run jobs, fairly by owner.
 *
 * At most `max` jobs run at a time. A job belongs to an owner (any pointer: a client, a connection; NULL is an owner too). The owner with
 * the fewest running jobs goes first, owners with equally many take turns, and the jobs of one owner start in the order they were added.
 * An owner with no running job does not wait for a slot: up to 4 * max jobs run when the extra ones are their owners' only job.
 *
 * A job that is about to block on something outside (a user, a peer) says so with scheduler_wait_begin. It then counts as
 * waiting, not as running, and another thread takes its slot. Threads start on demand and end with the scheduler. All functions may be
 * called from any thread; no lock is held while a job runs. */
#pragma once
#include <stddef.h>
#include "base/error.h"

typedef struct Scheduler Scheduler;
typedef struct SchedulerGroup SchedulerGroup;
typedef struct SchedulerWatch SchedulerWatch;
typedef void SchedulerJob(void *arg);

enum { SCHEDULER_WAITING_MAX = 512 };

Scheduler *scheduler_new(size_t max);                  /* at least 1 */
void scheduler_free(Scheduler *s);                     /* waits for every job that was added; NULL is fine */

/* Fails with ERR_IO, and the job is not run, only if no thread exists that could run it and none can be started. */
bool scheduler_add(Scheduler *s, const void *owner, SchedulerJob *job, void *arg, Error *err);
/* Only as the last action of a running job: its thread looks for work next, so no other thread is woken for this one. */
void scheduler_add_last(Scheduler *s, const void *owner, SchedulerJob *job, void *arg);

/* Around a wait within a job of that owner, at most once at a time for each job. Begin fails with ERR_LIMIT when SCHEDULER_WAITING_MAX
 * jobs wait already, and with ERR_IO when queued jobs would be left without a thread. The job must not wait then. */
bool scheduler_wait_begin(Scheduler *s, const void *owner, Error *err);
void scheduler_wait_end(Scheduler *s, const void *owner);

/* Runs `job` when fd is readable, once; the job calls scheduler_watch_again when it has read. Idle threads wait for queued jobs and for
 * descriptors at the same place, so the thread that the kernel wakes reads, and can go on with what it has read (scheduler_add_last)
 * without waking another one. The job takes no slot and one thread is always kept for it: it must be short. The file of a
 * descriptor that epoll does not take (a regular file) is always readable. */
bool scheduler_watch(Scheduler *s, int fd, SchedulerJob *job, void *arg, SchedulerWatch **out, Error *err);
void scheduler_watch_again(SchedulerWatch *w);
void scheduler_unwatch(SchedulerWatch *w);             /* the job has ended and does not run again; not from within it. NULL is fine */

/* A group waits for its own jobs. Jobs may wait for groups: a worker that waits runs the group's queued jobs itself, so nested waits
 * cannot use up the threads. */
SchedulerGroup *scheduler_group_new(Scheduler *s);
bool scheduler_group_add(SchedulerGroup *g, const void *owner, SchedulerJob *job, void *arg, Error *err);      /* as scheduler_add */
void scheduler_group_wait(SchedulerGroup *g);
void scheduler_group_free(SchedulerGroup *g);          /* waits first; NULL is fine */
