/* A server of an empty project. */
#pragma once
#include "mcp/server.h"
#include "tool/tree.h"

static McpServer *served_new(Tree *tree) {
    Error err = { 0 };
    Problems problems = { 0 };
    McpServer *server;
    tree_text(tree, "harness.md", "---\nbuiltin_tools: none\n---\n");
    McpServerConfig config = { .runtime = { .dir = tree->path, .ephemeral = true }, .events = -1, .version = "1" };
    if (!mcp_server_new(&config, &server, &problems, &err)) fail_msg("%s", err.msg);
    problems_clear(&problems);
    return server;
}
