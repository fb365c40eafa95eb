#include "unit.h"
#include "net/rule.h"

static Rules *make(const char *entries) {             /* separated by spaces */
    Str list[16];
    size_t n = 0;
    for (const char *at = entries; *at;) {
        size_t length = strcspn(at, " ");
        list[n++] = (Str){ at, length };
        at += length + strspn(at + length, " ");
    }
    Rules *r = NULL;
    Error err = { 0 };
    if (!rule_list_new(list, n, &r, &err)) fail_msg("%s: %s", entries, err.msg);
    return r;
}

static bool allows_host(const Rules *r, Str host, uint16_t port, Error *err) {
    Target t;
    return target_set(host, port, &t, err) && rule_allows_target(r, &t, err);
}

static void targets_have_one_spelling(void **state) {
    (void)state;
    static const struct { const char *given, *host; } cases[] = {
        { "Example.COM", "example.com" }, { "example.com.", "example.com" }, { "b\xc3\xbc" "cher.example", "xn--bcher-kva.example" },
        { "B\xc3\x9c" "CHER.example.", "xn--bcher-kva.example" }, { "XN--BCHER-KVA.example", "xn--bcher-kva.example" },
        { "my_host.example", "my_host.example" }, { "r3---sn.example", "r3---sn.example" }, { "localhost", "localhost" },
        { "2130706433", "127.0.0.1" }, { "0x7f.1", "127.0.0.1" }, { "127.1", "127.0.0.1" }, { "0177.0.0.1.", "127.0.0.1" }, { "[::1]", "::1" },
        { "::1", "::1" }, { "[0:0:0:0:0:0:0:1]", "::1" }, { "[::FFFF:7f00:1]", "::ffff:127.0.0.1" }, { "1.2.3.com", "1.2.3.com" },
        { "\xe6\x97\xa5\xe6\x9c\xac.jp", "xn--wgv71a.jp" }, { "0x7g", "0x7g" },
        { "", NULL }, { ".", NULL }, { "..", NULL }, { "a..b", NULL }, { ".a", NULL }, { "a.b..", NULL }, { "a b", NULL }, { "a@b", NULL }, { "a/b", NULL },
        { "a%62", NULL }, { "a\\b", NULL }, { "a#b", NULL }, { "a?b", NULL }, { "*.a", NULL }, { "[::1", NULL }, { "::1]", NULL }, { "[::1%lo]", NULL },
        { "[fe80::1%25eth0]", NULL }, { "fe80::1%eth0", NULL }, { "[127.0.0.1]", NULL }, { "1.2.3.4.5", NULL }, { "256.256.256.256", NULL }, { "a.256", NULL },
        { "a.0x1", NULL }, { "1.2.3.09", NULL }, { "99999999999", NULL }, { "\xff\xfe", NULL }, { "a\xe3\x80\x82" "b", NULL }, { "a\xef\xbc\x8e" "b", NULL },
        { "\xef\xbc\x91\xef\xbc\x92", NULL }, { "a\nb", NULL }, { "\xe2\x91\xa0.com", NULL }, { "\xe2\x84\xaa.com", NULL },
        { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.com", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Target t;
        Error err = { 0 };
        bool ok = target_set(str_from(cases[i].given), 80, &t, &err);
        if (ok != (cases[i].host != NULL)) fail_msg("%s: %s", cases[i].given, ok ? t.host : err.msg);
        if (ok) assert_string_equal(t.host, cases[i].host);
        else assert_int_equal(err.kind, ERR_VALIDATION);
    }
    Target t;
    assert_false(target_set((Str){ "good.com\0.evil.com", 18 }, 80, &t, NULL));
    assert_false(target_set(STR("a.com"), 0, &t, NULL));
    Buf name = { 0 };
    for (int i = 0; i < 126; i++) buf_add(&name, STR("a."));
    buf_add_char(&name, 'a');
    assert_true(target_set(buf_str(&name), 80, &t, NULL));             /* 253 */
    buf_add_char(&name, 'a');
    assert_false(target_set(buf_str(&name), 80, &t, NULL));
    buf_clear(&name);
}

static void authorities(void **state) {
    (void)state;
    static const struct { const char *given; uint16_t port; const char *shown; } cases[] = {
        { "a.com:443", 0, "a.com:443" }, { "a.com", 80, "a.com" }, { "a.com:80", 80, "a.com" }, { "[::1]:8080", 0, "[::1]:8080" }, { "[::1]", 80, "[::1]" },
        { "127.1:99", 0, "127.0.0.1:99" }, { "::1", 80, NULL }, { "a.com", 0, NULL }, { "a.com:", 80, NULL }, { "a.com:0", 0, NULL },
            { "a.com:65536", 0, NULL },
        { "a.com:8a", 0, NULL }, { "a.com:+80", 0, NULL }, { ":80", 0, NULL }, { "a.com:80:80", 0, NULL }, { "[::1]x:80", 0, NULL }, { "[::1]80", 80, NULL },
        { "u@a.com:80", 0, NULL }, { "a.com:000080", 0, NULL }, { "", 80, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Target t;
        Error err = { 0 };
        Buf shown = { 0 };
        bool ok = target_parse(str_from(cases[i].given), cases[i].port, &t, &err);
        if (ok != (cases[i].shown != NULL)) fail_msg("%s: %s", cases[i].given, ok ? "taken" : err.msg);
        if (ok) {
            target_authority(&t, 80, &shown);
            assert_str(buf_str(&shown), cases[i].shown);
        }
        buf_clear(&shown);
    }
}

static void hosts_and_ports(void **state) {
    (void)state;
    static const struct { const char *entries, *host; uint16_t port; bool allowed; } cases[] = {
        { "a.com", "a.com", 443, true }, { "a.com", "A.COM.", 80, true }, { "a.com", "a.com", 8080, false }, { "a.com", "b.a.com", 443, false },
        { "a.com", "aa.com", 443, false }, { "a.com", "a.com.evil.com", 443, false }, { "a.com", "acom", 443, false },
        { "a.com:8080", "a.com", 8080, true }, { "a.com:8080", "a.com", 443, false }, { "a.com a.com:22", "a.com", 22, true },
        { "*.a.com", "b.a.com", 443, true }, { "*.a.com", "c.b.a.com", 80, true }, { "*.a.com", "a.com", 443, false }, { "*.a.com", "ba.com", 443, false },
        { "*.a.com", "b.a.com", 81, false }, { "*.a.com:81", "b.a.com", 81, true }, { "*.a.com", "xa.com", 443, false }, { "*.com", "127.0.0.1", 443, false },
        { "*", "a.com", 443, true }, { "*", "a.com", 22, false }, { "*:22", "a.com", 22, true }, { "*", "8.8.8.8", 443, true },
            { "*", "127.0.0.1", 443, false },
        { "*", "10.0.0.1", 80, false }, { "*", "2130706433", 80, false }, { "*", "0x7f.1", 80, false }, { "*", "::1", 80, false },
        { "*", "[::ffff:127.0.0.1]", 80, false }, { "*", "[64:ff9b::7f00:1]", 80, false }, { "*", "[2002:7f00:1::]", 80, false },
        { "*", "[::ffff:8.8.8.8]", 80, false }, { "*", "localhost", 80, true },
        { "b\xc3\xbc" "cher.de", "xn--bcher-kva.de", 443, true }, { "xn--bcher-kva.de", "B\xc3\x9c" "cher.de", 443, true },
            { "*.b\xc3\xbc" "cher.de", "a.xn--bcher-kva.de", 80, true },
        { "127.0.0.1", "127.0.0.1", 80, true }, { "127.0.0.1", "2130706433", 80, true }, { "127.0.0.1", "127.0.0.2", 80, false },
        { "127.0.0.1", "localhost", 80, false }, { "localhost", "127.0.0.1", 80, false }, { "localhost:99", "localhost", 99, true },
        { "10.0.0.0/8", "10.9.8.7", 80, true }, { "10.0.0.0/8", "11.0.0.1", 80, false }, { "10.0.0.0/8:8080", "10.9.8.7", 8080, true },
        { "10.0.0.0/8:8080", "10.9.8.7", 80, false }, { "[::1]:8080", "::1", 8080, true }, { "[::1]:8080", "::1", 80, false }, { "::1", "[::1]", 443, true },
        { "[fd00::/8]:99", "fd01::1", 99, true }, { "fd00::/8", "fd01::1", 80, true }, { "[fd00::]/8", "fd01::1", 80, true },
            { "0.0.0.0/0", "127.0.0.1", 80, true },
        { "127.0.0.1", "[::ffff:127.0.0.1]", 80, false }, { "::ffff:127.0.0.1", "[::ffff:127.0.0.1]", 80, true },
        { "a.com", "a.com@evil.com", 80, false }, { "a.com", "", 80, false }, { "", "a.com", 443, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Rules *r = make(cases[i].entries);
        Error err = { 0 };
        if (allows_host(r, str_from(cases[i].host), cases[i].port, &err) != cases[i].allowed)
            fail_msg("[%s] %s:%u: %s", cases[i].entries, cases[i].host, cases[i].port, err.msg);
        if (!cases[i].allowed) assert_true(err.kind == ERR_POLICY || err.kind == ERR_VALIDATION);
        rule_list_free(r);
    }
}

static void without_a_list_any_public_host(void **state) {
    (void)state;
    Rules *r = NULL;
    Error err = { 0 };
    assert_true(rule_list_new(NULL, 0, &r, &err));
    assert_true(allows_host(r, STR("a.com"), 8443, &err));
    assert_true(allows_host(r, STR("8.8.8.8"), 53, &err));
    assert_false(allows_host(r, STR("127.1"), 80, &err));
    assert_false(allows_host(r, STR("a.com"), 0, &err));
    Target t;
    Address a;
    assert_true(target_set(STR("localhost"), 80, &t, &err) && address_parse(STR("127.0.0.1"), &a));
    assert_false(rule_allows_address(r, &t, &a, &err));
    assert_string_equal(err.msg, "host \"localhost\" is at 127.0.0.1, which is not public (loopback) and not in network.allowed_domains");
    rule_list_free(r);
}

static void addresses_behind_names(void **state) {
    (void)state;
    static const struct { const char *entries, *host; uint16_t port; const char *address; bool allowed; } cases[] = {
        { "a.com", "a.com", 443, "8.8.8.8", true }, { "a.com", "a.com", 443, "127.0.0.1", false }, { "a.com", "a.com", 443, "169.254.169.254", false },
        { "a.com", "a.com", 443, "::ffff:127.0.0.1", false }, { "a.com", "a.com", 443, "64:ff9b::a00:1", false }, { "*", "a.com", 443, "10.0.0.1", false },
        { "* 10.0.0.0/8", "a.com", 443, "10.0.0.1", true }, { "* 10.0.0.0/8", "a.com", 443, "172.16.0.1", false },
        { "a.com:81 10.0.0.0/8", "a.com", 81, "10.0.0.1", false }, { "a.com:81 10.0.0.0/8:81", "a.com", 81, "10.0.0.1", true },
        { "localhost", "localhost", 80, "127.0.0.1", true }, { "localhost", "localhost", 80, "::1", true }, { "localhost", "localhost", 80, "10.0.0.1", false },
        { "localhost:99", "localhost", 99, "127.0.0.1", true }, { "localhost:99 a.com:99", "a.com", 99, "127.0.0.1", false },
        { "*", "localhost", 80, "127.0.0.1", false }, { "*.localhost", "a.localhost", 80, "127.0.0.1", false },
        { "a.com", "a.com", 443, "0.0.0.0", false }, { "a.com", "a.com", 443, "255.255.255.255", false }, { "a.com", "a.com", 443, "fe80::1", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Rules *r = make(cases[i].entries);
        Error err = { 0 };
        Target t;
        Address a;
        assert_true(target_set(str_from(cases[i].host), cases[i].port, &t, &err) && address_parse(str_from(cases[i].address), &a));
        if (rule_allows_address(r, &t, &a, &err) != cases[i].allowed)
            fail_msg("[%s] %s at %s: %s", cases[i].entries, cases[i].host, cases[i].address, err.msg);
        rule_list_free(r);
    }
}

static void messages(void **state) {
    (void)state;
    static const struct { const char *entries, *host; uint16_t port; const char *text; } cases[] = {
        { "a.com", "X.example", 443, "host \"x.example\" is not in network.allowed_domains" },
        { "a.com", "a.com", 22, "port 22 of host \"a.com\" is not in network.allowed_domains" },
        { "*", "127.1", 80, "127.0.0.1 is not public (loopback) and not in network.allowed_domains" },
        { "a.com", "a\x1b[31m", 80, "\"a?[31m\" is not a host name" },
        { "a.com", "", 80, "the host is empty" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Rules *r = make(cases[i].entries);
        Error err = { 0 };
        assert_false(allows_host(r, str_from(cases[i].host), cases[i].port, &err));
        assert_string_equal(err.msg, cases[i].text);
        rule_list_free(r);
    }
}

static void bad_entries(void **state) {
    (void)state;
    static const char *const bad[] = { "", ".", "a..b", "http://a.com", "a.com/path", "a.com:", "a.com:0", "a.com:70000", "a.com:x", "*.",
        "**", "*a.com", "a.*", "*.*",
                                       "*.*.a.com", "*.127.0.0.1", "10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0.0/-1", "10.0.0.0/0008",
                                       "/8", "a.com/8", "fd00::1/8", "::/129", "[::1", "::1]", "[::1]]", "[]", "[fe80::1%lo]", "2130706433",
                                           "127.1", "010.0.0.1",
                                       "0x7f.0.0.1", "a b", "a,b", "user@a.com", "a.com#", "\xff", "a\nb", ":80", "*:", "10.0.0.0/8:", "a.com:80:80" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Rules *r = NULL;
        Error err = { 0 };
        Str entry = str_from(bad[i]);
        if (rule_list_new(&entry, 1, &r, &err)) fail_msg("%s was taken", bad[i]);
        assert_int_equal(err.kind, ERR_CONFIG);
        assert_null(r);
    }
    Str many = STR("a.com");
    Rules *r = NULL;
    Error err = { 0 };
    assert_false(rule_list_new(&many, 10001, &r, &err));
    assert_int_equal(err.kind, ERR_LIMIT);
    rule_list_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_have_one_spelling), cmocka_unit_test(authorities), cmocka_unit_test(hosts_and_ports),
        cmocka_unit_test(without_a_list_any_public_host), cmocka_unit_test(addresses_behind_names), cmocka_unit_test(messages),
        cmocka_unit_test(bad_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
