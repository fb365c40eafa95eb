/* Serves a project to MCP clients through the whole pipeline. This part implements the protocol; the transports are
 * mcp/host/stdio.c and mcp/host/http.c.
 *
 *     McpHost ── one per process: the runtime, reloaded when files change
 *       McpPeer ── one client: a stdio process, an Mcp-Session-Id, or token and client name without a session. Has a run.
 *         McpLink ── destination of the messages about one request: stdout, the response to one POST, the GET stream */
#pragma once
#include "mcp/wire/era.h"
#include "mcp/wire/rpc.h"
#include "tool/pipeline/call.h"

typedef struct McpHost McpHost;
typedef struct McpPeer McpPeer;
typedef struct McpLink McpLink;

/* Created by a transport, embedded in its own struct. Reference-counted; `free` runs when the last reference is
 * released. Thread-safe. */
struct McpLink {
    /* Sends one message. `last`: the response to the link's request; nothing follows. False: the peer is gone. Must not
     * block for long: the transport cuts a reader that is too slow. A cancelled request gets no response: its link is
     * released, and `free` may run without a last message. */
    bool (*send)(McpLink *l, Str message, bool last);
    void (*free)(McpLink *l);
    _Atomic int holders;                 /* 1 when made */
};
void mcp_link_keep(McpLink *l);
void mcp_link_release(McpLink *l);       /* NULL is fine */

typedef struct McpHostConfig {
    RuntimeConfig runtime;
    int events;                          /* descriptor of --events, borrowed: every run writes to it; -1: none */
    bool watch;                          /* reload on file changes */
    const char *version;                 /* of the program, sent to clients */
    Str secret;                          /* the transport's token, for redaction; may be empty */
    const Log *log;
    size_t bytes_max;                    /* memory limit of requests in flight, of all clients; 0: a default. Small
                                          * requests may use the same again */
} McpHostConfig;

bool mcp_host_new(const McpHostConfig *config, McpHost **out, Problems *problems, Error *err);
/* Refuses new requests, cancels running ones after grace_ms, and frees everything, including peers. */
void mcp_host_close(McpHost *s, int64_t grace_ms);
void mcp_host_abandon(McpHost *s);   /* runtime_abandon() of its project: the process must exit afterwards */

typedef struct McpPeerConfig {
    Str session;                         /* RunConfig.session of a stateless peer: token digest and client name; may be
                                          * empty */
    McpLink *general;                    /* for messages that belong to no request; kept; NULL: none yet */
    bool one_link;                       /* stdio: requests and notifications share `general` */
    bool shared;                         /* stateless HTTP: several programs may share it, so ids may repeat, and only
                                          * closing the link cancels */
} McpPeerConfig;

McpPeer *mcp_peer_new(McpHost *s, const McpPeerConfig *config, Error *err);
McpVersion mcp_peer_version(const McpPeer *p);               /* MCP_NONE: not negotiated yet */
void mcp_peer_link_gone(McpPeer *p, McpLink *link);          /* its reader has left: cancels its requests if the version
                                                              * says so */
bool mcp_peer_idle(McpPeer *p);                              /* true if no request is in flight */
void mcp_peer_close(McpPeer *p, int64_t grace_ms);           /* ends its run; frees it */

enum { MCP_REQUESTS_MAX = 256, MCP_SHARED_MAX = 4096, MCP_PARKED_MAX = 64 };       /* the second is for a shared peer */

/* The transports: serve until stdin ends or `stop` fires. */
bool mcp_serve_stdio(McpHost *s, int in_fd, int out_fd, Cancel *stop, Error *err);

typedef struct McpHttpConfig {
    const char *address; uint16_t port;  /* port 0: any; reported in *bound */
    Str token;                           /* empty: no bearer token required (--no-auth) */
    Str authorization_server;            /* https://…: accept its tokens and serve resource metadata; empty: none */
    Str resource;                        /* our public URL, the required audience of such tokens; empty:
                                          * http://ADDRESS:PORT/mcp */
    Str scope;                           /* required in such tokens; empty: any */
    StrList origins;                     /* allowed in addition to local ones */
    StrList hosts;                       /* accepted in Host in addition to the bound one */
    int64_t requests_per_minute;         /* per client; 0: a default that normal clients do not reach */
    int64_t poll_ms;                     /* close an idle response stream after this if its client can resume; 0:
                                          * never */
    void (*bound)(void *ctx, uint16_t port); void *ctx;
} McpHttpConfig;
bool mcp_serve_http(McpHost *s, const McpHttpConfig *config, Cancel *stop, Error *err);
