/* Functions of mcp/host/input_ask.c, for the files that ask questions. */
#pragma once
#include "mcp/host/serve.h"

/* serve_input with a separate heap for the answers: `h` is used by this thread only until it returns. */
bool serve_input_ask(McpRequest *q, InputAsk *asks, size_t n, Heap *h, Cancel *cancel, Error *err);
/* Handshake versions: sends requests to the client on `link` (NULL: the general one), with `related` as _meta of each
 * unless GONE. Blocks. */
bool serve_input_request(McpPeer *p, McpLink *link, Value related, InputAsk *asks, size_t n, Heap *h, Cancel *cancel, Error *err);
