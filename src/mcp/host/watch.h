/* Watches the project's files: reloads the project on a change. New requests use the new version; running ones keep the
 * old. If loading fails, logs the problem and keeps the last good version. Ignores changes that a call could have made
 * (tool/protect/tamper.c reverts them). */
#pragma once
#include "mcp/host/serve.h"

bool serve_watch_start(McpHost *s, Error *err);            /* false: cannot watch; the server works without */
void serve_watch_stop(McpHost *s);                         /* before the peers are closed */
