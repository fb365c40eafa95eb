/* One connection to an MCP server, as its client: a program under the sandbox, or a URL. Negotiates the version: a stateless server is
 * asked by server/discover first where that costs nothing (HTTP), else initialize; what it offers is remembered. Any thread; any number of
 * requests under way. */
#pragma once
#include "mcp/era.h"
#include "mcp/rpc.h"
#include "artifact/project.h"
#include "base/cancel.h"
#include "base/log.h"
#include "net/client.h"
#include "sandbox/sandbox.h"

typedef struct McpClient McpClient;

/* What the client does for the server, each only where the entry's `allow` names it; NULL: refused. `out` in `heap`: the result object. */
typedef struct McpClientAnswers {
    bool (*elicit)(void *ctx, Value params, Heap *heap, Value *out, Cancel *cancel, Error *err);
    bool (*sample)(void *ctx, Value params, Heap *heap, Value *out, Cancel *cancel, Error *err);
    bool (*roots)(void *ctx, Heap *heap, Value *out, Error *err);
    void (*notified)(void *ctx, Str method, Value params);   /* list_changed, log messages, resources/updated … */
    void (*progress)(void *ctx, Value token, Value params);
    void *ctx;
} McpClientAnswers;

typedef struct McpClientConfig {         /* borrowed for the client's life */
    const ServerDef *server;
    McpVersion version;                  /* speak this one and no other; MCP_NONE: negotiate */
    Sandbox *sandbox; const SandboxRules *rules; const char *const *env;     /* of a program */
    Client *http; const Rules *net; struct OAuth *oauth;                     /* of a URL */
    McpClientAnswers answers;
    const Log *log;
} McpClientConfig;

bool mcp_client_open(const McpClientConfig *config, Cancel *cancel, McpClient **out, Error *err);
void mcp_client_close(McpClient *c);     /* requests under way fail; NULL is fine */
McpVersion mcp_client_version(const McpClient *c);
bool mcp_client_alive(const McpClient *c);

/* One request and its result (a dict in `heap`). Multi-round-trip answers (input_required) are served by `answers` and sent again; a task
 * handle is polled to its end. An error of the server is ERR_PROTOCOL with its message; a dead or silent one ERR_IO or ERR_TIMEOUT, and *sent says
 * whether the server may have acted. Cancelling tells the server. */
bool mcp_client_request(McpClient *c, Str method, Value params, Cancel *cancel, Heap *heap, Value *out, bool *sent, Error *err);
/* All pages of a list: `member` is tools, resources, prompts … Bounded in pages and entries. */
bool mcp_client_list(McpClient *c, Str method, Str member, Cancel *cancel, Heap *heap, List **out, Error *err);
