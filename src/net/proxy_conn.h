/* One client of the proxy, from its first byte to its last:
 *
 *   HEAD ──> LOOKUP ──> CONNECT ──> RELAY ──> gone
 *     └────────┴───────────┴──> REFUSE (a response with the reason; further input is dropped) ──> gone
 *
 * Only the proxy's thread uses it. */
#pragma once
#include "net/proxy.h"
#include "net/proxy_flow.h"
#include "net/resolver.h"

typedef struct ProxyConn ProxyConn;
typedef struct ProxyShared ProxyShared;

/* State shared by all connections. */
struct ProxyShared {
    int epoll;
    const Rules *rules;
    Resolver *resolver;
    ProxyWatch *watch;
    void *ctx;
    char *room;                          /* work buffer of PROXY_CHUNK bytes */
    int64_t next_deadline;               /* no connection has an earlier deadline */
};

typedef enum { PROXY_CLIENT, PROXY_SERVER, PROXY_LOOKUP, PROXY_PARTS } ProxyPart;
typedef enum { PROXY_HEAD, PROXY_LOOKING, PROXY_CONNECT, PROXY_RELAY, PROXY_REFUSE, PROXY_GONE } ProxyState;

/* A descriptor in the epoll set, which keeps a pointer to this. Removed from the set while no event is awaited. */
typedef struct ProxyEnd { ProxyConn *conn; ProxyPart part; int fd; uint32_t events; } ProxyEnd;

struct ProxyConn {
    ProxyShared *shared;
    ProxyState state;
    ProxyEnd end[PROXY_PARTS];
    ProxyHead head;
    ProxyBody body;
    ProxyFlow up, down;                  /* towards the server, towards the client */
    Lookup *lookup;
    Addresses found;
    size_t next_address;
    int last_errno;
    int64_t deadline;
    ProxyConn *next, *prev;              /* in the proxy's list */
};

ProxyConn *proxy_conn_new(ProxyShared *s, int client_take);
void proxy_conn_free(ProxyConn *c);
void proxy_conn_event(ProxyConn *c, ProxyPart part, uint32_t events);   /* afterwards its state may be PROXY_GONE */
void proxy_conn_expire(ProxyConn *c, int64_t now);                      /* handles a deadline that has passed; afterwards its
                                                                         * state may be PROXY_GONE */
