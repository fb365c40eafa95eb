/* Stands in until the files are there that do it. */
#include "mcp/peer.h"

bool serve_input_resume(McpRequest *q, Error *err) { return (void)q, error_set(err, ERR_VALIDATION, "requestState is not one of ours"); }
void serve_input_response(McpPeer *p, const RpcMessage *m) { (void)p, (void)m; }
void serve_input_close(McpPeer *p) { (void)p; }
void serve_subscribe_cancel(McpPeer *p, Value id) { (void)p, (void)id; }
void serve_subscribe_gone(McpPeer *p, McpLink *link) { (void)p, (void)link; }
void serve_subscribe_close(McpPeer *p) { (void)p; }
bool serve_tasks_wanted(McpRequest *q, const ToolEntry *tool) { return (void)q, (void)tool, false; }
bool serve_tasks_created(McpRequest *q, const Result *r, Error *err) { return (void)q, (void)r, error_set(err, ERR_INTERNAL, "no tasks"); }
Person serve_person(McpRequest *q) { return (void)q, (Person){ 0 }; }
