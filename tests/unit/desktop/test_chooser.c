/* Addresses that a portal sends: only those of files on this machine become paths. */
#include "unit.h"
#include "desktop/chooser.h"

static void test_paths(void **state) {
    (void)state;
    static const struct { const char *uri, *path; } good[] = {
        { "file:///a/b.txt", "/a/b.txt" },
        { "file://localhost/a", "/a" },
        { "file:///a%20b%C3%A4", "/a b\xc3\xa4" },
        { "file:///%2e%2E/x", "/../x" },                /* resolved and checked by the jail */
        { "file:///a%0ab", "/a\nb" },
    };
    Arena arena = { 0 };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        Error err = { 0 };
        Str path;
        assert_true(chooser_path(str_from(good[i].uri), &arena, &path, &err));
        assert_string_equal(path.at, good[i].path);
        assert_int_equal(path.n, strlen(good[i].path));
    }
    arena_clear(&arena);
}

static void test_refusals(void **state) {
    (void)state;
    static const struct { const char *uri, *why; } bad[] = {
        { "http://x/a", "not a file: address" }, { "/a", "not a file: address" }, { "", "not a file: address" }, { "FILE:///a", "not a file: address" },
        { "file://", "another machine" }, { "file://host/a", "another machine" }, { "file://localhost", "another machine" }, { "file:///a%00b", "NUL byte" },
        { "file:///a%", "invalid escape" }, { "file:///a%2", "invalid escape" }, { "file:///a%zz", "invalid escape" }, { "file:///a?b", "not an address" },
        { "file:///a#b", "not an address" },
    };
    Arena arena = { 0 };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Error err = { 0 };
        Str path;
        if (chooser_path(str_from(bad[i].uri), &arena, &path, &err)) fail_msg("%s was accepted", bad[i].uri);
        assert_int_equal(err.kind, ERR_IO);
        assert_non_null(strstr(err.msg, bad[i].why));
    }
    Buf longer = { 0 };
    Error err = { 0 };
    Str path;
    buf_add(&longer, STR("file:///"));
    for (int i = 0; i < 5000; i++) buf_add_char(&longer, 'a');
    assert_false(chooser_path(buf_str(&longer), &arena, &path, &err));
    assert_non_null(strstr(err.msg, "too long"));
    buf_clear(&longer);
    arena_clear(&arena);
}

/* A control character of an address does not reach the message. */
static void test_message(void **state) {
    (void)state;
    Arena arena = { 0 };
    Error err = { 0 };
    Str path;
    assert_false(chooser_path(STR("x\033[31m\xe2\x80\xae"), &arena, &path, &err));
    assert_null(strchr(err.msg, 033));
    assert_null(strstr(err.msg, "\xe2\x80\xae"));
    arena_clear(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_paths), cmocka_unit_test(test_refusals), cmocka_unit_test(test_message) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
