/* The MCP servers of a project, as sources of tools. A server is started, or connected to, when something of it is first needed: a call, or the
 * list of its tools when that was never seen. What it told is pinned in the store: later programs know its tools without starting it, and one
 * that differs from its pin is held until a person approves it.
 *
 *     opening a runtime → mcp_servers_new: tools as pinned, faces of spaces → [mcp_servers_list: those never listed] → calls
 *       → mcp_servers_stop → runtime_close → mcp_servers_free                                                          */
#pragma once
#include "mcp/client.h"
#include "tool/call.h"

typedef struct McpServers McpServers;

typedef struct McpServersConfig {
    /* Sends a person to a URL, to agree to a login; NULL: nobody is there. Any thread. */
    bool (*browse)(void *ctx, Str url, Error *err);
    void *ctx;
    McpVersion version;                  /* speak this one and no other; MCP_NONE: negotiate */
    const char *program;                 /* version of harness, told to the servers */
} McpServersConfig;

/* Before the runtime's first call. Starts nothing. Fails only when the store cannot be read. */
bool mcp_servers_new(Runtime *rt, const McpServersConfig *config, McpServers **out, Error *err);
void mcp_servers_stop(McpServers *m);    /* ends them all; before runtime_close. NULL is fine */
void mcp_servers_free(McpServers *m);    /* after runtime_close: definitions of its tools live here. NULL is fine */

/* Lists the tools of every server that was never listed, all at the same time. One that fails is told of in the log; its tools are
 * not there. */
void mcp_servers_list(McpServers *m, Cancel *cancel);
/* The same for the one server that `tool` (mcp:SERVER:TOOL or mcp__SERVER__TOOL) names, if it names one. */
void mcp_servers_list_for(McpServers *m, Str tool, Cancel *cancel);
/* Asks one server now, whatever is pinned. ERR_VALIDATION: there is none of that name. */
bool mcp_servers_ask(McpServers *m, Str server, Cancel *cancel, Error *err);

/* One request to a server, outside of the pipeline: not for calls of tools. */
bool mcp_servers_request(McpServers *m, Str server, Str method, Value params, Cancel *cancel, Heap *heap, Value *out, Error *err);

typedef struct McpServerFacts {
    const ServerDef *def;
    bool listed, running;
    size_t tools, held;
    Str instructions;                    /* as the server told them; until mcp_servers_free */
    char problem[600];                   /* why it failed when it was last started, here or by another program; "": it did not fail */
} McpServerFacts;
size_t mcp_servers_count(const McpServers *m);
McpServerFacts mcp_servers_facts(McpServers *m, size_t i);

/* Signs out of a server: oauth_forget. Starts nothing. ERR_VALIDATION: there is none of that name, or it is a program. */
bool mcp_servers_logout(McpServers *m, Str server, Cancel *cancel, OAuthForgotten *out, Error *err);

/* Approves what changed in a server's tools; appends what that was to `shown`, as differences. */
bool mcp_servers_approve(McpServers *m, Str server, Buf *shown, Error *err);
