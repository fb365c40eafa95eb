/* Which hosts may be reached. The same rules apply to http.* in scripts, the proxy of child processes, and redirects.
 *
 *   host          that host, ports 80 and 443          *.host    its subdomains (not itself)
 *   host:port     that host and port only              *         any public host, ports 80 and 443 (*:port: that port)
 *   1.2.3.4  [::1]:8080  10.0.0.0/8  [fd00::/8]:80     addresses and ranges; private ones must be listed
 *
 * Names are compared in ASCII (IDNA), ignoring case and a trailing dot; addresses by value (net/target.h).
 *
 * A request must pass two checks: may this host and port be requested, and, after resolving, may this address be connected
 * to? A non-public address (net/address.h: loopback, private, link-local, multicast, mapped …) needs an address or range
 * entry that contains it, with the port. A name entry is not enough: the DNS server for a listed name could point it at
 * 127.0.0.1 or at a cloud's metadata service. So a host inside a private network is listed twice, as its name and as its
 * range: ["wiki.corp", "10.20.0.0/16"]. One exception: `localhost`, listed exactly, may be loopback. A range does not
 * allow names; a wildcard does not allow private addresses. */
#pragma once
#include "net/target.h"

typedef struct Rules Rules;

/* entries NULL: no list, any public host on any port (the default of http.*). n 0 with entries: nothing is allowed. A
 * bad entry is ERR_CONFIG: `"http://x" is a URL; write its host alone`; the caller adds where it is. A Rules is
 * immutable, so thread-safe. */
bool rule_list_new(const Str *entries, size_t n, Rules **out, Error *err);
void rule_list_free(Rules *r);           /* NULL is fine */
/* Before resolving: checks that this host and port may be requested. ERR_POLICY: `host "x.example" is not in network.allowed_domains`. */
bool rule_allows_target(const Rules *r, const Target *t, Error *err);
/* After resolving: checks that `t` may be reached at this address. ERR_POLICY if not. */
bool rule_allows_address(const Rules *r, const Target *t, const Address *a, Error *err);
