/* What the supervisor works out before the fork: everything in a ChildPlan. */
#pragma once
#include "base/arena.h"
#include "sandbox/child.h"
#include "sandbox/supervisor.h"

/* `arena` owns what the plan points to; the ruleset's descriptor is the caller's. The streams and the report are left. */
bool prepare_plan(const SupervisorJob *job, Arena *arena, ChildPlan *out, Error *err);

/* A ruleset with what of /etc and /opt is open to all; NULL: with nothing. The plan adds the rest. -1: it could not be made. */
int prepare_ruleset(const RequestHead *h, const struct Public *open_to_all, Error *err);

const char *prepare_path(const Request *r);            /* PATH of the program, where it is looked for too */
extern const char *const prepare_system_read[];        /* what every program may read; NULL ends it */
