#include "unit.h"
#include "net/address.h"
#include <arpa/inet.h>
#include <netinet/in.h>

static void parses_only_the_proper_spelling(void **state) {
    (void)state;
    static const char *const good[] = { "0.0.0.0", "1.2.3.4", "255.255.255.255", "::", "::1", "2001:db8::a", "::ffff:1.2.3.4" };
    static const char *const bad[] = { "", "1", "1.2.3", "01.2.3.4", "1.2.3.256", "0x1.2.3.4", "1.2.3.4.", " 1.2.3.4", "1.2.3.4 ", "[::1]",
                                       "fe80::1%lo", "::g", "1:2:3:4:5:6:7:8:9", "host", ":::" };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        Address a;
        char text[ADDRESS_TEXT_SIZE];
        if (!address_parse(str_from(good[i]), &a)) fail_msg("%s", good[i]);
        address_format(&a, text);
        assert_string_equal(text, good[i]);
    }
    Address a;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (address_parse(str_from(bad[i]), &a)) fail_msg("%s", bad[i]);
    assert_false(address_parse((Str){ "1.2.3.4\0x", 9 }, &a));
}

static void loose_spellings_are_those_of_the_c_library(void **state) {
    (void)state;
    static const char *const forms[] = { "2130706433", "127.1", "127.0.1", "0x7f.1", "0x7f000001", "0177.0.0.1", "017700000001", "0X7F.0x0.0.01",
                                         "0", "4294967295", "255.16777215", "1.2.65535", "127.0.0.1", "00.0.0.0", "010.8.8.8",
                                         "4294967296", "256.1", "1.2.65536", "1.16777216", "08.1", "1..2", ".1", "1.", "1.2.3.4.5", "0xg",
                                         "1.2.3.400", "a", "", "-1", "+1", "1e3" };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct in_addr theirs;
        Address ours;
        bool want = *forms[i] && inet_aton(forms[i], &theirs), got = address_parse_loose(str_from(forms[i]), &ours);
        if (want != got || (want && memcmp(&theirs, ours.at, 4) != 0)) fail_msg("%s: %d", forms[i], got);
    }
}

static void kinds(void **state) {
    (void)state;
    static const struct { const char *address, *kind; } cases[] = {
        { "8.8.8.8", NULL }, { "1.1.1.1", NULL }, { "100.63.255.255", NULL }, { "100.128.0.0", NULL }, { "172.15.0.1", NULL },
        { "172.32.0.1", NULL }, { "192.167.255.255", NULL }, { "198.17.0.1", NULL }, { "198.20.0.1", NULL }, { "223.255.255.255", NULL },
        { "0.0.0.0", "unspecified" }, { "0.1.2.3", "unspecified" }, { "10.0.0.0", "private" }, { "10.255.255.255", "private" },
        { "100.64.0.1", "private" }, { "100.127.255.255", "private" }, { "127.0.0.1", "loopback" }, { "127.255.255.254", "loopback" },
        { "169.254.169.254", "link-local" }, { "172.16.0.1", "private" }, { "172.31.255.255", "private" }, { "192.0.0.192", "reserved" },
        { "192.0.2.1", "documentation" }, { "192.88.99.1", "reserved" }, { "192.168.1.1", "private" }, { "198.18.0.1", "benchmarking" },
        { "198.19.255.255", "benchmarking" }, { "198.51.100.7", "documentation" }, { "203.0.113.7", "documentation" }, { "224.0.0.1", "multicast" },
        { "239.255.255.255", "multicast" }, { "240.0.0.1", "reserved" }, { "255.255.255.255", "broadcast" },
        { "2606:4700::1111", NULL }, { "2a00:1450:4001::200e", NULL }, { "2001:4860:4860::8888", NULL }, { "3ffe::1", NULL },
        { "::", "unspecified" }, { "::1", "loopback" }, { "::2", "IPv4-mapped" }, { "::127.0.0.1", "IPv4-mapped" }, { "::8.8.8.8", "IPv4-mapped" },
        { "::ffff:127.0.0.1", "IPv4-mapped" }, { "::ffff:8.8.8.8", "IPv4-mapped" }, { "::ffff:0:10.0.0.1", "IPv4-mapped" },
        { "64:ff9b::8.8.8.8", NULL }, { "64:ff9b::127.0.0.1", "loopback" }, { "64:ff9b::10.1.2.3", "private" },
        { "64:ff9b::169.254.169.254", "link-local" }, { "64:ff9b:1::1", "private" }, { "64:ff9b:2::1", "reserved" },
        { "2002:7f00:1::", "tunnelled" }, { "2002:808:808::1", "tunnelled" }, { "2001::1", "tunnelled" }, { "2001:0:4136::1", "tunnelled" },
        { "2001:2::1", "benchmarking" }, { "2001:10::1", "reserved" }, { "2001:20::1", "reserved" }, { "2001:db8::1", "documentation" },
        { "3fff::1", "documentation" }, { "fc00::1", "private" }, { "fd12:3456::1", "private" }, { "fe80::1", "link-local" },
        { "febf::1", "link-local" }, { "fec0::1", "private" }, { "ff02::1", "multicast" }, { "100::1", "reserved" }, { "4000::1", "reserved" },
        { "5f00::1", "reserved" }, { "1::1", "reserved" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Address a;
        assert_true(address_parse(str_from(cases[i].address), &a));
        const char *kind = address_kind(&a);
        if ((kind == NULL) != (cases[i].kind == NULL) || (kind && strcmp(kind, cases[i].kind) != 0))
            fail_msg("%s: %s, not %s", cases[i].address, kind ? kind : "public", cases[i].kind ? cases[i].kind : "public");
        struct sockaddr_storage socket_form;
        Address back;
        address_to_socket(&a, 80, &socket_form);
        assert_true(address_from_socket((struct sockaddr *)&socket_form, &back) && address_equal(&a, &back));
    }
    Address back;
    assert_false(address_from_socket(&(struct sockaddr){ .sa_family = AF_UNIX }, &back));
}

static void ranges(void **state) {
    (void)state;
    static const struct { const char *address, *net; unsigned bits; bool in; } cases[] = {
        { "10.1.2.3", "10.0.0.0", 8, true }, { "11.1.2.3", "10.0.0.0", 8, false }, { "10.1.2.3", "0.0.0.0", 0, true }, { "10.1.2.3", "::", 0, false },
        { "10.1.2.3", "10.1.2.3", 32, true }, { "10.1.2.2", "10.1.2.3", 32, false }, { "172.31.9.9", "172.16.0.0", 12, true },
        { "172.32.0.0", "172.16.0.0", 12, false }, { "fd00::1", "fd00::", 8, true }, { "fe00::1", "fd00::", 8, false }, { "::1", "::1", 128, true },
        { "::ffff:10.0.0.1", "10.0.0.0", 8, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Address a, net;
        assert_true(address_parse(str_from(cases[i].address), &a) && address_parse(str_from(cases[i].net), &net));
        if (address_within(&a, &net, cases[i].bits) != cases[i].in) fail_msg("%s in %s/%u", cases[i].address, cases[i].net, cases[i].bits);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_only_the_proper_spelling),
        cmocka_unit_test(loose_spellings_are_those_of_the_c_library),
        cmocka_unit_test(kinds),
        cmocka_unit_test(ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
