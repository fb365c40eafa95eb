/* Judges a call without making it: steps 1 to 3, 5 and 6 of the pipeline, and whether step 7 would ask. The limits of a run (step 4) do not apply,
 * nothing is executed, no user is asked and no event is written. For a runtime that was opened with `judging`: in any other, hooks act as usual. */
#pragma once
#include "policy/rules.h"
#include "tool/pipeline/call.h"

typedef struct ToolJudgement {           /* texts in the caller's arena */
    RuleVerdict verdict;                 /* RULE_ALLOW, RULE_ASK or RULE_DENY */
    CallStep step;                       /* that denies or asks; STEP_NONE: allowed */
    Str rule, why;                       /* the rule, hook or policy that decided, and the reason; may be empty */
    Str file; uint32_t line;             /* where it is written; empty, 0: unknown */
} ToolJudgement;

/* Fails only on internal errors, and never because of the call. Thread-safe. */
bool tool_judge(Run *run, const Call *call, Cancel *cancel, Arena *arena, ToolJudgement *out, Error *err);

/* judge.c, for tool_judge: the verdict on a call that has passed all steps, or was refused by one. */
struct Pipe;
void judge_verdict(struct Pipe *p, bool passes, Arena *arena, ToolJudgement *out);
