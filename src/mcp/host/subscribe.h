/* Subscriptions: resources/subscribe of the handshake versions, subscriptions/listen of stateless ones. */
#pragma once
#include "mcp/host/serve.h"

/* Notifies the streams that named a task of a change. `members`: the task as JSON, without the braces. */
void serve_subscribe_task(McpPeer *p, Str id, Str members);
