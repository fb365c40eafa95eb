/* The project's files, watched: a change is loaded as a new version of the project that new requests use; what runs goes on with the old one.
 * What does not load is logged, and the last good version stays. A change that a call could have made is none (tool/tamper.c puts it back). */
#pragma once
#include "mcp/serve.h"

bool serve_watch_start(McpServer *s, Error *err);            /* false: it cannot be watched; the server works without */
void serve_watch_stop(McpServer *s);                         /* before the peers end */
