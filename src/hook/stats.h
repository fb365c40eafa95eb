/* Counters per hook: calls, blocks, errors, time. In memory for one run; the caller stores them between runs.
 * Thread-safe; a counter lives as long as its HookStats. */
#pragma once
#include <stdint.h>
#include "base/str.h"

typedef struct HookStats HookStats;
typedef struct HookCounter HookCounter;
typedef struct HookCounters { Str hook; uint64_t calls, blocks, errors, ns; } HookCounters;

HookStats *hook_stats_new(void);
void hook_stats_free(HookStats *s);
HookCounter *hook_stats_counter(HookStats *s, Str hook);      /* created on first use; copies the name */
void hook_counter_add(HookCounter *c, bool blocked, bool failed, int64_t ns);   /* no lock */
void hook_stats_each(HookStats *s, void (*each)(void *ctx, const HookCounters *c), void *ctx);   /* sorted by name */
