/* Tests of a project: `.harness/tests/NAME.md`. A test is a conversation with a model that is a script or a recording,
 * or one call without a model; the outcome is compared with the expectations.
 *
 * `args`, `result`, the data of `events` and everything inside them are matched in part: a map matches if each key in
 * the test is present and matches; lists and scalars must be equal. */
#pragma once
#include "agent/session.h"
#include "base/vec.h"

typedef struct TrialFailure { Str check, expected, got; } TrialFailure;

typedef struct Trial {                   /* zero-initialise, trial_clear at the end */
    Arena arena;
    VEC(TrialFailure) failures;          /* none: passed */
} Trial;

/* Runs the test in the workspace of `rt`. `base`: sinks and Person of its run. Fails when the test itself is invalid or
 * cannot be run. */
bool trial_run(Runtime *rt, const TestDef *def, const RunConfig *base, Cancel *cancel, Trial *out, Error *err);
void trial_clear(Trial *t);
