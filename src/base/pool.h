/* A bounded pool of worker threads. Jobs start in the order they were added. Threads are
 * started when first needed and end when the pool is freed. */
#pragma once
#include <stddef.h>
#include "base/error.h"

typedef struct Pool Pool;
typedef struct PoolGroup PoolGroup;
typedef void PoolJob(void *arg);

Pool *pool_new(size_t threads);                        /* at least 1 */
void pool_free(Pool *p);                               /* waits for every job that was added */
bool pool_add(Pool *p, PoolJob *job, void *arg, Error *err); /* fails only when no thread can be started */

/* A group waits for just its own jobs. Jobs may add jobs and wait for groups: a worker that
 * waits runs the group's queued jobs itself meanwhile. */
PoolGroup *pool_group_new(Pool *p);
bool pool_group_add(PoolGroup *g, PoolJob *job, void *arg, Error *err);
void pool_group_wait(PoolGroup *g);
void pool_group_free(PoolGroup *g);                    /* waits first */
