/* What decides about the calls of a tool, as far as it is known before a call: the steps of the pipeline (call.h), asked without arguments. Uses the
 * functions that decide at call time. */
#pragma once
#include "tool/pipeline/call.h"

#define TOOL_GUARDS(X) X(BLOCKED, "agent") X(POLICY, "policy") X(RULE, "rule") X(WORKSPACE, "workspace_root") X(HOOK, "hook") X(CHECK, "check") X(LIMIT, "limit")
typedef enum ToolGuardKind {
#define X(id, name) TOOL_GUARD_##id,
    TOOL_GUARDS(X)
#undef X
} ToolGuardKind;
const char *tool_guard_name(ToolGuardKind kind);

typedef struct ToolGuard {
    ToolGuardKind kind;
    Str name;                            /* the rule, the hook, the folder, the limit */
    const char *effect;                  /* "denies", "asks", "tool.pre", … */
    Str when;                            /* the condition under which it is asked; empty: always */
    const Origin *origin;                /* of a hook or a rule; else NULL */
} ToolGuard;

/* Visits the guards in the order in which the pipeline asks them. Ends after one that denies every call. The texts of a guard are valid during its
 * visit. False: out of memory for the payload. */
bool tool_guards(Run *r, const Call *call, const ToolEntry *e, void (*each)(void *ctx, const ToolGuard *g), void *ctx, Error *err);
