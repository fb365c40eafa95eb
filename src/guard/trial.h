/* Tests of a project with an envelope of another agent: `guard: {vendor, payload}`, and the expected `decision` and `rule`. */
#pragma once
#include "agent/trial.h"

bool guard_trial_is(const TestDef *def);
/* Like trial_run. The user's and the machine's guard.md are not read. */
bool guard_trial_run(Runtime *rt, const TestDef *def, Trial *out, Error *err);
