/* One direction of a connection through the proxy: bytes from one socket to the other. */
#pragma once
#include "base/str.h"
#include "net/proxy_head.h"

enum { PROXY_CHUNK = 256 << 10 };

/* What was read and not yet taken by the other side is in `pending`, from `at` on, or in `pipe`, `in_pipe` bytes of it: a
 * direction that carries much is spliced, without copying. Nothing is read while something is left. */
typedef struct ProxyFlow {
    Buf pending;
    size_t at;
    int pipe[2];                         /* -1: none */
    size_t in_pipe;
    uint64_t carried, splice_from;       /* bytes so far; from how many on it is spliced */
    ProxyBody *body;                     /* not NULL: only this much is passed on, the rest is read and dropped */
    bool body_done, more;                /* more: bytes came behind it, and were dropped */
    bool ended;                          /* nothing more will be read */
    bool shut;                           /* and the other side was told */
} ProxyFlow;

void proxy_flow_start(ProxyFlow *f, ProxyBody *body);
void proxy_flow_clear(ProxyFlow *f);
/* Bytes that were read otherwise; takes account of the body. false: they are no such body. */
bool proxy_flow_add(ProxyFlow *f, Str bytes);
/* Moves what can be moved now. `room`: PROXY_CHUNK bytes to work in. false: the connection is broken. */
bool proxy_flow_pump(ProxyFlow *f, int from, int to, char *room);
bool proxy_flow_has_pending(const ProxyFlow *f);
