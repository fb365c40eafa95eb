/* Which hosts may be reached. One answer for http.* in scripts, for the proxy that child processes get, and for redirects.
 *
 *   host          that host, ports 80 and 443          *.host    its subdomains (not itself)
 *   host:port     that host and port only              *         any public host, ports 80 and 443 (*:port: that port)
 *   1.2.3.4  [::1]:8080  10.0.0.0/8  [fd00::/8]:80     addresses and ranges of them; a private one is reachable only when listed
 *
 * Names are compared in ASCII (IDNA), case-blind, without a trailing dot; addresses by value, however they are spelled
 * (net/target.h).
 *
 * Two questions are asked, both must be answered yes: may this host and port be asked for, and, once the name is resolved,
 * may this address be connected to? An address that is not public (net/address.h: loopback, private, link-local, multicast,
 * mapped …) needs an address or range entry of its own that holds it, with the port. A name entry does not open it: whoever
 * answers for a listed name could point it at 127.0.0.1 or at a cloud's metadata service. So a name inside a private network
 * is listed twice, as the name and as its range: ["wiki.corp", "10.20.0.0/16"]. One exception: `localhost`, listed exactly,
 * may be loopback. A range does not open names, a wildcard does not open private addresses. */
#pragma once
#include "net/target.h"

typedef struct Rules Rules;

/* entries == NULL: no list: any public host, any port (what http.* does by default). n == 0 with entries: nothing. A bad
 * entry is ERR_CONFIG: `"http://x" is a URL; write its host alone`; the caller says where it stands. A Rules is immutable: safe from any thread. */
bool rule_list_new(const Str *entries, size_t n, Rules **out, Error *err);
void rule_list_free(Rules *r);           /* NULL is fine */
/* Before resolving: may this host and port be asked for? ERR_POLICY: `host "x.example" is not in network.allowed_domains`;
 * ERR_VALIDATION for what is no host. */
bool rule_allows_host(const Rules *r, Str host, uint16_t port, Error *err);
bool rule_allows_target(const Rules *r, const Target *t, Error *err);
/* After resolving: may `t` be reached at this address? ERR_POLICY. */
bool rule_allows_address(const Rules *r, const Target *t, const Address *a, Error *err);
