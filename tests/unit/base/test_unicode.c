#include "unit.h"
#include "base/unicode.h"

typedef struct { uint32_t c; const char *kinds; uint32_t upper, lower, title; } Case;

/* Kinds: a letter, d digit, U upper, l lower, T title, s space, p printable, c cased. */
static const Case cases[] = {
    { 'a', "alpc", 'A', 'a', 'A' }, { 'Z', "aUpc", 'Z', 'z', 'Z' }, { '7', "dp", '7', '7', '7' },
    { ' ', "sp", ' ', ' ', ' ' }, { '\n', "s", '\n', '\n', '\n' }, { 0x7f, "", 0x7f, 0x7f, 0x7f },
    { '@', "p", '@', '@', '@' }, { '[', "p", '[', '[', '[' },
    { 0x85, "s", 0x85, 0x85, 0x85 }, { 0xa0, "s", 0xa0, 0xa0, 0xa0 }, { 0xad, "", 0xad, 0xad, 0xad },
    { 0xdf, "alpc", 0xdf, 0xdf, 0xdf },               /* ß */
    { 0xe9, "alpc", 0xc9, 0xe9, 0xc9 }, { 0xff, "alpc", 0x178, 0xff, 0x178 },
    { 0x130, "aUp", 0x130, 'i', 0x130 }, { 0x131, "alp", 'I', 0x131, 'I' },
    { 0x1c4, "aUpc", 0x1c4, 0x1c6, 0x1c5 }, { 0x1c5, "aTpc", 0x1c4, 0x1c6, 0x1c5 }, { 0x1c6, "alpc", 0x1c4, 0x1c6, 0x1c5 },
    { 0x1cb, "aTpc", 0x1ca, 0x1cc, 0x1cb }, { 0x1f3, "alpc", 0x1f1, 0x1f3, 0x1f2 },
    { 0x250, "alpc", 0x2c6f, 0x250, 0x2c6f },         /* two bytes of UTF-8 become three */
    { 0x3c2, "alpc", 0x3a3, 0x3c2, 0x3a3 },           /* final sigma */
    { 0x661, "dp", 0x661, 0x661, 0x661 },             /* Arabic one */
    { 0x10d0, "alpc", 0x1c90, 0x10d0, 0x10d0 },       /* Georgian has no title case */
    { 0x1f80, "alpc", 0x1f88, 0x1f80, 0x1f88 }, { 0x1f88, "aTpc", 0x1f88, 0x1f80, 0x1f88 },
    { 0x2028, "s", 0x2028, 0x2028, 0x2028 }, { 0x200b, "", 0x200b, 0x200b, 0x200b }, { 0x3000, "s", 0x3000, 0x3000, 0x3000 },
    { 0x4e2d, "ap", 0x4e2d, 0x4e2d, 0x4e2d }, { 0xe000, "", 0xe000, 0xe000, 0xe000 }, { 0xfffd, "p", 0xfffd, 0xfffd, 0xfffd },
    { 0x10400, "aUpc", 0x10400, 0x10428, 0x10400 }, { 0x1f63f, "p", 0x1f63f, 0x1f63f, 0x1f63f },
    { 0x10ffff, "", 0x10ffff, 0x10ffff, 0x10ffff }, { 0x110000, "", 0x110000, 0x110000, 0x110000 },
    { UINT32_MAX, "", UINT32_MAX, UINT32_MAX, UINT32_MAX },
};

static void kinds_of(uint32_t c, char *p) {
    if (unicode_is_letter(c)) *p++ = 'a';
    if (unicode_is_digit(c)) *p++ = 'd';
    if (unicode_is_upper(c)) *p++ = 'U';
    if (unicode_is_lower(c)) *p++ = 'l';
    if (unicode_is_title(c)) *p++ = 'T';
    if (unicode_is_space(c)) *p++ = 's';
    if (unicode_is_printable(c)) *p++ = 'p';
    if (unicode_is_cased(c)) *p++ = 'c';
    *p = 0;
}

static void test_cases(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Case *k = &cases[i];
        char kinds[16];
        kinds_of(k->c, kinds);
        if (strcmp(kinds, k->kinds) || unicode_to_upper(k->c) != k->upper || unicode_to_lower(k->c) != k->lower ||
            unicode_to_title(k->c) != k->title)
            fail_msg("U+%04X: \"%s\" %04X %04X %04X", k->c, kinds, unicode_to_upper(k->c), unicode_to_lower(k->c),
                     unicode_to_title(k->c));
    }
}

/* Mapping twice changes nothing more, and kinds are exclusive. */
static void test_all(void **state) {
    (void)state;
    for (uint32_t c = 0; c <= 0x110000; c++) {
        uint32_t upper = unicode_to_upper(c), lower = unicode_to_lower(c);
        assert_int_equal(unicode_to_upper(upper), upper);
        assert_int_equal(unicode_to_lower(lower), lower);
        int kinds = unicode_is_upper(c) + unicode_is_lower(c) + unicode_is_title(c) + unicode_is_digit(c);
        assert_true(kinds <= 1);
        if (kinds && !unicode_is_digit(c)) assert_true(unicode_is_letter(c));
        if (unicode_is_letter(c)) assert_true(unicode_is_printable(c));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases), cmocka_unit_test(test_all) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
