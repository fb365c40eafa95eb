#include "unit.h"
#include "base/random.h"

static void fills_every_byte(void **state) {
    (void)state;
    enum { N = 1000 };
    unsigned char ever[N] = { 0 }, now[N];
    random_fill(now, 0);
    for (int round = 0; round < 8; round++) {
        random_fill(now, N);
        for (int i = 0; i < N; i++) ever[i] |= now[i];
    }
    for (int i = 0; i < N; i++) assert_int_not_equal(ever[i], 0);
    assert_true(random_u64() != random_u64());
}

static void stays_below_and_covers(void **state) {
    (void)state;
    int count[7] = { 0 };
    for (int i = 0; i < 7000; i++) count[random_below(7)]++;
    for (int i = 0; i < 7; i++) assert_in_range(count[i], 700, 1300);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(random_below(1), 0);
        assert_true(random_below(UINT64_MAX) < UINT64_MAX);
        assert_true(random_below((1ull << 63) + 1) <= 1ull << 63);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_every_byte),
        cmocka_unit_test(stays_below_and_covers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
