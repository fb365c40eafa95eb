/* The flags of harness mcp serve --http: access control and limits. */
#pragma once
#include "base/vec.h"
#include "cli/cli.h"
#include "mcp/host/host.h"

enum { MCP_HTTP_SECRET = 24 };

typedef struct McpHttp {                 /* zero-initialise, mcp_http_clear at the end; must not be moved */
    Cli *cli;
    McpHttpConfig config;                /* address NULL: no --http */
    char address[256], token[MCP_HTTP_SECRET * 2 + 1];
    VEC(Str) origins, hosts;
} McpHttp;

/* Parses the flags. Prints a generated token, and the server's URL once it listens, to standard error. */
bool mcp_http_flags(McpHttp *h, Cli *cli, Error *err);
/* For another server with the flags --http (else `usual`), --allow-remote, --host and --origin: only these. */
bool mcp_http_listen(McpHttp *h, Cli *cli, const char *usual, Error *err);
void mcp_http_clear(McpHttp *h);
