/* Destination of a request: host and port in canonical form. Rules, resolver and connection all use this, so that they
 * cannot parse one text differently.
 *
 * Names are ASCII (IDNA), lower case, without a trailing dot. Anything the C library reads as an IPv4 address
 * (2130706433, 127.1, 0x7f.0.0.1) is that address. IPv6 may be in brackets; zones (%eth0) are rejected. */
#pragma once
#include "base/error.h"
#include "net/address.h"

enum { TARGET_HOST_MAX = 253 };

typedef struct Target {
    char host[TARGET_HOST_MAX + 1];      /* a name, or an address without brackets */
    uint16_t port;
    bool is_address;
    Address address;                     /* when is_address */
} Target;

bool target_set(Str host, uint16_t port, Target *out, Error *err);           /* ERR_VALIDATION: not a host name, or port
                                                                              * 0 */
/* "host:port", "[::1]:80"; default_port 0: the port is required. */
bool target_parse(Str authority, uint16_t default_port, Target *out, Error *err);
void target_authority(const Target *t, uint16_t default_port, Buf *out);     /* appends host, and port unless it is the default */
bool target_parse_port(Str text, uint16_t *out);                             /* 1 to 65535, digits only */
/* Untrusted text for a message: cut to 100 bytes, anything but printable ASCII becomes '?'. */
enum { TARGET_QUOTE_SIZE = 104 };
const char *target_quote(Str text, char out[TARGET_QUOTE_SIZE]);
