/* Background tools as tasks of the protocol: the extension io.modelcontextprotocol/tasks without sessions, and the tasks of 2025-11-25. A task
 * is a call that has passed every gate and goes on in its run (tool/task.h); a record of it stays with the peer, as long as its time lasts. */
#pragma once
#include "mcp/serve.h"

typedef struct McpTask McpTask;

/* Before the call of a background tool. *out is NULL when it is to be waited for; else the call is made ready for a task. Fails when
 * the tool needs a client that has tasks, or the client asks for one where there is none. */
bool serve_tasks_begin(McpRequest *q, const ToolEntry *tool, Call *call, McpTask **out, Error *err);
/* After it: `r` NULL when it failed. Without a task the record goes; else q's answer is filled. */
bool serve_tasks_created(McpRequest *q, McpTask *t, const Result *r, Error *err);
void serve_tasks_drop(McpRequest *q, McpTask *t, const Result *r);           /* t may be NULL */

/* The task's state as clients of the version see it, for those that subscribed. NULL t: no such task. */
bool serve_tasks_known(McpPeer *p, Str id);
bool serve_tasks_working(McpPeer *p);    /* is one at work? */
void serve_tasks_close(McpPeer *p);      /* its runs have ended */

#define SERVE_TASKS_EXTENSION "io.modelcontextprotocol/tasks"
bool serve_tasks_declared(const McpRequest *q);              /* has the client the extension? */
bool serve_tasks_missing(McpRequest *q, Error *err);         /* the error that it has not; always false */
