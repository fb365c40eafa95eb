/* Who may use an HTTP server: the names it answers to, the pages that may call it, and how often one address may try. */
#pragma once
#include "net/http_server.h"

typedef struct HttpGateNames {
    const char *address;                 /* the one that it listens on */
    const Str *hosts, *origins;          /* further names of the Host header; origins whose pages may call it */
    size_t n_hosts, n_origins;
} HttpGateNames;

/* Protects against DNS rebinding: the Host header then has the attacker's name. Any IP address is accepted when
 * listening on all addresses, since DNS cannot redirect an address. False also if there is not exactly one Host. */
bool http_gate_host(const HttpGateNames *names, const HttpServerRequest *q);
/* A listed origin, or one of this machine: http or https, any port. */
bool http_gate_origin_known(const HttpGateNames *names, Str origin);
/* The Origin header is absent, listed, or the origin of the request itself: http or https, with its Host. */
bool http_gate_same_origin(const HttpGateNames *names, const HttpServerRequest *q);

/* Rates by address. Only for the epoll thread. */
typedef struct HttpGateRates HttpGateRates;
typedef enum { HTTP_GATE_REQUEST, HTTP_GATE_FAILED, HTTP_GATE_KINDS } HttpGateKind;       /* FAILED: wrong tokens */
HttpGateRates *http_gate_rates_new(void);
void http_gate_rates_free(HttpGateRates *r);             /* NULL is fine */
/* Counts one of `limit` a minute. Seconds to wait; 0: proceed. */
int64_t http_gate_take(HttpGateRates *r, const Address *peer, HttpGateKind kind, int64_t limit);
enum { HTTP_GATE_FAILED_MAX = 60 };                      /* wrong tokens a minute */
