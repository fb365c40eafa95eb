/* One connection to an MCP server, as its client: a program under the sandbox, or a URL. Negotiates the version: the server is asked by
 * server/discover, and one that does not know that gets initialize; what it offers is remembered. Any thread; any number of
 * requests under way. */
#pragma once
#include "mcp/era.h"
#include "base/arena.h"
#include "mcp/oauth.h"
#include "mcp/rpc.h"
#include "artifact/project.h"
#include "base/cancel.h"
#include "base/log.h"
#include "net/client.h"
#include "policy/redact.h"
#include "sandbox/sandbox.h"
#include "value/list.h"

typedef struct McpClient McpClient;

/* What the client does for the server; NULL: refused, and not offered. `caller` is what mcp_client_request was given by the request that the
 * question belongs to; NULL: nobody knows which. `out` in `heap`: the result object. */
typedef struct McpClientAnswers {
    bool (*elicit)(void *ctx, void *caller, Value params, Heap *heap, Value *out, Cancel *cancel, Error *err);
    bool (*sample)(void *ctx, void *caller, Value params, Heap *heap, Value *out, Cancel *cancel, Error *err);
    bool (*roots)(void *ctx, Heap *heap, Value *out, Error *err);
    void (*notified)(void *ctx, Str method, Value params);   /* list_changed, log messages, resources/updated …; returns soon */
    void (*progress)(void *ctx, void *caller, Value params); /* while the request waits; returns soon */
    void *ctx;
} McpClientAnswers;

typedef struct McpClientConfig {         /* borrowed for the client's life */
    const ServerDef *server;
    McpVersion version;                  /* speak this one and no other; MCP_NONE: negotiate */
    const char *program;                 /* version of harness, told to the server */
    Sandbox *sandbox; const SandboxRules *rules; const char *const *env;     /* of a program */
    const char *cwd;                     /* of a program; NULL: the workspace */
    Client *http; const Rules *net; OAuth *oauth;                            /* of a URL; rules NULL: any host. oauth NULL: none */
    const ClientHeader *headers; size_t n_headers;                           /* of a URL: the entry's, ${NAME} filled in */
    McpClientAnswers answers;
    const Log *log;
    Redactor *redact;                    /* of what goes into the log and into errors; NULL: nothing is hidden */
} McpClientConfig;

bool mcp_client_open(const McpClientConfig *config, Cancel *cancel, McpClient **out, Error *err);
bool mcp_client_fetches(Str command);    /* is this a program, such as npx, that downloads what it starts? */
void mcp_client_close(McpClient *c);     /* no request may be under way; NULL is fine */
McpVersion mcp_client_version(const McpClient *c);
bool mcp_client_alive(McpClient *c);
bool mcp_client_exposed(McpClient *c);   /* a program that can write a protected file by now: sandbox_process_exposed() */
/* {capabilities, serverInfo, instructions}, each only where the server told it; frozen, as long as the client. */
Value mcp_client_offers(const McpClient *c);

/* One request and its result (a dict in `heap`). Multi-round-trip answers (input_required) are served by `answers` and sent again; a task
 * handle is polled to its end. An error of the server is ERR_PROTOCOL with its message; a dead or silent one ERR_IO or ERR_TIMEOUT, and *sent says
 * whether the server may have acted. Cancelling tells the server. */
bool mcp_client_request(McpClient *c, Str method, Value params, void *caller, Cancel *cancel, Heap *heap, Value *out, bool *sent, Error *err);
/* All pages of a list: `member` is tools, resources, prompts … Bounded in pages and entries. What the server allows to be kept (ttlMs) is not
 * asked for again before its time, unless it says that the list has changed. */
bool mcp_client_list(McpClient *c, Str method, Str member, Cancel *cancel, Heap *heap, List **out, Error *err);
enum { MCP_PAGES_MAX = 100, MCP_ENTRIES_MAX = 10000, MCP_ROUNDS_MAX = 16, MCP_GATHERED_MAX = 256 << 20 };
