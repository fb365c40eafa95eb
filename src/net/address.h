/* IP addresses: parsing, formatting and classification. */
#pragma once
#include <sys/socket.h>
#include "base/str.h"

/* `at` holds 4 bytes (v6 false) or 16. An IPv4-mapped IPv6 address stays an IPv6 address. */
typedef struct Address { uint8_t at[16]; bool v6; } Address;

enum { ADDRESS_TEXT_SIZE = 48 };

/* Accepts the canonical form only: 192.0.2.1 without leading zeros, or IPv6 without brackets and zone. */
bool address_parse(Str text, Address *out);
/* Accepts every form that the C library reads as an IPv4 address: 2130706433, 127.1, 0x7f.1, 0177.0.0.1. */
bool address_parse_loose(Str text, Address *out);
/* True if the last label is a number (decimal or 0x…): such a host is an IPv4 address in some form, or invalid. */
bool address_looks_numeric(Str host);

/* NULL for a public address, else its kind: "loopback", "private", "link-local", … An address that embeds an IPv4
 * address has the kind of that one (64:ff9b::/96) or is never public (::ffff:0:0/96, ::/96, 2002::/16, 2001::/32). IPv6
 * outside 2000::/3 is "reserved". */
const char *address_kind(const Address *a);
bool address_is_loopback(const Address *a);            /* 127.0.0.0/8 and ::1 */

bool address_equal(const Address *a, const Address *b);
bool address_within(const Address *a, const Address *net, unsigned bits);   /* false if the families differ */
void address_format(const Address *a, char out[ADDRESS_TEXT_SIZE]);         /* IPv6 without brackets */

bool address_from_socket(const struct sockaddr *from, Address *out);        /* false: neither AF_INET nor AF_INET6 */
socklen_t address_to_socket(const Address *a, uint16_t port, struct sockaddr_storage *out);
