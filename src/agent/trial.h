/* Tests of a project: `.harness/tests/NAME.md`. A test is a conversation with a model that is a script or a recording, or one
 * call without a model; then what happened is compared with what was expected.
 *
 * `args`, `result`, the data of `events` and everything inside them are matched in part: a map holds when each key that the
 * test names is there and holds; lists and scalars must be equal. */
#pragma once
#include "agent/session.h"
#include "base/vec.h"

typedef struct TrialFailure { Str check, expected, got; } TrialFailure;

typedef struct Trial {                   /* zero-initialise, trial_clear at the end */
    Arena arena;
    VEC(TrialFailure) failures;          /* none: passed */
} Trial;

/* Runs the test in the workspace of `rt`. `base`: sinks and the person of its run. Fails when the test itself is wrong, or
 * cannot be run: *err says why. */
bool trial_run(Runtime *rt, const TestDef *def, const RunConfig *base, Cancel *cancel, Trial *out, Error *err);
void trial_clear(Trial *t);
