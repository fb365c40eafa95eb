/* A machine and its heap, kept between calls: setting up a call is a reset, not an allocation. A call that calls another
 * script (a hook, a nested tool) takes another worker, so heaps and limits stay apart. */
#pragma once
#include "script/pattern.h"
#include "starlark/module.h"

struct Host;
typedef struct Workers Workers;
typedef struct Worker { Heap *heap; Vm *vm; struct Worker *next; Patterns patterns; } Worker;

Workers *worker_pool_new(size_t heap_bytes, uint32_t depth);      /* limits of tools.md; 0: the defaults */
void worker_pool_free(Workers *w);                                /* all workers are back by then; NULL is fine */
/* Any thread; reset and ready; never NULL. `host` may be NULL (an expression reaches nothing outside). host->runtime, when it is
 * not GONE, becomes what scripts see as `runtime`; one that is made in the worker's heap afterwards: vm_set_call_value.
 * print() goes to the host's log. */
Worker *worker_take(Workers *w, struct Host *host, Cancel *cancel);
void worker_give(Workers *w, Worker *worker);                     /* drops everything in its heap */
