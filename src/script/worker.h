/* A virtual machine with its heap, kept between calls, so that starting a call is a reset instead of an allocation. A
 * call that calls another script (a hook, a nested tool) takes another worker, which keeps heaps and limits
 * separate. */
#pragma once
#include "script/pattern.h"
#include "starlark/module.h"

struct Host;
typedef struct Workers Workers;
typedef struct Worker { Heap *heap; Vm *vm; struct Worker *next; Patterns patterns; } Worker;

Workers *worker_pool_new(size_t heap_bytes, uint32_t depth);      /* limits as in tools.md; 0: the defaults */
void worker_pool_free(Workers *w);                                /* call after all workers were returned; accepts NULL */
/* Returns a reset worker; never NULL. Thread-safe. `host` may be NULL (for an expression without outside access). If
 * host->runtime is not GONE, scripts see it as `runtime`; for a value allocated later in the worker's heap, use
 * vm_set_call_value. print() writes to the host's log. */
Worker *worker_take(Workers *w, struct Host *host, Cancel *cancel);
void worker_give(Workers *w, Worker *worker);                     /* drops everything in its heap */
