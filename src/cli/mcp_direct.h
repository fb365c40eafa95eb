/* What the mcp commands share: a server by its URL, outside of any project, and answers to its questions from the command line. */
#pragma once
#include "cli/cli.h"
#include "cli/oauth_direct.h"
#include "cli/opening.h"
#include "mcp/client.h"
#include "policy/redact.h"

bool mcp_direct_is_url(const char *text);
/* --protocol VERSION; MCP_NONE: not given. */
bool mcp_direct_version(const Cli *cli, McpVersion *out, Error *err);

typedef struct McpDirect {               /* zero-initialise, mcp_direct_close at the end */
    ServerDef def;
    Client *http;
    OAuthDirect tokens;
    Heap *heap;                          /* of --oauth and of results */
    VEC(ClientHeader) headers;
    Redactor *secrets;                   /* values of --header */
    McpClient *client;
} McpDirect;
/* Connects: --header, --oauth, --elicit and --protocol are heeded. */
bool mcp_direct_open(McpDirect *d, Cli *cli, const char *url, Cancel *cancel, Error *err);
void mcp_direct_close(McpDirect *d);
/* Takes the values of --header out of what is about to be printed and of `err`. Before mcp_direct_close. */
void mcp_direct_redact(const McpDirect *d, Buf *out, Error *err);

/* With --elicit, that person in place of the terminal's. */
Person mcp_direct_person(const Cli *cli, Person usual);
