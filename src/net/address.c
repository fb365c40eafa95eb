#include "net/address.h"
#include <arpa/inet.h>
#include <netinet/in.h>

enum { V4_BYTES = 4, V6_BYTES = 16 };

/* ---- parsing and formatting ---- */

static bool copy_text(Str text, char *out, size_t size) {
    if (text.n == 0 || text.n >= size || memchr(text.at, 0, text.n)) return false;
    memcpy(out, text.at, text.n);
    out[text.n] = 0;
    return true;
}

bool address_parse(Str text, Address *out) {
    char copy[ADDRESS_TEXT_SIZE];
    Address a = { 0 };
    if (!copy_text(text, copy, sizeof copy)) return false;
    a.v6 = memchr(text.at, ':', text.n) != NULL;
    if (inet_pton(a.v6 ? AF_INET6 : AF_INET, copy, a.at) != 1) return false;   /* refuses zones and leading zeros */
    *out = a;
    return true;
}

static int digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : 99;
}

/* Removes the base prefix of `part` and returns the base. An empty "0x" is 0, as in browsers. */
static int base_of(Str *part) {
    if (part->n >= 2 && part->at[0] == '0' && (part->at[1] | 32) == 'x') return *part = str_sub(*part, 2, part->n), 16;
    if (part->n >= 2 && part->at[0] == '0') return *part = str_sub(*part, 1, part->n), 8;
    return 10;
}

static bool read_number(Str part, uint64_t *out) {
    if (part.n == 0) return false;
    int base = base_of(&part);
    uint64_t n = 0;
    for (size_t i = 0; i < part.n; i++) {
        int digit = digit_value(part.at[i]);
        if (digit >= base) return false;
        n = n * (uint64_t)base + (uint64_t)digit;
        if (n > UINT32_MAX) return false;
    }
    *out = n;
    return true;
}

/* One to four numbers separated by dots; the last one fills the remaining bytes. */
bool address_parse_loose(Str text, Address *out) {
    uint64_t value = 0, number;
    for (unsigned parts = 0; parts < V4_BYTES; parts++) {
        ptrdiff_t dot = str_find_char(text, '.');
        bool last = dot < 0;
        if (!read_number(last ? text : str_sub(text, 0, (size_t)dot), &number)) return false;
        if (last) {
            if (number >> (8 * (V4_BYTES - parts))) return false;
            value |= number;
            *out = (Address){ .at = { (uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8), (uint8_t)value } };
            return true;
        }
        if (number > 255) return false;
        value |= number << (24 - 8 * parts);
        text = str_sub(text, (size_t)dot + 1, text.n);
    }
    return false;
}

bool address_looks_numeric(Str host) {
    size_t start = host.n;
    while (start && host.at[start - 1] != '.') start--;
    Str label = str_sub(host, start, host.n);
    if (label.n == 0) return false;
    bool hex = label.n >= 2 && label.at[0] == '0' && (label.at[1] | 32) == 'x';
    for (size_t i = hex ? 2 : 0; i < label.n; i++)
        if (digit_value(label.at[i]) >= (hex ? 16 : 10)) return false;
    return true;
}

void address_format(const Address *a, char out[ADDRESS_TEXT_SIZE]) {
    inet_ntop(a->v6 ? AF_INET6 : AF_INET, a->at, out, ADDRESS_TEXT_SIZE);
}

/* ---- kinds ---- */

typedef struct { uint8_t net[8]; uint8_t bits; const char *kind; } Range;

/* IANA's special-purpose address registry without the globally reachable entries. The first match applies. */
static const Range v4_ranges[] = {
    { { 0 }, 8, "unspecified" },
    { { 10 }, 8, "private" },
    { { 100, 64 }, 10, "private" },
    { { 127 }, 8, "loopback" },
    { { 169, 254 }, 16, "link-local" },
    { { 172, 16 }, 12, "private" },
    { { 192, 0, 0 }, 24, "reserved" },
    { { 192, 0, 2 }, 24, "documentation" },
    { { 192, 88, 99 }, 24, "reserved" },
    { { 192, 168 }, 16, "private" },
    { { 198, 18 }, 15, "benchmarking" },
    { { 198, 51, 100 }, 24, "documentation" },
    { { 203, 0, 113 }, 24, "documentation" },
    { { 224 }, 4, "multicast" },
    { { 240 }, 4, "reserved" },
};

static const Range v6_ranges[] = {
    { { 0xfe, 0x80 }, 10, "link-local" },
    { { 0xfe, 0xc0 }, 10, "private" },
    { { 0xfc }, 7, "private" },
    { { 0xff }, 8, "multicast" },
    { { 0, 0x64, 0xff, 0x9b, 0, 1 }, 48, "private" },
    { { 0x20, 0x01, 0, 0 }, 32, "tunnelled" },
    { { 0x20, 0x01, 0, 0x02, 0, 0 }, 48, "benchmarking" },
    { { 0x20, 0x01, 0 }, 23, "reserved" },
    { { 0x20, 0x01, 0x0d, 0xb8 }, 32, "documentation" },
    { { 0x20, 0x02 }, 16, "tunnelled" },
    { { 0x3f, 0xff }, 20, "documentation" },
};

static bool same_prefix(const uint8_t *a, const uint8_t *b, unsigned bits) {
    unsigned whole = bits / 8, rest = bits % 8;
    if (memcmp(a, b, whole) != 0) return false;
    return rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}

static const char *kind_among(const uint8_t *at, const Range *range, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (same_prefix(at, range[i].net, range[i].bits)) return range[i].kind;
    return NULL;
}

static const char *kind_of_v4(const uint8_t *at) {
    static const uint8_t all[V4_BYTES] = { 255, 255, 255, 255 };
    if (memcmp(at, all, V4_BYTES) == 0) return "broadcast";
    return kind_among(at, v4_ranges, sizeof v4_ranges / sizeof *v4_ranges);
}

/* True if the last four bytes are an IPv4 address: ::/96, ::ffff:0:0/96 (the kernel's form of IPv4), ::ffff:0:0:0/96
 * (SIIT). */
static bool is_loopback_v6(const uint8_t *at) {
    static const uint8_t zero[15] = { 0 };
    return memcmp(at, zero, sizeof zero) == 0 && at[15] == 1;
}

static const char *kind_of_embedded(const uint8_t *at) {
    static const uint8_t zero[V6_BYTES] = { 0 };
    if (memcmp(at, zero, V6_BYTES) == 0) return "unspecified";
    if (is_loopback_v6(at)) return "loopback";
    if (memcmp(at, zero, 8) == 0) return "IPv4-mapped";
    return NULL;
}

const char *address_kind(const Address *a) {
    static const uint8_t nat64[12] = { 0, 0x64, 0xff, 0x9b };
    if (!a->v6) return kind_of_v4(a->at);
    if (memcmp(a->at, nat64, sizeof nat64) == 0) return kind_of_v4(a->at + sizeof nat64);
    const char *kind = kind_of_embedded(a->at);
    if (!kind) kind = kind_among(a->at, v6_ranges, sizeof v6_ranges / sizeof *v6_ranges);
    if (!kind && a->at[0] >> 5 != 1) kind = "reserved";              /* outside 2000::/3 */
    return kind;
}

bool address_is_loopback(const Address *a) { return a->v6 ? is_loopback_v6(a->at) : a->at[0] == 127; }

bool address_equal(const Address *a, const Address *b) {
    return a->v6 == b->v6 && memcmp(a->at, b->at, a->v6 ? V6_BYTES : V4_BYTES) == 0;
}

bool address_within(const Address *a, const Address *net, unsigned bits) {
    return a->v6 == net->v6 && same_prefix(a->at, net->at, bits);
}

/* ---- sockets ---- */

bool address_from_socket(const struct sockaddr *from, Address *out) {
    Address a = { 0 };
    if (from->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, from, sizeof v4);
        memcpy(a.at, &v4.sin_addr, V4_BYTES);
    } else if (from->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, from, sizeof v6);
        memcpy(a.at, &v6.sin6_addr, V6_BYTES);
        a.v6 = true;
    } else {
        return false;
    }
    *out = a;
    return true;
}

socklen_t address_to_socket(const Address *a, uint16_t port, struct sockaddr_storage *out) {
    memset(out, 0, sizeof *out);
    if (!a->v6) {
        struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
        memcpy(&v4.sin_addr, a->at, V4_BYTES);
        memcpy(out, &v4, sizeof v4);
        return sizeof v4;
    }
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    memcpy(&v6.sin6_addr, a->at, V6_BYTES);
    memcpy(out, &v6, sizeof v6);
    return sizeof v6;
}
