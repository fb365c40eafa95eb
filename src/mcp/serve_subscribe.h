/* Who wants to hear of what: resources/subscribe of the handshake versions, subscriptions/listen without sessions. */
#pragma once
#include "mcp/serve.h"

/* A task has changed: to those streams that named it. `members`: the task as JSON, without the braces. */
void serve_subscribe_task(McpPeer *p, Str id, Str members);
