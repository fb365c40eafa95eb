/* The supported versions of the protocol, and their differences. */
#pragma once
#include <stdbool.h>
#include "base/str.h"

typedef enum { MCP_2024_11_05, MCP_2025_03_26, MCP_2025_06_18, MCP_2025_11_25, MCP_2026_07_28, MCP_NONE,
               MCP_LATEST_HANDSHAKE = MCP_2025_11_25, MCP_LATEST = MCP_2026_07_28 } McpVersion;

McpVersion mcp_version(Str date);        /* MCP_NONE: not supported */
Str mcp_version_date(McpVersion v);
static inline bool mcp_stateless(McpVersion v) { return v == MCP_2026_07_28; }   /* no handshake, no sessions, no requests to the client */
static inline bool mcp_batches(McpVersion v) { return v == MCP_2025_03_26; }     /* several messages in one array:
                                                                                  * accepted, never sent */
static inline bool mcp_structured(McpVersion v) { return v >= MCP_2025_06_18; }  /* structuredContent, outputSchema, title, resource_link */

/* Error codes. */
enum {
    RPC_PARSE = -32700, RPC_INVALID_REQUEST = -32600, RPC_METHOD_NOT_FOUND = -32601, RPC_INVALID_PARAMS = -32602, RPC_INTERNAL = -32603,
    MCP_RESOURCE_NOT_FOUND = -32002,     /* up to 2025-11-25; later RPC_INVALID_PARAMS */
    MCP_HEADER_MISMATCH = -32020, MCP_MISSING_CAPABILITY = -32021, MCP_UNSUPPORTED_VERSION = -32022,
};
