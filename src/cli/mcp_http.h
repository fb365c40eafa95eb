/* What harness mcp serve --http was told: who may come in, and how. */
#pragma once
#include "base/vec.h"
#include "cli/cli.h"
#include "mcp/server.h"

enum { MCP_HTTP_SECRET = 24 };

typedef struct McpHttp {                 /* zero-initialise, mcp_http_clear at the end; not to be moved */
    Cli *cli;
    McpHttpConfig config;                /* address NULL: no --http */
    char address[256], token[MCP_HTTP_SECRET * 2 + 1];
    VEC(Str) origins, hosts;
} McpHttp;

/* Reads the flags. A token that is made is printed, and where the server is once it listens; both to standard error. */
bool mcp_http_flags(McpHttp *h, Cli *cli, Error *err);
void mcp_http_clear(McpHttp *h);
