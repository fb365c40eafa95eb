/* Patterns over names of tools: tools_policy, blocked_tools, blockedTools, the tools of a command hook, and tools.allow
 * and tools.deny of a server. A pattern that cannot match any name would restrict nothing, so it stops the load. */
#pragma once
#include "base/str.h"

/* PATTERN_SERVER: matched against a server's own tool names, without "mcp:SERVER:". */
typedef enum { PATTERN_TOOL, PATTERN_SERVER } PatternKind;

/* Why the pattern cannot match the name of a tool; NULL if it can. *hint says what to write, or is NULL. */
const char *pattern_problem(PatternKind kind, Str pattern, const char **hint);
/* Glob over names (`*`, `?`, `[a-z]`, `[!a]`). An unclosed bracket is a literal. */
bool pattern_matches(Str pattern, Str name);
