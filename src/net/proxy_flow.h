/* One direction of a proxied connection: bytes from one socket to the other. */
#pragma once
#include "base/str.h"
#include "net/proxy_head.h"

enum { PROXY_CHUNK = 256 << 10 };

/* Bytes read and not yet written are in `pending` from `at` on, or in `pipe` (`in_pipe` of them): a busy direction is
 * spliced without copying. Nothing is read while any are left. */
typedef struct ProxyFlow {
    Buf pending;
    size_t at;
    int pipe[2];                         /* -1: none */
    size_t in_pipe;
    uint64_t carried, splice_from;       /* bytes so far; how many until it is spliced */
    ProxyBody *body;                     /* not NULL: forward only this body; read and drop the rest */
    bool body_done, more;                /* more: bytes followed the body and were dropped */
    bool ended;                          /* nothing more will be read */
    bool shut;                           /* and the shutdown was forwarded */
} ProxyFlow;

void proxy_flow_start(ProxyFlow *f, ProxyBody *body);
void proxy_flow_clear(ProxyFlow *f);
/* Adds bytes that were already read, up to the end of the body. False if they are not a valid body. */
bool proxy_flow_add(ProxyFlow *f, Str bytes);
/* Forwards what it can now. `room`: work buffer of PROXY_CHUNK bytes. False: the connection is broken. */
bool proxy_flow_pump(ProxyFlow *f, int from, int to, char *room);
bool proxy_flow_has_pending(const ProxyFlow *f);
