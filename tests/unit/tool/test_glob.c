#include "unit.h"
#include "base/glob.h"

static void matches(void **state) {
    (void)state;
    static const struct { const char *pattern, *yes, *no; } cases[] = {              /* paths separated by spaces */
        { "a.c", "a.c", "b.c a.cc x/a.c a" },
        { "*.c", "a.c .c a.b.c", "x/a.c a.h a.c/" },
        { "*", "a .a", "a/b" },
        { "?.c", "a.c é.c", ".c ab.c" },
        { "a?c", "abc aéc", "ac abbc a/c" },
        { "src/*.c", "src/a.c", "a.c src/x/a.c src" },
        { "**", "a a/b a/b/c .a/b", "" },
        { "**/*.c", "a.c x/a.c x/y/a.c", "a.h x/y" },
        { "**/a", "a x/a x/y/a", "xa a/x" },
        { "src/**", "src/a src/x/y", "src a/src/b" },
        { "src/**/a", "src/a src/x/a src/x/y/a", "a src/x/b x/src/a" },
        { "a/**/b/**/c", "a/b/c a/x/b/c a/x/b/y/z/c a/b/b/c", "a/c a/b a/x/c" },
        { "**/x/**/y/*", "x/y/a a/x/b/y/c", "x/y y/x/a" },
        { "a**b", "ab axb axxb", "a/b" },
        { "**/**/a", "a x/a", "b" },
        { "[abc].c", "a.c b.c", "d.c ab.c" },
        { "[a-c]x", "ax cx", "dx Ax" },
        { "[!a-c]x", "dx", "ax" },
        { "[^a]", "b", "a" },
        { "[]a]", "] a", "b" },
        { "[!]a]", "b", "] a" },
        { "[a-]", "a -", "b" },
        { "[é-ü]", "ö", "e" },
        { "[[:digit:]][[:alpha:]]", "1a", "a1" },
        { "[[:upper:]_]", "A _", "a" },
        { "[\\]]", "]", "a" },
        { "[*?]", "* ?", "a" },
        { "\\*.c", "*.c", "a.c" },
        { "a\\?", "a?", "ab" },
        { "\\{a,b\\}", "{a,b}", "a" },
        { "{a,b}", "a b", "c {a,b}" },
        { "*.{c,h}", "a.c a.h", "a.o" },
        { "{src,lib}/**/*.{c,h}", "src/a.c lib/x/y.h", "doc/a.c" },
        { "{a,b{c,d}}e", "ae bce bde", "be ce" },
        { "{a/b,c}/d", "a/b/d c/d", "a/d" },
        { "{,x}a", "a xa", "ya" },
        { "x{a}", "xa", "x{a}" },
        { "a}", "a}", "a" },
        { "[{]a", "{a", "a" },
        { "/a.c", "a.c", "x/a.c" },
        { "./a/./b", "a/b", "b" },
        { "a//b", "a/b", "a" },
        { "a\\/b", "a/b", "a" },
        { "*a*b*c*", "abc xaxbxcx", "acb" },
        { "é*", "é éa", "e" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena = { 0 };
        Error err = { 0 };
        const Glob *g = glob_new(str_from(cases[i].pattern), GLOB_BRACES, &arena, &err);
        if (!g) fail_msg("%s: %s", cases[i].pattern, err.msg);
        for (int want = 0; want < 2; want++)
            for (Str rest = str_from(want ? cases[i].yes : cases[i].no); rest.n;) {
                ptrdiff_t space = str_find_char(rest, ' ');
                Str path = str_sub(rest, 0, space < 0 ? rest.n : (size_t)space);
                rest = str_sub(rest, path.n + 1, rest.n);
                if (path.n && path.at[path.n - 1] == '/') continue;
                if (glob_match(g, path) != want) fail_msg("%s and " STR_FMT ": expected %d", cases[i].pattern, STR_ARG(path), want);
                const char *slash = want ? memrchr(path.at, '/', path.n) : NULL;
                if (want) assert_true(glob_match_below(g, slash ? str_sub(path, 0, (size_t)(slash - path.at)) : STR("")));
            }
        arena_clear(&arena);
    }
}

static void hides_periods(void **state) {
    (void)state;
    static const struct { const char *pattern, *path; bool match; } cases[] = {
        { "*", ".a", false }, { "*", "a", true }, { ".*", ".a", true }, { "?a", ".a", false }, { "[.]a", ".a", false }, { "*.c", ".c", false },
        { "**", "a/.b", false }, { "**", ".a/b", false }, { "**/.b", "a/.b", true }, { "**/.b", ".a/.b", false }, { ".a/**", ".a/b", true },
        { "{.a,b}/*", ".a/x", true }, { "\\.a", ".a", true }, { "a.*", "a.b", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena = { 0 };
        const Glob *g = glob_new(str_from(cases[i].pattern), GLOB_BRACES | GLOB_PERIOD, &arena, NULL);
        if (glob_match(g, str_from(cases[i].path)) != cases[i].match) fail_msg("%s and %s", cases[i].pattern, cases[i].path);
        arena_clear(&arena);
    }
}

static void helps_a_walk(void **state) {
    (void)state;
    static const struct { const char *pattern, *base; size_t depth; bool hidden; } cases[] = {
        { "a.c", "", 1, false }, { "src/lib/*.c", "src/lib", 3, false }, { "src/**/x", "src", SIZE_MAX, false }, { "src/{a,b}/x", "src", 3, false },
        { "{src/a,src/b}/x/*", "src", 4, false }, { "{a,b/c}", "", 2, false }, { ".github/*.yml", ".github", 2, true }, { "**/.env", "", SIZE_MAX, true },
        { "a/b", "a", 2, false }, { "x{.a,b}", "", 1, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena = { 0 };
        const Glob *g = glob_new(str_from(cases[i].pattern), GLOB_BRACES, &arena, NULL);
        assert_str(glob_base(g), cases[i].base);
        assert_int_equal(glob_depth(g), cases[i].depth);
        assert_int_equal(glob_names_hidden(g), cases[i].hidden);
        arena_clear(&arena);
    }
    Arena arena = { 0 };
    const Glob *g = glob_new(STR("src/*/x/*.c"), 0, &arena, NULL);
    assert_true(glob_match_below(g, STR("")) && glob_match_below(g, STR("src")) && glob_match_below(g, STR("src/a")) && glob_match_below(g, STR("src/a/x")));
    assert_false(glob_match_below(g, STR("lib")) || glob_match_below(g, STR("src/a/y")) || glob_match_below(g, STR("src/a/x/b")));
    arena_clear(&arena);
}

static void refuses(void **state) {
    (void)state;
    static const struct { const char *pattern, *message; } cases[] = {
        { "[a", "glob: at 1: [ is not closed" }, { "x/é[a/b]", "glob: at 4: [ is not closed" }, { "a{b,c", "glob: at 2: { is not closed" },
        { "a\\", "glob: at 2: a \\ at the end escapes nothing" },
        { "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "glob: too many alternatives" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena = { 0 };
        Error err = { 0 };
        assert_null(glob_new(str_from(cases[i].pattern), GLOB_BRACES, &arena, &err));
        assert_string_equal(err.msg, cases[i].message);
        arena_clear(&arena);
    }
    Arena arena = { 0 };
    Error err = { 0 };
    assert_null(glob_new(STR("a\0b"), 0, &arena, &err));
    char *huge = arena_zero(&arena, 1, GLOB_PATTERN_MAX + 1);
    memset(huge, 'a', GLOB_PATTERN_MAX + 1);
    assert_null(glob_new((Str){ huge, GLOB_PATTERN_MAX + 1 }, 0, &arena, &err));
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_non_null(glob_new(STR("{a"), 0, &arena, &err));
    arena_clear(&arena);
}

static void never_runs_away(void **state) {
    (void)state;
    Arena arena = { 0 };
    Buf pattern = { 0 }, path = { 0 };
    for (int i = 0; i < 400; i++) buf_add(&pattern, STR("*a"));
    buf_add(&pattern, STR("b"));
    for (int i = 0; i < 4000; i++) buf_add(&path, STR("a"));
    assert_false(glob_match(glob_new(buf_str(&pattern), 0, &arena, NULL), buf_str(&path)));
    buf_reset(&pattern);
    buf_reset(&path);
    for (int i = 0; i < 400; i++) buf_add(&pattern, STR("**/a/"));
    buf_add(&pattern, STR("b"));
    for (int i = 0; i < 2000; i++) buf_add(&path, STR("a/"));
    buf_add(&path, STR("c"));
    assert_false(glob_match(glob_new(buf_str(&pattern), 0, &arena, NULL), buf_str(&path)));
    buf_clear(&pattern);
    buf_clear(&path);
    arena_clear(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches), cmocka_unit_test(hides_periods), cmocka_unit_test(helps_a_walk), cmocka_unit_test(refuses),
        cmocka_unit_test(never_runs_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
