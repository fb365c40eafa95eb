#include "unit.h"
#include "tool/builtin/ignore.h"

/* The paths that git check-ignore also reports; a path that ends in "/" is a folder. */
static void follows_git(void **state) {
    (void)state;
    static const struct { const char *rules, *ignored, *kept; } cases[] = {
        { "a", "a x/a a/", "ab" },
        { "*.o", "a.o x/a.o .o", "a.oo a.c" },
        { "# x\n\n   \n", "", "x #" },
        { "\\#x", "#x", "x" },
        { "\\!x", "!x", "x" },
        { "!x", "", "x" },
        { "*.o\n!keep.o", "a.o", "keep.o x/keep.o" },
        { "!keep.o\n*.o", "keep.o", "" },
        { "/a", "a a/", "x/a" },
        { "a/", "a/ x/a/", "a x/a" },
        { "/a/", "a/", "x/a/ a" },
        { "a/b", "a/b a/b/", "x/a/b b" },
        { "a/*", "a/b a/b/", "a/ a/b/c" },
        { "a/**", "a/b a/b/c", "a/" },
        { "**/a", "a x/a x/y/a", "b" },
        { "**/a/b", "a/b x/a/b", "b" },
        { "a/**/b", "a/b a/x/b a/x/y/b", "b x/a/b" },
        { "*", "a x/b", "" },
        { "/*\n!/src", "a lib/", "src/" },
        { "a?c", "abc", "ac a/c" },
        { "[ab]x", "ax bx", "cx" },
        { "[!a]x", "bx", "ax" },
        { "a\\*", "a*", "ab" },
        { "a  ", "a", "" },
        { "a\\ ", "a\\_", "a" },
        { "a \nb", "a b", "" },
        { "a\r\nb\r\n", "a b", "" },
        { "\xef\xbb\xbf" "a\nb", "a b", "c" },
        { "[a", "", "a [a" },
        { "a\\", "", "a a\\" },
        { "/", "", "a" },
        { "//", "", "a" },
        { "{a,b}", "{a,b}", "a b" },
        { "foo/**/", "foo/x/", "foo/x foo/" },
        { "a**b", "ab axb", "a/b" },
        { "*.c\n!x/*.c", "a.c", "x/a.c" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena = { 0 };
        const Ignore *g = ignore_new(NULL, STR(""), str_from(cases[i].rules), &arena);
        for (int want = 0; want < 2; want++)
            for (Str rest = str_from(want ? cases[i].ignored : cases[i].kept); rest.n;) {
                ptrdiff_t space = str_find_char(rest, ' ');
                Str path = str_sub(rest, 0, space < 0 ? rest.n : (size_t)space);
                rest = str_sub(rest, path.n + 1, rest.n);
                bool folder = path.n && path.at[path.n - 1] == '/';
                if (folder) path.n--;
                if (str_eq(path, STR("a\\_"))) path = STR("a ");              /* the list's own separator */
                if (ignore_match(g, path, folder) != want) fail_msg("%s and " STR_FMT ": expected %d", cases[i].rules, STR_ARG(path), want);
            }
        arena_clear(&arena);
    }
}

static void deeper_rules_win(void **state) {
    (void)state;
    Arena arena = { 0 };
    const Ignore *top = ignore_new(NULL, STR(""), STR("*.o\n/x/deep\nboth\n"), &arena);
    const Ignore *sub = ignore_new(top, STR("x"), STR("!a.o\n/only\n*.c\n"), &arena);
    const Ignore *deep = ignore_new(sub, STR("x/y"), STR("a.o\n!b.c\n"), &arena);
    assert_true(ignore_match(top, STR("a.o"), false));
    assert_false(ignore_match(sub, STR("x/a.o"), false));
    assert_true(ignore_match(sub, STR("x/b.o"), false));
    assert_true(ignore_match(sub, STR("x/deep"), true));
    assert_true(ignore_match(sub, STR("x/only"), false));
    assert_false(ignore_match(deep, STR("x/y/only"), false));
    assert_true(ignore_match(deep, STR("x/y/a.o"), false));
    assert_false(ignore_match(deep, STR("x/y/b.c"), false));
    assert_true(ignore_match(deep, STR("x/y/c.c"), false));
    assert_true(ignore_match(deep, STR("x/y/both"), false));
    assert_false(ignore_match(NULL, STR("a"), false));
    arena_clear(&arena);
}

static void has_limits(void **state) {
    (void)state;
    Arena arena = { 0 };
    Buf text = { 0 };
    for (int i = 0; i < IGNORE_RULES_MAX; i++) buf_add_fmt(&text, "name%d\n", i);
    buf_add(&text, STR("last\n"));
    const Ignore *g = ignore_new(NULL, STR(""), buf_str(&text), &arena);
    assert_true(ignore_match(g, STR("name0"), false));
    assert_false(ignore_match(g, STR("last"), false));
    assert_false(ignore_match(ignore_new(NULL, STR(""), STR("a\0b\n\0"), &arena), STR("a"), false));
    buf_clear(&text);
    arena_clear(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(follows_git), cmocka_unit_test(deeper_rules_win), cmocka_unit_test(has_limits) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
