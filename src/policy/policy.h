/* Which tools may be called, and whether they need confirmation: tools_policy, blockedTools of spaces, limits.deny,
 * limits.confirm. Immutable, so thread-safe. */
#pragma once
#include "policy/safety.h"

typedef struct Policy Policy;

bool policy_new(const Project *p, Policy **out, Error *err);   /* has no pointers into the project */
void policy_free(Policy *p);

/* The decision about a call. DENY wins over ASK. */
typedef enum { POLICY_ALLOW, POLICY_ASK, POLICY_DENY } PolicyVerdict;
typedef enum { POLICY_BY_RULE, POLICY_NOT_LISTED, POLICY_CHANGED } PolicyReason;
/* `rule` names the rule: "tools_policy.deny: shell_*", "tools_policy.allow", "blockedTools of agent/config.md: bash", "limits.deny: networked",
 * "mcp: changed"; of ASK "limits.confirm: destructive", "confirm: true", "safety.requires_confirmation". Empty for ALLOW. It lives as long as
 * the policy. */
typedef struct PolicyDecision {
    PolicyVerdict verdict;
    PolicyReason reason;
    Str rule;
    bool answerable;                     /* ASK by limits.confirm, which an allow rule of the project may answer */
} PolicyDecision;

/* Decides whether a tool may be called; no other code does. `safety` NULL: only the rules about names apply. `changed`: the definition differs
 * from the approved one (mcp approve). */
PolicyDecision policy_decide(const Policy *p, const ToolDef *def, const Safety *safety, bool changed);
/* Sets `err` (ERR_POLICY) to the reason of a POLICY_DENY. Always returns false. */
bool policy_explain(const PolicyDecision *d, Str tool, Error *err);
/* True if the tool is advertised. Only tools_policy and blockedTools hide tools. */
bool policy_shows(const Policy *p, const ToolDef *def);
/* readOnlyHint for MCP clients. Some call such tools without asking, so it is false for tools that need confirmation. */
bool policy_hint_read_only(const Policy *p, const ToolDef *def, const Safety *safety);

/* Glob over names (`*`, `?`, `[a-z]`, `[!a]`), as in tools_policy and in `tools` of command hooks. An unclosed bracket
 * is a literal. */
bool policy_name_matches(Str pattern, Str name);
/* True if a pattern matches a name, an alias or the ambiguous name of the tool. For blocked_tools of sub-agents. */
bool policy_tool_blocked(const Str *patterns, size_t n, const ToolDef *def);
