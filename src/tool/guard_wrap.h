/* Programs that run other programs: env, nice, sudo, xargs, find and the like. */
#pragma once
#include "tool/guard_judge.h"

void guard_wrap_run(Guard *j, Str name, const GuardField *argv, size_t n, GuardInput in);   /* does nothing for other names */

/* guard_run.c: a shell runs what it reads. */
void guard_run_input(Guard *j, GuardInput in, const char *who);
