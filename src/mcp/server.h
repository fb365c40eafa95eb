/* A project, served to MCP clients through the whole pipeline. What is said and what it does is here; how the messages travel is
 * the transports': serve_stdio.c, serve_http.c.
 *
 *     McpServer ── one per program: the runtime, reloaded when files change
 *       McpPeer ── one client: a stdio process, an Mcp-Session-Id, or token and client name without a session. It has the run.
 *         McpLink ── where the messages about one request go: the stdout, the answer of one POST, the GET stream
 */
#pragma once
#include "mcp/era.h"
#include "mcp/rpc.h"
#include "tool/call.h"

typedef struct McpServer McpServer;
typedef struct McpPeer McpPeer;
typedef struct McpLink McpLink;

/* Made by a transport, embedded in its own struct. Counted: who keeps it releases it; `free` is called when nobody holds it. Any thread. */
struct McpLink {
    /* One message. `last`: it answers the request this link was made for; nothing follows. False: the peer is gone. Must not block
     * for long: a reader that is too slow is cut off by the transport. A request that was cancelled is not answered: its link is released,
     * and `free` may come without a last message. */
    bool (*send)(McpLink *l, Str message, bool last);
    void (*free)(McpLink *l);
    _Atomic int holders;                 /* 1 when made */
};
void mcp_link_keep(McpLink *l);
void mcp_link_release(McpLink *l);       /* NULL is fine */

typedef struct McpServerConfig {
    RuntimeConfig runtime;
    int events;                          /* descriptor of --events, borrowed: every run writes there; -1: none */
    bool watch;                          /* look for changed files */
    const char *version;                 /* of the program, as clients are told */
    Str secret;                          /* the token of the transport, for redaction; empty: none */
    const Log *log;
    size_t bytes_max;                    /* memory of requests under way, of all clients; 0: a default. Small ones have as much again */
} McpServerConfig;

bool mcp_server_new(const McpServerConfig *config, McpServer **out, Problems *problems, Error *err);
/* No new requests; running ones are cancelled after grace_ms; frees everything, also peers. */
void mcp_server_close(McpServer *s, int64_t grace_ms);
void mcp_server_abandon(McpServer *s);   /* runtime_abandon() of the project it serves: then the program must end */

typedef struct McpPeerConfig {
    Str session;                         /* for RunConfig.session of a stateless peer: token digest and client name; empty: none */
    McpLink *general;                    /* where messages go that belong to no request; kept; NULL: none yet */
    bool one_link;                       /* stdio: requests and notifications share `general` */
    bool shared;                         /* stateless HTTP: several programs may be behind it, so ids repeat, and only a link cancels */
} McpPeerConfig;

McpPeer *mcp_peer_new(McpServer *s, const McpPeerConfig *config, Error *err);
McpVersion mcp_peer_version(const McpPeer *p);               /* MCP_NONE: not negotiated yet */
void mcp_peer_link_gone(McpPeer *p, McpLink *link);          /* its reader has left: requests of it are cancelled where the version says so */
bool mcp_peer_idle(McpPeer *p);                              /* nothing under way? */
void mcp_peer_close(McpPeer *p, int64_t grace_ms);           /* ends its run; frees it */

enum { MCP_REQUESTS_MAX = 256, MCP_SHARED_MAX = 4096, MCP_PARKED_MAX = 64 };       /* the second of a shared peer */

/* The transports: serve until stdin ends or `stop` fires. */
bool mcp_serve_stdio(McpServer *s, int in_fd, int out_fd, Cancel *stop, Error *err);

typedef struct McpHttpConfig {
    const char *address; uint16_t port;  /* port 0: any; told in *bound */
    Str token;                           /* empty: no bearer token is asked for (--no-auth) */
    Str authorization_server;            /* https://…: its tokens are taken, resource metadata is served; empty: none */
    Str resource;                        /* our URL as clients know it, and so the audience of such tokens; empty: http://ADDRESS:PORT/mcp */
    Str scope;                           /* that such tokens must have; empty: any */
    StrList origins;                     /* allowed beside local ones */
    StrList hosts;                       /* names that Host may have beside the bound one */
    int64_t requests_per_minute;         /* of one client; 0: a default that no honest client meets */
    int64_t poll_ms;                     /* a silent answer stream of a client that can resume is closed after this; 0: never */
    void (*bound)(void *ctx, uint16_t port); void *ctx;
} McpHttpConfig;
bool mcp_serve_http(McpServer *s, const McpHttpConfig *config, Cancel *stop, Error *err);
