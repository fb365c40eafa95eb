/* Which hosts may be reached. One answer for http.* in scripts, for the proxy that child processes get, and for redirects.
 *
 *   host          that host, ports 80 and 443          *.host    its subdomains (not itself)
 *   host:port     that host and port only              *         any public host
 *   1.2.3.4  [::1]:8080  10.0.0.0/8                    addresses; a private one is reachable only when listed
 *
 * Names are compared in ASCII (IDNA), case-blind, without a trailing dot. */
#pragma once
#include "base/error.h"
#include "base/str.h"

typedef struct Rules Rules;

/* entries == NULL: no list: any public host (what http.* does by default). n == 0 with entries: nothing. Bad entries are ERR_CONFIG. */
bool rule_list_new(const Str *entries, size_t n, Rules **out, Error *err);
void rule_list_free(Rules *r);
/* Before resolving: may this host and port be asked for? ERR_POLICY: `host "x.example" is not in network.allowed_domains`. */
bool rule_allows_host(const Rules *r, Str host, uint16_t port, Error *err);
