/* Prepares a ChildPlan in the supervisor before the fork. */
#pragma once
#include "base/arena.h"
#include "sandbox/child.h"
#include "sandbox/supervisor.h"

/* `arena` owns what the plan points to; the caller owns the ruleset's descriptor, and sets the streams and the
 * report. */
bool prepare_plan(const SupervisorJob *job, Arena *arena, ChildPlan *out, Error *err);

/* A ruleset with the world-readable parts of /etc and /opt; NULL: without. The plan adds the rest. -1 on failure. */
int prepare_ruleset(const RequestHead *h, const struct Public *open_to_all, Error *err);

const char *prepare_path(const Request *r);            /* PATH of the program, also used to find it */
extern const char *const prepare_system_read[];        /* readable by every program; NULL-terminated */
