/* Stands in until the transport is there. */
#include "mcp/server.h"

bool mcp_serve_http(McpServer *s, const McpHttpConfig *config, Cancel *stop, Error *err) {
    (void)s, (void)config, (void)stop;
    return error_set(err, ERR_CONFIG, "this build has no HTTP server");
}
