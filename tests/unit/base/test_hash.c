#include "unit.h"
#include "base/hash.h"

/* The published test vector: key 00..0f, message 00..0e. */
static void sip24_is_the_published_function(void **state) {
    (void)state;
    uint8_t key[16];
    char text[64];
    for (int i = 0; i < 16; i++) key[i] = (uint8_t)i;
    for (int i = 0; i < 64; i++) text[i] = (char)i;
    static const struct { size_t n; uint64_t hash; } cases[] = {
        { 0, 0x726fdb47dd0e0e31 }, { 1, 0x74f839c593dc67fd }, { 7, 0xab0200f58b01d137 },
        { 8, 0x93f5f5799a932462 }, { 15, 0xa129ca6149be45e5 }, { 63, 0x958a324ceb064572 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(hash_sip24((Str){ text, cases[i].n }, key), cases[i].hash);
}

static void hashes_are_stable_and_not_zero(void **state) {
    (void)state;
    assert_int_equal(hash_bytes(STR("tool")), hash_bytes(STR("tool")));
    assert_int_not_equal(hash_bytes(STR("")), 0);
    for (uint64_t i = 0; i < 100000; i++) assert_int_not_equal(hash_word(i), 0);
}

/* Words that differ only in high bits, or only in low bits, must still spread over the low
 * bits of the hash, which is what tables use. */
static void words_spread(void **state) {
    (void)state;
    for (unsigned shift = 0; shift <= 52; shift += 4) {
        unsigned char seen[4096] = { 0 };
        int used = 0;
        for (uint64_t i = 0; i < 4096; i++) {
            uint32_t at = hash_word(i << shift) & 4095;
            used += !seen[at];
            seen[at] = 1;
        }
        if (used < 2300)                               /* about 2590 when random */
            fail_msg("shift %u: only %d of 4096 places", shift, used);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sip24_is_the_published_function),
        cmocka_unit_test(hashes_are_stable_and_not_zero),
        cmocka_unit_test(words_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
