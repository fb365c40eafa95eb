/* Background tasks: calls of `async: true` tools, and whatever rooms below start. A run has up to limits.max_tasks of them at
 * work; the rest wait in order, as text only (a queued task holds no heap and no thread). */
#pragma once
#include "tool/kind.h"

typedef struct Task Task;
typedef struct Tasks Tasks;

/* {"task_id", "status": queued|running|done|failed|cancelled, "result"?} in `heap`. An unknown id is ERR_VALIDATION. */
bool task_poll(Run *r, Str id, Heap *heap, Value *out, Error *err);
/* The same when it has ended, or after timeout_ms (below 0: only the token ends the wait). */
bool task_await(Run *r, Str id, int64_t timeout_ms, Cancel *cancel, Heap *heap, Value *out, Error *err);
bool task_cancel(Run *r, Str id, Heap *heap, Value *out, Error *err);
/* Tells of each task that has ended since the last call: for the next turn. */
void task_announce(Run *r, void (*each)(void *ctx, Str id, Str tool, Str status), void *ctx);
bool task_status_running(Str status);    /* of a task in the store */
bool task_any(Run *r);                   /* has this run started one? Then task_* tools are shown */

void task_each(Run *r, void (*each)(void *ctx, Str id, bool over, bool failed), void *ctx);  /* all of this run's; ids live as long as it does */

/* The run is about to end: cancels what still runs, waits for it, and tells of each task that did not finish. Nothing starts any more. */
void task_stop_all(Run *r, void (*each)(void *ctx, Str id, Str tool), void *ctx);

/* task_apart.c: tasks that go on after the command that started them has returned. */
bool task_apart_publish(Run *r, Error *err);     /* other processes can ask for this run's tasks from now on */
bool task_apart_finish(Run *r);          /* until all have ended; ends those that another process wants ended. Have all done well? */
/* May this call ask for tasks of other runs? Only the person at the command line; not what a script or a model calls. */
bool task_apart(const Run *r, const struct Call *call);
/* As those above, about a task of another run. One whose process is gone has failed: "interrupted: outcome unknown". */
bool task_apart_poll(Run *r, Str id, Heap *heap, Value *out, Error *err);
bool task_apart_await(Run *r, Str id, int64_t timeout_ms, Cancel *cancel, Heap *heap, Value *out, Error *err);
bool task_apart_cancel(Run *r, Str id, Heap *heap, Value *out, Error *err);

/* Work of a room below: `work` fills a JSON text; false is a failure. `free` is called once, always. */
typedef bool TaskWork(void *ctx, Cancel *cancel, Buf *result, Error *err);
/* "running", or "queued" for a task that was started while limits.max_tasks others were at work. */
const char *task_begun(Run *r, Str id);
bool task_start(Run *r, Str tool, EventPlace place, TaskWork *work, void (*free)(void *ctx), void *ctx, Buf *id, Error *err);
