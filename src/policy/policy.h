/* What may be called, and on what terms: tools_policy, blockedTools of spaces, limits.deny, limits.confirm. Immutable; any thread. */
#pragma once
#include "policy/safety.h"

typedef struct Policy Policy;

/* `ambiguous`: a name that can be denied, but not allowed (ToolDef). */
typedef struct PolicyTool { Str name; StrList aliases; Str ambiguous; const Safety *safety; Str agent; int depth; bool confirm; } PolicyTool;

bool policy_new(const Project *p, Policy **out, Error *err);   /* keeps nothing of the project */
void policy_free(Policy *p);

/* Is the tool advertised? (tools_policy and blockedTools only.) */
bool policy_shows(const Policy *p, const PolicyTool *t);
/* May it be called? Else ERR_POLICY with the message, and *rule names the rule: "tools_policy.deny: shell_*", "tools_policy.allow",
 * "blockedTools of agent/config.md: bash", "limits.deny: networked". Rules and reasons live as long as the policy. */
bool policy_check(const Policy *p, const PolicyTool *t, Str *rule, Error *err);
/* Must a person agree first? *why: "limits.confirm: destructive", "confirm: true" …; empty and false when not. */
bool policy_confirms(const Policy *p, const PolicyTool *t, Str *why);
/* readOnlyHint for MCP clients. Some call such tools without asking, so one that needs confirmation is not among them. */
bool policy_hint_read_only(const Policy *p, const PolicyTool *t);

/* Glob over names (`*`, `?`, `[a-z]`, `[!a]`), as in tools_policy and in command hooks' `tools`. A bracket that is not closed
 * stands for itself. */
bool policy_name_matches(Str pattern, Str name);
/* Does one of the patterns match a name, an alias or the ambiguous name of the tool? For blocked_tools of sub-agents. */
bool policy_tool_blocked(const Str *patterns, size_t n, const ToolDef *def);
