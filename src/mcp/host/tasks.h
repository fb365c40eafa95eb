/* Background tools as tasks of the protocol: the extension io.modelcontextprotocol/tasks of stateless versions, and the
 * tasks of 2025-11-25. A task is a call that passed every check and runs in the background (tool/task/task.h); the peer
 * keeps a record of it until its TTL expires. */
#pragma once
#include "mcp/host/serve.h"

typedef struct McpTask McpTask;

/* Before a call of a background tool. *out is NULL if the client waits for the result; else prepares the call as a
 * task. Fails if the tool requires task support that the client lacks, or the client requests a task for a tool without
 * it. */
bool serve_tasks_begin(McpRequest *q, const ToolEntry *tool, Call *call, McpTask **out, Error *err);
/* After the call: `r` NULL if it failed. Without a task drops the record; else fills q's response. */
bool serve_tasks_created(McpRequest *q, McpTask *t, const Result *r, Error *err);
void serve_tasks_drop(McpRequest *q, McpTask *t, const Result *r);           /* t may be NULL */

/* The task's state in the client's version, for subscribers. NULL t: unknown task. */
bool serve_tasks_known(McpPeer *p, Str id);
bool serve_tasks_working(McpPeer *p);    /* true if a task is running */
void serve_tasks_close(McpPeer *p);      /* after its runs have ended */

#define SERVE_TASKS_EXTENSION "io.modelcontextprotocol/tasks"
bool serve_tasks_declared(const McpRequest *q);              /* true if the client has declared the extension */
bool serve_tasks_missing(McpRequest *q, Error *err);         /* the error for a missing extension; always false */
