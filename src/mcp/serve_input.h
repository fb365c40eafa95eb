/* The ways of serve_input.c, for the files that ask. */
#pragma once
#include "mcp/serve.h"

/* serve_input with the heap for the answers told apart: `h` is used by this thread alone until it returns. */
bool serve_input_ask(McpRequest *q, InputAsk *asks, size_t n, Heap *h, Cancel *cancel, Error *err);
/* Handshake versions: requests to the client on `link` (NULL: the general one), with `related` as _meta of each unless it is GONE. Waits. */
bool serve_input_request(McpPeer *p, McpLink *link, Value related, InputAsk *asks, size_t n, Heap *h, Cancel *cancel, Error *err);
