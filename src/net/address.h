/* IP addresses: their spellings, and which of them are not out in public. */
#pragma once
#include <sys/socket.h>
#include "base/str.h"

/* `at` holds 4 bytes (v6 false) or 16. An IPv4-mapped IPv6 address is an IPv6 address: nothing is converted silently. */
typedef struct Address { uint8_t at[16]; bool v6; } Address;

enum { ADDRESS_TEXT_SIZE = 48 };

/* The one proper spelling: 192.0.2.1 without leading zeros, or IPv6 without brackets and zone. */
bool address_parse(Str text, Address *out);
/* Everything that the C library takes for an IPv4 address, as a program given such a host would: 2130706433, 127.1, 0x7f.1,
 * 0177.0.0.1. */
bool address_parse_loose(Str text, Address *out);
/* Is the last label a number (decimal or 0x…)? Such a host is an IPv4 address in some spelling or nothing at all. */
bool address_looks_numeric(Str host);

/* NULL for an address that anybody on the Internet may use; else what it is: "loopback", "private", "link-local", …
 * Addresses that stand for an IPv4 address are what that one is (64:ff9b::/96), or not public at all (::ffff:0:0/96,
 * ::/96, 2002::/16, 2001::/32). IPv6 outside 2000::/3 is "reserved". */
const char *address_kind(const Address *a);
bool address_is_loopback(const Address *a);            /* 127.0.0.0/8 and ::1 */

bool address_equal(const Address *a, const Address *b);
bool address_within(const Address *a, const Address *net, unsigned bits);   /* false across the two families */
void address_format(const Address *a, char out[ADDRESS_TEXT_SIZE]);         /* IPv6 without brackets */

bool address_from_socket(const struct sockaddr *from, Address *out);        /* false: neither AF_INET nor AF_INET6 */
socklen_t address_to_socket(const Address *a, uint16_t port, struct sockaddr_storage *out);
