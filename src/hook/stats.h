/* Counters per hook: calls, blocks, errors, time. Kept in memory for a run; the caller stores them between runs. */
#pragma once
#include <stdint.h>
#include "base/str.h"

typedef struct HookStats HookStats;
typedef struct HookCounters { Str hook; uint64_t calls, blocks, errors, ns; } HookCounters;

HookStats *hook_stats_new(void);
void hook_stats_free(HookStats *s);
void hook_stats_add(HookStats *s, Str hook, bool blocked, bool failed, int64_t ns);
void hook_stats_each(HookStats *s, void (*each)(void *ctx, const HookCounters *c), void *ctx);   /* sorted by name */
