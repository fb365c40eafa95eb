/* A machine and its heap, kept between calls: setting up a call is a reset, not an allocation. A call that calls another
 * script (a hook, a nested tool) takes another worker, so heaps and limits stay apart. */
#pragma once
#include "starlark/module.h"

typedef struct Workers Workers;
typedef struct Worker { Heap *heap; Vm *vm; struct Worker *next; } Worker;

Workers *worker_pool_new(size_t heap_bytes, uint32_t depth);      /* limits of tools.md; 0: the defaults */
void worker_pool_free(Workers *w);                                /* all workers are back by then */
Worker *worker_take(Workers *w, void *host, Cancel *cancel);      /* any thread; reset and ready; never NULL */
void worker_give(Workers *w, Worker *worker);                     /* drops everything in its heap */
