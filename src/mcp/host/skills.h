/* Skills (.harness/skills/NAME/SKILL.md and the files next to it), as resources skill://NAME/… */
#pragma once
#include "mcp/host/serve.h"
#include "value/list.h"

#define SERVE_SKILLS "skill://"

/* Calls `each` for the SKILL.md of every valid skill. The strings are valid during the call. */
bool serve_skills_each(McpRequest *q, bool (*each)(void *ctx, Str uri, Str name, Str description, Error *err), void *ctx, Error *err);
/* The bytes of one file of a skill; ERR_VALIDATION for an unknown URI. */
bool serve_skills_read(McpRequest *q, Str uri, Buf *out, Str *path, Error *err);
