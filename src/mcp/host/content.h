/* A tool's result as the content of a response. */
#pragma once
#include "mcp/wire/era.h"
#include "tool/registry.h"
#include "tool/result.h"

/* Appends "content":[…]: the typed blocks that the version supports, or one text; and a link to the full result if it
 * was cut. */
void serve_content_write(Buf *out, const Result *r, Str run, McpVersion v);
/* All members of the result of tools/call. `e` may be NULL. */
void serve_content_result(Buf *out, const ToolEntry *e, const Result *r, Str run, McpVersion v);
