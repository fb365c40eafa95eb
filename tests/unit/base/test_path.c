#include "unit.h"
#include "base/path.h"

static void makes_paths_normal(void **state) {
    (void)state;
    static const struct { const char *given, *normal; } cases[] = {
        { "", "/" }, { "/", "/" }, { "//", "/" }, { "/a", "/a" }, { "a", "/a" }, { "/a/", "/a" }, { "/a//b", "/a/b" }, { "/./a/./b/.", "/a/b" },
        { "/a/../b", "/b" }, { "/a/b/..", "/a" }, { "/a/b/../..", "/" }, { "/..", "/" }, { "/../../a", "/a" }, { "..", "/" }, { "/a/...", "/a/..." },
        { "/a/..b", "/a/..b" }, { "/.a", "/.a" }, { "/a/b/c/../../d", "/a/d" },
    };
    Arena arena = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_str(path_normal(&arena, str_from(cases[i].given)), cases[i].normal);
    arena_clear(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(makes_paths_normal) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
