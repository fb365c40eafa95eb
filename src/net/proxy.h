/* The filtering proxy for child processes: CONNECT and plain HTTP on a loopback port of its own, under net/rule.h.
 *
 * One thread serves all connections (lookups of names run beside it). What is refused gets 403 with a line that names the
 * host and why; what is malformed 400; a name or server that cannot be reached 502, 504. At most PROXY_CONNECTIONS_MAX at a
 * time, more wait to be accepted. */
#pragma once
#include "net/resolver.h"
#include "net/rule.h"

typedef struct Proxy Proxy;

enum { PROXY_CONNECTIONS_MAX = 512 };

/* Told of each decision, from the proxy's thread: allowed (why is NULL) or why not. Quick, please: all connections wait. */
typedef void ProxyWatch(void *ctx, Str host, uint16_t port, bool allowed, const char *why);

bool proxy_start(const Rules *rules, ProxyWatch *watch, void *ctx, Proxy **out, Error *err);   /* `rules` outlives it; watch may be NULL */
uint16_t proxy_port(const Proxy *p);
void proxy_stop(Proxy *p);               /* ends every connection; NULL is fine */

Resolver *proxy_resolver(Proxy *p);      /* for tests: see resolver_set_answer */
