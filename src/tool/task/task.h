/* Background tasks: calls of `async: true` tools, and work of higher rooms. A run has up to limits.max_tasks running
 * tasks; others wait in order, as text only (a queued task has no heap and no thread). */
#pragma once
#include "tool/kind/kind.h"

typedef struct Task Task;
typedef struct Tasks Tasks;

/* {"task_id", "status": queued|running|done|failed|cancelled, "result"?} in `heap`. An unknown id is ERR_VALIDATION. */
bool task_poll(Run *r, Str id, Heap *heap, Value *out, Error *err);
/* The same once it has ended, or after timeout_ms (below 0: no timeout). */
bool task_await(Run *r, Str id, int64_t timeout_ms, Cancel *cancel, Heap *heap, Value *out, Error *err);
bool task_cancel(Run *r, Str id, Heap *heap, Value *out, Error *err);
/* Calls `each` for every task that has ended since the last call: for the next turn. */
void task_announce(Run *r, void (*each)(void *ctx, Str id, Str tool, Str status), void *ctx);
bool task_status_running(Str status);    /* of a task in the store */
bool task_any(Run *r);                   /* true if this run has started a task; then the task_* tools are listed */

void task_each(Run *r, void (*each)(void *ctx, Str id, bool over, bool failed), void *ctx);  /* all of this run's; ids live as long as the run */

/* The run is about to end: cancels running tasks, waits for them, and calls `each` for those that did not finish. No
 * more tasks can start. */
void task_stop_all(Run *r, void (*each)(void *ctx, Str id, Str tool), void *ctx);

/* tool/task/detached.c: tasks that continue after the command that started them has returned. */
bool task_detached_publish(Run *r, Error *err);     /* lets other processes query this run's tasks */
bool task_detached_finish(Run *r);          /* waits until all have ended; cancels those that another process wants
                                          * cancelled. True if all succeeded */
/* True if this call may query tasks of other runs: only a user at the command line may, not a script or a model. */
bool task_detached(const Run *r, const struct Call *call);
/* As above, for a task of another run. If its process is gone it has failed: "interrupted: outcome unknown". */
bool task_detached_poll(Run *r, Str id, Heap *heap, Value *out, Error *err);
bool task_detached_await(Run *r, Str id, int64_t timeout_ms, Cancel *cancel, Heap *heap, Value *out, Error *err);
bool task_detached_cancel(Run *r, Str id, Heap *heap, Value *out, Error *err);

/* Work of a higher room: `work` writes JSON to `result`; false is a failure. `free` is always called once. */
typedef bool TaskWork(void *ctx, Cancel *cancel, Buf *result, Error *err);
/* "running", or "queued" for a task started while limits.max_tasks others were running. */
const char *task_begun(Run *r, Str id);
bool task_start(Run *r, Str tool, EventPlace place, TaskWork *work, void (*free)(void *ctx), void *ctx, Buf *id, Error *err);
