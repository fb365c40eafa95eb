/* The MCP servers of a project, as sources of tools. A server is started or connected to on first use: a call, or listing
 * its tools for the first time. Its tool definitions are pinned in the store: later processes know its tools without
 * starting it, and a tool that differs from its pin is held until the user approves it.
 *
 *     runtime_open → mcp_remotes_new: pinned tools, faces of spaces → [mcp_remotes_list: those never listed] → calls
 *       → mcp_remotes_stop → runtime_close → mcp_remotes_free */
#pragma once
#include "mcp/remote/client.h"
#include "tool/pipeline/call.h"

typedef struct McpRemotes McpRemotes;

typedef struct McpRemotesConfig {
    /* Opens a login URL for the user; NULL when no user is present. Thread-safe. */
    bool (*browse)(void *ctx, Str url, Error *err);
    void *ctx;
    McpVersion version;                  /* use only this version; MCP_NONE: negotiate */
    const char *program;                 /* version of harness, sent to the servers */
} McpRemotesConfig;

/* Call before the runtime's first call. Starts no server. Fails only when the store cannot be read. */
bool mcp_remotes_new(Runtime *rt, const McpRemotesConfig *config, McpRemotes **out, Error *err);
void mcp_remotes_stop(McpRemotes *m);    /* stops them all; before runtime_close. NULL is fine */
void mcp_remotes_free(McpRemotes *m);    /* after runtime_close, which uses the tool definitions. NULL is fine */

/* Lists the tools of every server that was never listed, in parallel. Logs failures; the tools of a failed server are
 * not available. */
void mcp_remotes_list(McpRemotes *m, Cancel *cancel);
/* The same for the server named in `tool` (mcp:SERVER:TOOL or mcp__SERVER__TOOL), if any. */
void mcp_remotes_list_for(McpRemotes *m, Str tool, Cancel *cancel);
/* Lists one server's tools now, even if pinned. ERR_VALIDATION: unknown server. */
bool mcp_remotes_ask(McpRemotes *m, Str server, Cancel *cancel, Error *err);

/* Sends one request to a server, bypassing the pipeline: not for tool calls. */
bool mcp_remotes_request(McpRemotes *m, Str server, Str method, Value params, Cancel *cancel, Heap *heap, Value *out, Error *err);

typedef struct McpServerFacts {
    const ServerDef *def;
    bool listed, running;
    size_t tools, held;
    Str instructions;                    /* the server's own text; valid until mcp_remotes_free */
    char problem[600];                   /* why it failed when it was last started, here or by another program; "": it did not fail */
} McpServerFacts;
size_t mcp_remotes_count(const McpRemotes *m);
McpServerFacts mcp_remotes_facts(McpRemotes *m, size_t i);

/* Signs out of a server: oauth_forget. Starts no server. ERR_VALIDATION: unknown server, or a program. */
bool mcp_remotes_logout(McpRemotes *m, Str server, Cancel *cancel, OAuthForgotten *out, Error *err);

/* The changes in a server's tools since they were approved, as a diff. */
bool mcp_remotes_changes(McpRemotes *m, Str server, Buf *shown, Error *err);
/* Approves exactly the changes that mcp_remotes_changes has shown; ERR_POLICY: the tools have changed again. */
bool mcp_remotes_approve(McpRemotes *m, Str server, Str seen, Error *err);
