/* A client connection to an MCP server: a program in the sandbox, or a URL. Negotiates the version: tries
 * server/discover, then initialize. Thread-safe; any number of requests may be in flight. */
#pragma once
#include "mcp/wire/era.h"
#include "base/arena.h"
#include "mcp/oauth/oauth.h"
#include "mcp/wire/rpc.h"
#include "artifact/project.h"
#include "base/cancel.h"
#include "base/log.h"
#include "net/client.h"
#include "policy/redact.h"
#include "sandbox/sandbox.h"
#include "value/list.h"

typedef struct McpClient McpClient;

/* Requests of the server that the client serves; NULL: refused, and not announced. `caller` is the value passed to
 * mcp_client_request for the request that the question belongs to; NULL if that is unknown. `out` in `heap`: the result
 * object. */
typedef struct McpClientAnswers {
    bool (*elicit)(void *ctx, void *caller, Value params, Heap *heap, Value *out, Cancel *cancel, Error *err);
    bool (*sample)(void *ctx, void *caller, Value params, Heap *heap, Value *out, Cancel *cancel, Error *err);
    bool (*roots)(void *ctx, Heap *heap, Value *out, Error *err);
    void (*notified)(void *ctx, Str method, Value params);   /* list_changed, log messages, resources/updated …; must be
                                                              * quick */
    void (*progress)(void *ctx, void *caller, Value params); /* while the request waits; must be quick */
    void *ctx;
} McpClientAnswers;

typedef struct McpClientConfig {         /* borrowed for the client's lifetime */
    const ServerDef *server;
    McpVersion version;                  /* use only this version; MCP_NONE: negotiate */
    const char *program;                 /* version of harness, sent to the server */
    Sandbox *sandbox; const SandboxRules *rules; const char *const *env;     /* for a program */
    const char *cwd;                     /* for a program; NULL: the workspace */
    Client *http; const Rules *net; OAuth *oauth;                            /* for a URL; rules NULL: any host. oauth
                                                                              * NULL: none */
    const ClientHeader *headers; size_t n_headers;                           /* for a URL: the entry's headers with
                                                                              * ${NAME} expanded */
    McpClientAnswers answers;
    const Log *log;
    Redactor *redact;                    /* for log messages and errors; NULL: no redaction */
} McpClientConfig;

bool mcp_client_open(const McpClientConfig *config, Cancel *cancel, McpClient **out, Error *err);
bool mcp_client_fetches(Str command);    /* true for a program, such as npx, that downloads what it starts */
void mcp_client_close(McpClient *c);     /* no request may be in flight; NULL is fine */
McpVersion mcp_client_version(const McpClient *c);
bool mcp_client_alive(McpClient *c);
bool mcp_client_exposed(McpClient *c);   /* true if a program can now write a protected file: see
                                          * sandbox_process_exposed() */
/* {capabilities, serverInfo, instructions}, each if the server sent it; frozen, valid as long as the client. */
Value mcp_client_offers(const McpClient *c);

/* Sends one request and returns its result (a dict in `heap`). Answers input_required results with `answers` and
 * resends; polls a task until it ends. An error response is ERR_PROTOCOL with the server's message; a dead or silent
 * server is ERR_IO or ERR_TIMEOUT, and *sent says whether it may have acted. Cancelling notifies the server. */
bool mcp_client_request(McpClient *c, Str method, Value params, void *caller, Cancel *cancel, Heap *heap, Value *out, bool *sent, Error *err);
/* Fetches all pages of a list: `member` is tools, resources, prompts … The number of pages and entries is limited. A
 * list with a ttlMs is cached until it expires or the server reports a change. */
bool mcp_client_list(McpClient *c, Str method, Str member, Cancel *cancel, Heap *heap, List **out, Error *err);
enum { MCP_PAGES_MAX = 100, MCP_ENTRIES_MAX = 10000, MCP_ROUNDS_MAX = 16, MCP_GATHERED_MAX = 256 << 20 };
