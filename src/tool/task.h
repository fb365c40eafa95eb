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
bool task_any(Run *r);                   /* has this run started one? Then task_* tools are shown */

/* Work of a room below: `work` fills a JSON text; false is a failure. `free` is called once, always. */
typedef bool TaskWork(void *ctx, Cancel *cancel, Buf *result, Error *err);
bool task_start(Run *r, Str tool, EventPlace place, TaskWork *work, void (*free)(void *ctx), void *ctx, Buf *id, Error *err);
