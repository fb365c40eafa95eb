#include "unit.h"
#include <float.h>
#include <math.h>
#include "base/number.h"

/* Own generator with a fixed seed, so that a failure can be reproduced. */
static uint64_t next_random(uint64_t *seed) {
    uint64_t z = *seed += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

static double from_bits(uint64_t bits) {
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static uint64_t to_bits(double d) {
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

static void check_round_trip(double d) {
    char text[NUMBER_TEXT_SIZE];
    size_t n = number_write_double(d, text);
    if (n >= NUMBER_TEXT_SIZE || strlen(text) != n || to_bits(number_read_double((Str){ text, n })) != to_bits(d))
        fail_msg("%a was written as %s, which reads as %a", d, text, number_read_double((Str){ text, n }));
    if (strcspn(text, ".e") == n)
        fail_msg("%s does not look like a float", text);
}

/* The fewest digits with which printf's text reads back; among several of that length, ours must be as close as
 * printf's. */
static void check_shortest(double d) {
    char digits[NUMBER_TEXT_SIZE], text[64];
    int point;
    d = fabs(d);
    size_t n = number_digits(d, digits, &point);
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(text, sizeof text, "%.*e", precision - 1, d);
        if (strtod(text, NULL) != d)
            continue;
        if (n > (size_t)precision)
            fail_msg("%a: %s has %zu digits, %s has %d", d, digits, n, text, precision);
        if (n == (size_t)precision) {
            char ours[64];
            snprintf(ours, sizeof ours, "%c%s%se%+03d", digits[0], n > 1 ? "." : "", digits + 1, point - 1);
            assert_string_equal(ours, text);
        }
        return;
    }
}

static void check(double d) {
    check_round_trip(d);
    check_round_trip(-d);
    if (d != 0)
        check_shortest(d);
}

static void writes_the_agreed_form(void **state) {
    (void)state;
    static const struct { double d; const char *text; } cases[] = {
        { 0.0, "0.0" }, { -0.0, "-0.0" }, { 1, "1.0" }, { -1, "-1.0" }, { 0.1, "0.1" }, { 1.5, "1.5" }, { 100, "100.0" },
        { 123456.789, "123456.789" }, { 1e20, "100000000000000000000.0" }, { 123456789012345678901.0, "123456789012345680000.0" },
        { 999999999999999868928.0, "999999999999999900000.0" }, { 1e21, "1e+21" }, { 1.5e21, "1.5e+21" },
        { 1e-5, "0.00001" }, { 1.25e-5, "0.0000125" }, { 9.999e-6, "9.999e-6" }, { 1e-7, "1e-7" }, { 1.5e-7, "1.5e-7" },
        { 5e-324, "5e-324" }, { DBL_MAX, "1.7976931348623157e+308" }, { -DBL_MAX, "-1.7976931348623157e+308" },
        { DBL_MIN, "2.2250738585072014e-308" }, { 1e23, "1e+23" }, { 9007199254740993.0, "9007199254740992.0" },
        { 0.3, "0.3" }, { 0.1 + 0.2, "0.30000000000000004" }, { 4.35, "4.35" }, { 2e-44, "2e-44" }, { 1e100, "1e+100" },
        { 9223372036854775808.0, "9223372036854776000.0" }, { 5e-5, "0.00005" }, { 1.0 / 3, "0.3333333333333333" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[NUMBER_TEXT_SIZE];
        number_write_double(cases[i].d, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void boundaries_go_round(void **state) {
    (void)state;
    check(0.0);
    for (int e = -1074; e <= 1023; e++) {              /* every power of two and its neighbours */
        double d = ldexp(1, e);
        check(d);
        check(nextafter(d, INFINITY));
        if (d > 5e-324)
            check(nextafter(d, 0));
    }
    for (int e = -323; e <= 308; e++) {
        char text[16];
        snprintf(text, sizeof text, "1e%d", e);
        double d = strtod(text, NULL);
        check(d);
        check(nextafter(d, INFINITY));
        check(nextafter(d, 0));
    }
    for (uint64_t bits = 1; bits < 2000; bits++) check(from_bits(bits));
    check(DBL_MAX);
    check(nextafter(DBL_MAX, 0));
    check(nextafter(DBL_MIN, 0));
    for (int i = 0; i < 100000; i += 7) check(i), check(i / 100.0), check(i / 1e6);
}

static void random_bits_go_round(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 2000000; i++) {
        double d = from_bits(next_random(&seed));
        if (!isfinite(d))
            continue;
        check_round_trip(d);
        if (i % 100 == 0)
            check_shortest(d);
    }
}

static void check_read(const char *text) {
    double got = number_read_double(str_from(text)), expected = strtod(text, NULL);
    if (to_bits(got) != to_bits(expected))
        fail_msg("%s reads as %a, not %a", text, got, expected);
}

static void reads_like_strtod(void **state) {
    (void)state;
    static const char *const cases[] = {
        "0", "-0", "0.0", "-0.0e5", "0e999999999999", "1", "-1", "1e400", "-1e400", "1e-400", "-1e-400", "1e99999999999999999999",
        "1e-99999999999999999999", "9007199254740993", "9007199254740992", "9007199254740993.00000000000000000000001",
        "18446744073709551615", "18446744073709551616", "99999999999999999999", "1.7976931348623158e308", "1.7976931348623159e308",
        "4.9406564584124654e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "2.2250738585072011e-308",
        "1e22", "1e23", "123456789012345678e-27", "123456789012345678e27", "123456789012345678e-28", "0.000000000000000000000000001",
        "00012.500", "1E+2", "1e05", "4503599627370496.5", "4503599627370497.5", "4503599627370496.50000000000000000000000000001",
        "1000000000000000000000000000000000000000000e-42", "0.1e1", "10000000000000000000000", "3.00000000000000000000000000",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_read(cases[i]);
    Buf b = { 0 };
    buf_add(&b, STR("0."));
    for (int i = 0; i < 5000; i++) buf_add_char(&b, '0');
    buf_add(&b, STR("123e5000"));
    check_read(b.at);
    buf_reset(&b);
    for (int i = 0; i < 5000; i++) buf_add_char(&b, (char)('1' + i % 9));
    buf_add(&b, STR("e-4990"));
    check_read(b.at);
    buf_clear(&b);
}

static void reads_random_text_like_strtod(void **state) {
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < 500000; i++) {
        char text[64], *at = text;
        int digits = 1 + (int)(next_random(&seed) % 25), point = (int)(next_random(&seed) % 30);
        int reach = i % 3 == 0 ? 345 : 30, exponent = (int)(next_random(&seed) % (2 * reach)) - reach;
        if (next_random(&seed) % 4 == 0)
            *at++ = '-';
        for (int k = 0; k < digits; k++) {
            if (k == point && k > 0)
                *at++ = '.';
            *at++ = (char)('0' + next_random(&seed) % 10);
        }
        if (i % 5)
            at += sprintf(at, "e%d", exponent);
        *at = 0;
        check_read(text);
    }
    for (int i = 0; i < 200000; i++) {                 /* exact half-way points between doubles, and next to them */
        uint64_t m = 1ull << 53 | next_random(&seed) >> 11;
        char text[64];
        snprintf(text, sizeof text, "%llu%s", (unsigned long long)((m << 1 | 1) << i % 10), i % 3 ? ".0" : "1e-1");
        check_read(text);
    }
}

static void writes_integers(void **state) {
    (void)state;
    uint64_t seed = 3;
    static const int64_t cases[] = { 0, 1, -1, 9, 10, 99, 100, -100, INT64_MAX, INT64_MIN, INT64_MIN + 1 };
    char text[NUMBER_TEXT_SIZE], expected[32];
    for (int i = 0; i < 20000; i++) {
        int64_t v = i < 11 ? cases[i] : (int64_t)next_random(&seed) >> i % 64;
        snprintf(expected, sizeof expected, "%lld", (long long)v);
        assert_int_equal(number_write_i64(v, text), strlen(expected));
        assert_string_equal(text, expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_the_agreed_form),
        cmocka_unit_test(boundaries_go_round),
        cmocka_unit_test(random_bits_go_round),
        cmocka_unit_test(reads_like_strtod),
        cmocka_unit_test(reads_random_text_like_strtod),
        cmocka_unit_test(writes_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
