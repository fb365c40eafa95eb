/* Skills (.harness/skills/NAME/SKILL.md and what lies beside it), as resources skill://NAME/… */
#pragma once
#include "mcp/serve.h"
#include "value/list.h"

#define SERVE_SKILLS "skill://"

/* Tells of each SKILL.md: of a skill that is as it must be. The strings live during the call. */
bool serve_skills_each(McpRequest *q, bool (*each)(void *ctx, Str uri, Str name, Str description, Error *err), void *ctx, Error *err);
/* The bytes of one file of a skill; ERR_VALIDATION when there is none of that URI. */
bool serve_skills_read(McpRequest *q, Str uri, Buf *out, Str *path, Error *err);
