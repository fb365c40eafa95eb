/* Filtering proxy for child processes: CONNECT and plain HTTP on its own loopback port, under net/rule.h.
 *
 * One thread serves all connections; name lookups run in other threads. A refused request gets 403 with a line that
 * names the host and the reason, a malformed one 400, an unreachable name or server 502 or 504. At most
 * PROXY_CONNECTIONS_MAX connections; more wait to be accepted. */
#pragma once
#include "net/resolver.h"
#include "net/rule.h"

typedef struct Proxy Proxy;

enum { PROXY_CONNECTIONS_MAX = 512 };

/* Called from the proxy's thread with each decision: allowed (why is NULL), or the reason. Must be quick: all
 * connections wait. */
typedef void ProxyWatch(void *ctx, Str host, uint16_t port, bool allowed, const char *why);

bool proxy_start(const Rules *rules, ProxyWatch *watch, void *ctx, Proxy **out, Error *err);   /* `rules` outlives it; watch may be NULL */
uint16_t proxy_port(const Proxy *p);
void proxy_stop(Proxy *p);               /* closes every connection; NULL is fine */

Resolver *proxy_resolver(Proxy *p);      /* for tests: see resolver_set_answer */
