/* Stands in until the files are there that do it. */
#include "mcp/peer.h"

void serve_subscribe_cancel(McpPeer *p, Value id) { (void)p, (void)id; }
void serve_subscribe_gone(McpPeer *p, McpLink *link) { (void)p, (void)link; }
void serve_subscribe_close(McpPeer *p) { (void)p; }
bool serve_tasks_wanted(McpRequest *q, const ToolEntry *tool) { return (void)q, (void)tool, false; }
bool serve_tasks_created(McpRequest *q, const Result *r, Error *err) { return (void)q, (void)r, error_set(err, ERR_INTERNAL, "no tasks"); }
