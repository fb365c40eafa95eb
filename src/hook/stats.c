#include "hook/stats.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/table.h"
#include "base/vec.h"

struct HookCounter { char *name; size_t n; atomic_uint_fast64_t calls, blocks, errors, ns; };

/* The lock protects the table; counters never move, so using one needs no lock. */
struct HookStats { pthread_mutex_t lock; Table by_name; };

HookStats *hook_stats_new(void) {
    HookStats *s = mem_zero(1, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void hook_stats_free(HookStats *s) {
    if (!s) return;
    for (size_t i = 0; i < s->by_name.n; i++) {
        HookCounter *c = s->by_name.entry[i].value;
        free(c->name);
        free(c);
    }
    table_clear(&s->by_name);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

HookCounter *hook_stats_counter(HookStats *s, Str hook) {
    pthread_mutex_lock(&s->lock);
    HookCounter *c = table_get(&s->by_name, hook);
    if (!c) {
        c = mem_zero(1, sizeof *c);
        c->name = mem_dup(hook.n ? hook.at : "", hook.n);
        c->n = hook.n;
        table_put(&s->by_name, (Str){ c->name, c->n }, c);
    }
    pthread_mutex_unlock(&s->lock);
    return c;
}

void hook_counter_add(HookCounter *c, bool blocked, bool failed, int64_t ns) {
    atomic_fetch_add_explicit(&c->calls, 1, memory_order_relaxed);
    if (blocked) atomic_fetch_add_explicit(&c->blocks, 1, memory_order_relaxed);
    if (failed) atomic_fetch_add_explicit(&c->errors, 1, memory_order_relaxed);
    if (ns > 0) atomic_fetch_add_explicit(&c->ns, (uint64_t)ns, memory_order_relaxed);
}

static int by_name(const void *a, const void *b) {
    return str_cmp(((const HookCounters *)a)->hook, ((const HookCounters *)b)->hook);
}

/* Calls `each` without the lock, so that it may count too. */
void hook_stats_each(HookStats *s, void (*each)(void *ctx, const HookCounters *c), void *ctx) {
    VEC(HookCounters) all = { 0 };
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->by_name.n; i++) {
        HookCounter *c = s->by_name.entry[i].value;
        VEC_PUSH(&all, (HookCounters){ { c->name, c->n }, atomic_load(&c->calls), atomic_load(&c->blocks), atomic_load(&c->errors),
                                       atomic_load(&c->ns) });
    }
    pthread_mutex_unlock(&s->lock);
    if (all.n) qsort(all.at, all.n, sizeof *all.at, by_name);
    for (size_t i = 0; i < all.n; i++) each(ctx, &all.at[i]);
    VEC_CLEAR(&all);
}
