/* The content of a project, in columns and as JSON. The JSON formats are stable and documented in
 * docs/reference/cli.md. */
#pragma once
#include "artifact/project.h"
#include "cli/cli.h"
#include "policy/policy.h"

/* The lists omit tools and hooks that are private to a sub-agent; inspect finds them. Hooks are in execution order: by
 * event, priority, then file. With a policy, hidden tools are omitted too; it may be NULL. */
void listing_tools(Buf *out, const Project *p, const Policy *policy, size_t indent, bool color);
bool listing_shown(const ToolDef *t, const Policy *policy);
Str listing_hidden_by(const ToolDef *t, const Policy *policy);          /* the rule; empty: none */
void listing_tool(Buf *out, const ToolDef *t, bool full, bool color);   /* one, in several lines; full: with the whole
                                                                         * description */
void listing_hook(Buf *out, const HookDef *h, bool color);
void listing_agent(Buf *out, const AgentDef *a, bool color);
void listing_hooks(Buf *out, const Project *p, size_t indent, bool color);
void listing_agents(Buf *out, const Project *p, size_t indent, bool color);
/* listing_rules.c */
void listing_rule(Buf *out, const RuleDef *r, bool color);
void listing_rules(Buf *out, const Project *p, size_t indent, bool color);
void listing_json_rule(Buf *out, const RuleDef *r);
void listing_json_rules(Buf *out, const Project *p);

/* Each writes a list of objects. Tools can fail: a default may have no JSON form. */
bool listing_json_tools(Buf *out, const Project *p, const Policy *policy, Error *err);
void listing_json_hooks(Buf *out, const Project *p);
void listing_json_agents(Buf *out, const Project *p);

/* The same objects, one at a time, without the braces; `extra` adds the fields of inspect. */
bool listing_json_tool(Buf *out, const ToolDef *t, bool extra, Error *err);
void listing_json_hook(Buf *out, const HookDef *h, bool extra);
void listing_json_agent(Buf *out, const AgentDef *a, bool extra);

bool listing_mcp(Buf *out, const Project *p, const Policy *policy, Error *err);     /* {"tools": […]}, as MCP clients
                                                                                     * receive them */

Str listing_summary(Str description);                   /* its first line that is neither empty nor a heading */
int64_t listing_timeout(const ToolDef *t);              /* in ms, with the kind's default; 0: none; -1: unknown here */
const char *listing_hook_kind(HookKind kind);
const char *listing_on_error(const HookDef *h);         /* "block" or "allow" */
size_t listing_count_tools(const Project *p);
size_t listing_count_hooks(const Project *p);
