#include "unit.h"
#include "base/clock.h"

static void formats_utc(void **state) {
    (void)state;
    static const struct { int64_t ns; const char *text; } cases[] = {
        { 0, "1970-01-01T00:00:00.000000000Z" },
        { 1, "1970-01-01T00:00:00.000000001Z" },
        { -1, "1969-12-31T23:59:59.999999999Z" },
        { -1000000000, "1969-12-31T23:59:59.000000000Z" },
        { 1767323045000000006, "2026-01-02T03:04:05.000000006Z" },
        { INT64_MAX, "2262-04-11T23:47:16.854775807Z" },
        { INT64_MIN, "1677-09-21T00:12:43.145224192Z" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[CLOCK_TEXT_SIZE];
        clock_format(cases[i].ns, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void clocks_run(void **state) {
    (void)state;
    int64_t a = clock_mono_ns(), b = clock_mono_ns();
    assert_true(b >= a && a > 0);
    assert_true(clock_wall_ns() > 1700000000000000000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_utc),
        cmocka_unit_test(clocks_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
