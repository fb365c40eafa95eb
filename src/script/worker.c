#include "script/worker.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "base/mem.h"
#include "script/host.h"

#ifdef HARNESS_HOSTILE
enum { FREE_MAX = 1 };
#else
enum { FREE_MAX = 64 };
#endif
#define HEAP_DEFAULT ((size_t)64 << 20)

/* The idle workers: one in `cached`, taken and returned with one atomic operation, and a stack under the lock. */
struct Workers { _Atomic(Worker *) cached; pthread_mutex_t lock; Worker *free; size_t n_free, heap_bytes; uint32_t depth; };

Workers *worker_pool_new(size_t heap_bytes, uint32_t depth) {
    Workers *w = mem_zero(1, sizeof *w);
    pthread_mutex_init(&w->lock, NULL);
    w->heap_bytes = heap_bytes ? heap_bytes : HEAP_DEFAULT;
    w->depth = depth;
    return w;
}

static void worker_free(Worker *worker) {
    vm_free(worker->vm);
    heap_free(worker->heap);
    pattern_clear(&worker->patterns);
    free(worker);
}

void worker_pool_free(Workers *w) {
    if (!w) return;
    Worker *cached = atomic_load(&w->cached);
    if (cached) worker_free(cached);
    while (w->free) {
        Worker *worker = w->free;
        w->free = worker->next;
        worker_free(worker);
    }
    pthread_mutex_destroy(&w->lock);
    free(w);
}

static Worker *worker_new(Workers *w) {
    Worker *worker = mem_zero(1, sizeof *worker);
    worker->heap = heap_new(w->heap_bytes);
    worker->vm = vm_new(worker->heap, &(VmConfig){ 0 });
    return worker;
}

static void print(void *ctx, Str line) { host_log(ctx, LOG_INFO, line, NULL); }

static Worker *pop(Workers *w) {
    pthread_mutex_lock(&w->lock);
    Worker *worker = w->free;
    if (worker) {
        w->free = worker->next;
        w->n_free--;
    }
    pthread_mutex_unlock(&w->lock);
    return worker;
}

Worker *worker_take(Workers *w, Host *host, Cancel *cancel) {
    Worker *worker = atomic_exchange_explicit(&w->cached, NULL, memory_order_acquire);
    if (!worker) worker = pop(w);
    if (!worker) worker = worker_new(w);
    vm_reset(worker->vm, &(VmConfig){ .max_depth = w->depth, .cancel = cancel, .host = host, .keep = worker,
                                      .print = host ? print : NULL, .print_ctx = host });
    if (host) vm_set_call_value(worker->vm, host->runtime);
    return worker;
}

void worker_give(Workers *w, Worker *worker) {
    heap_reset(worker->heap);
    vm_reset(worker->vm, NULL);                          /* copies of globals may be large too */
    Worker *none = NULL;
    if (atomic_compare_exchange_strong_explicit(&w->cached, &none, worker, memory_order_release, memory_order_relaxed)) return;
    pthread_mutex_lock(&w->lock);
    bool keep = w->n_free < FREE_MAX;
    if (keep) {
        worker->next = w->free;
        w->free = worker;
        w->n_free++;
    }
    pthread_mutex_unlock(&w->lock);
    if (!keep) worker_free(worker);
}
