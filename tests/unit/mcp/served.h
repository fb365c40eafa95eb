/* A server of an empty project. */
#pragma once
#include "mcp/host/host.h"
#include "tool/tree.h"

static McpHost *served_new(Tree *tree) {
    Error err = { 0 };
    Problems problems = { 0 };
    McpHost *server;
    tree_text(tree, "harness.md", "---\nbuiltin_tools: none\n---\n");
    McpHostConfig config = { .runtime = { .dir = tree->path, .ephemeral = true }, .events = -1, .version = "1" };
    if (!mcp_host_new(&config, &server, &problems, &err)) fail_msg("%s", err.msg);
    problems_clear(&problems);
    return server;
}
