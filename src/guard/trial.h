/* Tests of a project with an envelope of another agent: `guard: {vendor, payload}`, and what must come of it: `decision`, `rule`. */
#pragma once
#include "agent/trial.h"

bool guard_trial_is(const TestDef *def);
/* As trial_run. The user's and the machine's guard.md do not take part. */
bool guard_trial_run(Runtime *rt, const TestDef *def, Trial *out, Error *err);
