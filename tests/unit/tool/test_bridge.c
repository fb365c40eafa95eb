/* The rate of dialogs, and the patterns of a file picker. */
#include "unit.h"
#include "tool/bridge/bridge.h"

static const int64_t second = 1000000000;

static void test_rate(void **state) {
    (void)state;
    BridgeRate r = { 0 };
    Error err = { 0 };
    for (int i = 0; i < BRIDGE_RATE; i++) assert_true(bridge_rate(&r, (100 + i) * second, &err));
    assert_false(bridge_rate(&r, 110 * second, &err));
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_non_null(strstr(err.msg, "the next one in 51 s"));
    assert_false(bridge_rate(&r, 160 * second - 1, &err));       /* a refused one does not count */
    assert_true(bridge_rate(&r, 160 * second, &err));            /* the first is a minute old */
    assert_false(bridge_rate(&r, 160 * second, &err));
    assert_true(bridge_rate(&r, 161 * second, &err));
    for (int i = 0; i < BRIDGE_RATE; i++) assert_true(bridge_rate(&r, 1000 * second, &err));
    assert_false(bridge_rate(&r, 1000 * second, &err));
}

static void test_globs(void **state) {
    (void)state;
    Arena arena = { 0 };
    Error err = { 0 };
    Str *out;
    size_t n;
    assert_true(bridge_globs(STR(""), &arena, &out, &n, &err));
    assert_int_equal(n, 0);
    assert_true(bridge_globs(STR(" *.csv , ,*.[Tt]sv,"), &arena, &out, &n, &err));
    assert_int_equal(n, 2);
    assert_string_equal(out[0].at, "*.csv");
    assert_string_equal(out[1].at, "*.[Tt]sv");
    static const char *const bad[] = { "a/*.csv", "**/x", "*.{a,b}", "x}", "a[" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err = (Error){ 0 };
        if (bridge_globs(str_from(bad[i]), &arena, &out, &n, &err)) fail_msg("%s was accepted", bad[i]);
        assert_non_null(strstr(err.msg, "filter"));
    }
    Buf many = { 0 };
    for (int i = 0; i < 21; i++) buf_add(&many, STR("*.a,"));
    assert_false(bridge_globs(buf_str(&many), &arena, &out, &n, &err));
    buf_clear(&many);
    arena_clear(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rate), cmocka_unit_test(test_globs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
