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

static void reads_ages(void **state) {
    (void)state;
    static const struct { const char *text; int64_t seconds; } cases[] = {          /* -1: no age */
        { "0s", 0 }, { "90s", 90 }, { "15m", 900 }, { "12h", 43200 }, { "7d", 604800 }, { "100000d", 8640000000 },
        { "", -1 }, { "s", -1 }, { "7", -1 }, { "-1d", -1 }, { "+1d", -1 }, { " 1d", -1 }, { "1.5h", -1 }, { "1w", -1 }, { "1dd", -1 },
        { "100001s", -1 }, { "99999999999999999999d", -1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ns = -1;
        bool ok = clock_read_age(str_from(cases[i].text), &ns);
        if (ok != (cases[i].seconds >= 0) || (ok && ns != cases[i].seconds * 1000000000)) fail_msg("%s", cases[i].text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_utc),
        cmocka_unit_test(clocks_run),
        cmocka_unit_test(reads_ages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
