/* Watches the project's files: reloads the project on a change. New requests use the new version; running ones keep the
 * old. If loading fails, logs the problem and keeps the last good version. Ignores changes that a call could have made
 * (tool/protect/tamper.c reverts them). */
#pragma once
#include "mcp/host/serve.h"

/* since_ns: clock_file_ns() from before the project was loaded; a change since then counts. False: cannot watch; the server works without. */
bool serve_watch_start(McpHost *s, int64_t since_ns, Error *err);
void serve_watch_stop(McpHost *s);                         /* before the peers are closed */
