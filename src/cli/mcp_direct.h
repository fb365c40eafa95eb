/* Shared by the mcp commands: a server by its URL, outside of any project, and answers to its questions from the
 * command line. */
#pragma once
#include "cli/cli.h"
#include "cli/oauth_direct.h"
#include "cli/opening.h"
#include "mcp/remote/client.h"
#include "policy/redact.h"

bool mcp_direct_is_url(const char *text);
/* --protocol VERSION; MCP_NONE: not given. */
bool mcp_direct_version(const Cli *cli, McpVersion *out, Error *err);

typedef struct McpDirect {               /* zero-initialise, mcp_direct_close at the end */
    ServerDef def;
    Client *http;
    OAuthDirect tokens;
    Heap *heap;                          /* for --oauth and results */
    VEC(ClientHeader) headers;
    Redactor *secrets;                   /* values of --header */
    McpClient *client;
} McpDirect;
/* Connects, honouring --header, --oauth, --elicit and --protocol. */
bool mcp_direct_open(McpDirect *d, Cli *cli, const char *url, Cancel *cancel, Error *err);
void mcp_direct_close(McpDirect *d);
/* Redacts the values of --header in output and in `err`. Before mcp_direct_close. */
void mcp_direct_redact(const McpDirect *d, Buf *out, Error *err);

/* With --elicit, that Person instead of the terminal's. */
Person mcp_direct_person(const Cli *cli, Person usual);
