/* What the supervisor works out before the fork: everything in a ChildPlan. */
#pragma once
#include "base/arena.h"
#include "sandbox/child.h"
#include "sandbox/ruleset.h"
#include "sandbox/supervisor.h"

/* `arena` owns what the plan points to; the ruleset's descriptor is the caller's. The streams and the report are left. */
bool prepare_plan(const SupervisorJob *job, Arena *arena, ChildPlan *out, Error *err);

/* A ruleset with what is the same for all calls of this kind. `open_to_all`: see public.h; NULL: what the user may read. -1: it could
 * not be made. */
typedef struct PrepareKind { RulesetOptions options; bool isolated; } PrepareKind;
PrepareKind prepare_kind(const RequestHead *h);
int prepare_ruleset(const PrepareKind *kind, const struct Public *open_to_all, Error *err);

const char *prepare_path(const Request *r);            /* PATH of the program, where it is looked for too */
extern const char *const prepare_system_read[];        /* what every program may read; NULL ends it */
