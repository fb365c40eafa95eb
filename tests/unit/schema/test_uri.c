#include "unit.h"
#include "schema/names.h"
#include "schema/uri.h"

/* RFC 3986, section 5.4, and the forms that schemas use. */
static void test_resolve(void **state) {
    (void)state;
    static const struct { const char *base, *reference, *expected; } rows[] = {
        { "http://a/b/c/d;p?q", "g:h", "g:h" }, { "http://a/b/c/d;p?q", "g", "http://a/b/c/g" }, { "http://a/b/c/d;p?q", "./g", "http://a/b/c/g" },
        { "http://a/b/c/d;p?q", "g/", "http://a/b/c/g/" }, { "http://a/b/c/d;p?q", "/g", "http://a/g" }, { "http://a/b/c/d;p?q", "//g", "http://g" },
        { "http://a/b/c/d;p?q", "?y", "http://a/b/c/d;p?y" }, { "http://a/b/c/d;p?q", "g?y", "http://a/b/c/g?y" },
        { "http://a/b/c/d;p?q", "#s", "http://a/b/c/d;p?q#s" }, { "http://a/b/c/d;p?q", "", "http://a/b/c/d;p?q" },
        { "http://a/b/c/d;p?q", ".", "http://a/b/c/" }, { "http://a/b/c/d;p?q", "..", "http://a/b/" }, { "http://a/b/c/d;p?q", "../g", "http://a/b/g" },
        { "http://a/b/c/d;p?q", "../..", "http://a/" }, { "http://a/b/c/d;p?q", "../../../g", "http://a/g" }, { "http://a/b/c/d;p?q", "/./g", "http://a/g" },
        { "http://a/b/c/d;p?q", "g.", "http://a/b/c/g." }, { "http://a/b/c/d;p?q", "./g/.", "http://a/b/c/g/" },
            { "http://a/b/c/d;p?q", "g/../h", "http://a/b/c/h" },
        { "http://a", "x", "http://a/x" }, { "", "x.json#y", "x.json#y" }, { "urn:uuid:1-2", "#/a", "urn:uuid:1-2#/a" },
            { "urn:x", "urn:a/../b", "urn:a/../b" },
        { "http://a/b#c", "", "http://a/b" }, { "file:///d/a.json", "b/c.json", "file:///d/b/c.json" }, { "x", "../../y", "y" },
    };
    Arena arena = { 0 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Str got = uri_resolve(str_from(rows[i].base), str_from(rows[i].reference), &arena);
        if (!str_eq(got, str_from(rows[i].expected)))
            fail_msg("%s + %s: expected %s, got %.*s", rows[i].base, rows[i].reference, rows[i].expected, STR_ARG(got));
    }
    assert_str(uri_decode(STR("a%41%zz%4"), &arena), "aA%zz%4");
    assert_true(uri_is_absolute(STR("urn:x")) && !uri_is_absolute(STR("a/b:c")) && !uri_is_absolute(STR("1:x")));
    arena_clear(&arena);
}

static void check_names(const Str *name, size_t n) {
    Arena arena = { 0 };
    Names t;
    names_init(&t, name, n, &arena);
    for (size_t i = 0; i < n; i++) assert_int_equal(names_find(&t, name[i]), i);
    assert_int_equal(names_find(&t, STR("absent")), -1);
    assert_int_equal(names_find(&t, STR("")), -1);
    assert_int_equal(names_find(&t, STR("an absent name of more than sixteen bytes")), -1);
    arena_clear(&arena);
}

static void test_names(void **state) {
    (void)state;
    enum { MOST = 500 };
    static char text[MOST][48];
    Str plain[MOST], alike[MOST];
    for (int i = 0; i < MOST; i++) {
        plain[i] = (Str){ text[i], (size_t)snprintf(text[i], sizeof text[i], "%d%s", i, i % 3 ? "_property" : "") };
    }
    static char same[MOST][48];                          /* differ only in bytes that the fast hash does not read */
    for (int i = 0; i < MOST; i++) alike[i] = (Str){ same[i], (size_t)snprintf(same[i], sizeof same[i], "eight_8_%06d_eight_8_", i) };
    for (size_t n = 0; n <= MOST; n += n < 40 ? 1 : 115) {
        check_names(plain, n);
        check_names(alike, n);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_resolve), cmocka_unit_test(test_names) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
