#include "unit.h"
#include "base/utf8.h"

static void every_code_point_goes_round(void **state) {
    (void)state;
    for (uint32_t c = 0; c <= 0x110000; c++) {
        if (c >= 0xD800 && c <= 0xDFFF)
            continue;
        if (c == 0x110000)
            break;
        char bytes[4];
        size_t length, n = utf8_encode(c, bytes);
        if (utf8_decode((Str){ bytes, n }, &length) != c || length != n || !utf8_valid((Str){ bytes, n }))
            fail_msg("U+%04X", c);
        for (size_t cut = 1; cut < n; cut++)
            if (utf8_valid((Str){ bytes, cut }))
                fail_msg("U+%04X cut to %zu bytes", c, cut);
    }
}

/* Independent of the code under test: decodes by the bit pattern, then checks the number. */
static bool plain_valid3(const unsigned char *b) {
    for (int i = 0; i < 3;) {
        int n = b[i] < 0x80 ? 1 : b[i] >> 5 == 6 ? 2 : b[i] >> 4 == 14 ? 3 : b[i] >> 3 == 30 ? 4 : 0;
        if (n == 0 || i + n > 3)
            return false;
        uint32_t c = n == 1 ? b[i] : b[i] & (0x7Fu >> n);
        for (int k = 1; k < n; k++) {
            if (b[i + k] >> 6 != 2)
                return false;
            c = c << 6 | (b[i + k] & 0x3F);
        }
        static const uint32_t least[] = { 0, 0, 0x80, 0x800 };
        if (c < least[n] || (c >= 0xD800 && c <= 0xDFFF))
            return false;
        i += n;
    }
    return true;
}

static void all_three_byte_strings(void **state) {
    (void)state;
    for (uint32_t w = 0; w < 1u << 24; w++) {
        unsigned char b[3] = { (unsigned char)(w >> 16), (unsigned char)(w >> 8), (unsigned char)w };
        if (utf8_valid((Str){ (char *)b, 3 }) != plain_valid3(b))
            fail_msg("%02x %02x %02x", b[0], b[1], b[2]);
    }
}

static void finds_the_valid_prefix(void **state) {
    (void)state;
    static const struct { const char *text; size_t prefix, count; } cases[] = {
        { "", 0, 0 }, { "abc", 3, 3 }, { "ab\xC3\xA9", 4, 3 }, { "ab\xC3", 2, 3 }, { "\x80", 0, 1 },
        { "12345678\xFF", 8, 9 }, { "1234567\xC0\x80", 7, 9 }, { "12345678901234567890\xE2\x82", 20, 22 },
        { "\xED\xA0\x80", 0, 3 }, { "\xF4\x90\x80\x80", 0, 4 }, { "\xF0\x8F\xBF\xBF", 0, 4 }, { "\xF5\x80\x80\x80", 0, 4 },
        { "\xF4\x8F\xBF\xBF", 4, 1 }, { "\xF0\x90\x80\x80", 4, 1 }, { "\xC1\xBF", 0, 2 }, { "\xE0\x9F\xBF", 0, 3 },
        { "\xE2\x82\xAC\xE2\x82\xAC\xE2\x28\xAC", 6, 5 }, { "\xF0\x9F\x98\x80 abcdefgh \xF0\x9F\x98", 14, 14 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Str s = str_from(cases[i].text);
        if (utf8_valid_prefix(s) != cases[i].prefix || utf8_count(s) != cases[i].count)
            fail_msg("case %zu: prefix %zu, count %zu", i, utf8_valid_prefix(s), utf8_count(s));
    }
    for (size_t bad = 0; bad < 64; bad++) {            /* a bad byte at every offset of an ASCII run */
        char text[64];
        memset(text, 'a', sizeof text);
        text[bad] = (char)0xFF;
        assert_int_equal(utf8_valid_prefix((Str){ text, sizeof text }), bad);
    }
    size_t length;
    assert_int_equal(utf8_decode(STR("\xC3\x28"), &length), 0xFFFD);
    assert_int_equal(length, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_goes_round),
        cmocka_unit_test(all_three_byte_strings),
        cmocka_unit_test(finds_the_valid_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
