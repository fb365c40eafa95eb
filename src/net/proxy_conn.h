/* One client of the proxy, from its first byte to its last:
 *
 *   HEAD ──> LOOKUP ──> CONNECT ──> RELAY ──> gone
 *     └────────┴───────────┴──> REFUSE (an answer that says why, then the rest of what comes is dropped) ──> gone
 *
 * Only the proxy's thread touches it. */
#pragma once
#include "net/proxy.h"
#include "net/proxy_flow.h"
#include "net/resolver.h"

typedef struct ProxyConn ProxyConn;
typedef struct ProxyShared ProxyShared;

/* What all connections share. */
struct ProxyShared {
    int epoll;
    const Rules *rules;
    Resolver *resolver;
    ProxyWatch *watch;
    void *ctx;
    char *room;                          /* PROXY_CHUNK bytes to work in */
    int64_t next_deadline;               /* no connection has an earlier one */
};

typedef enum { PROXY_CLIENT, PROXY_SERVER, PROXY_LOOKUP, PROXY_PARTS } ProxyPart;
typedef enum { PROXY_HEAD, PROXY_LOOKING, PROXY_CONNECT, PROXY_RELAY, PROXY_REFUSE, PROXY_GONE } ProxyState;

/* A descriptor in the epoll set, which keeps a pointer to this. Out of the set when nothing is awaited from it. */
typedef struct ProxyEnd { ProxyConn *conn; ProxyPart part; int fd; uint32_t events; } ProxyEnd;

struct ProxyConn {
    ProxyShared *shared;
    ProxyState state;
    ProxyEnd end[PROXY_PARTS];
    ProxyHead head;
    ProxyBody body;
    ProxyFlow up, down;                  /* to the server, to the client */
    Lookup *lookup;
    Addresses found;
    size_t next_address;
    int last_errno;
    int64_t deadline;
    ProxyConn *next, *prev;              /* the proxy's list */
};

ProxyConn *proxy_conn_new(ProxyShared *s, int client_take);
void proxy_conn_free(ProxyConn *c);
void proxy_conn_event(ProxyConn *c, ProxyPart part, uint32_t events);   /* afterwards its state may be PROXY_GONE */
void proxy_conn_expire(ProxyConn *c, int64_t now);                      /* if its time is up; then it may be PROXY_GONE */
