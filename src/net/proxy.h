/* The filtering proxy for child processes: CONNECT and plain HTTP on a loopback port of its own, under net/rule.h. */
#pragma once
#include "net/rule.h"

typedef struct Proxy Proxy;

/* Told of each decision, from the proxy's threads: allowed or why not. */
typedef void ProxyWatch(void *ctx, Str host, uint16_t port, bool allowed, const char *why);

bool proxy_start(const Rules *rules, ProxyWatch *watch, void *ctx, Proxy **out, Error *err);   /* `rules` outlives it */
uint16_t proxy_port(const Proxy *p);
void proxy_stop(Proxy *p);               /* ends every connection; NULL is fine */
