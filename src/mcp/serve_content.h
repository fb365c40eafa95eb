/* A tool's result as the content of an answer. */
#pragma once
#include "mcp/era.h"
#include "tool/registry.h"
#include "tool/result.h"

/* Appends "content":[…]: the typed blocks in the form that the version knows, or one text; and a link to what was too long to be shown whole. */
void serve_content_write(Buf *out, const Result *r, Str run, McpVersion v);
/* All members of the result of tools/call. `e` may be NULL. */
void serve_content_result(Buf *out, const ToolEntry *e, const Result *r, Str run, McpVersion v);
