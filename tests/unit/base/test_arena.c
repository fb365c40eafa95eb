#include "unit.h"
#include "base/arena.h"

static void allocations_are_aligned_and_apart(void **state) {
    (void)state;
    Arena a = { 0 };
    unsigned char *p[500];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 500; i++) {
            size_t n = i % 50 == 49 ? 300000 : i * 7 % 700;
            p[i] = arena_alloc(&a, n);
            assert_int_equal((uintptr_t)p[i] % 16, 0);
            memset(p[i], (int)(i & 0xFF), n);
        }
        for (size_t i = 0; i < 500; i++) {
            size_t n = i % 50 == 49 ? 300000 : i * 7 % 700;
            for (size_t k = 0; k < n; k++)
                if (p[i][k] != (i & 0xFF))
                    fail_msg("allocation %zu was overwritten at %zu", i, k);
        }
        arena_reset(&a);
        assert_true(a.total <= 4096);
    }
    arena_clear(&a);
    assert_null(a.block);
}

static void a_large_first_block_is_not_kept(void **state) {
    (void)state;
    Arena a = { 0 };
    memset(arena_alloc(&a, 1 << 20), 1, 1 << 20);
    char *small = arena_alloc(&a, 1);
    *small = 1;
    arena_reset(&a);
    assert_int_equal(a.total, 0);
    *(char *)arena_alloc(&a, 1) = 2;
    arena_clear(&a);
    arena_reset(&a);
    arena_clear(&a);
}

static void zeroes_copies_and_formats(void **state) {
    (void)state;
    Arena a = { 0 };
    for (int round = 0; round < 2; round++) {
        int *zero = ARENA_ARRAY(&a, int, 1000);
        for (int i = 0; i < 1000; i++) assert_int_equal(zero[i], 0), zero[i] = -1;
        Str s = arena_str(&a, STR("a\0b"));
        assert_memory_equal(s.at, "a\0b", 4);
        assert_str(arena_str(&a, (Str){ NULL, 0 }), "");
        assert_str(arena_concat(&a, STR("a/"), STR("b.md")), "a/b.md");
        assert_str(arena_concat(&a, (Str){ NULL, 0 }, STR("b")), "b");
        assert_string_equal(arena_fmt(&a, "%d-%s", 5, "x"), "5-x");
        assert_int_equal(strlen(arena_fmt(&a, "%0700d", 5)), 700);
        arena_reset(&a);
    }
    arena_clear(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_aligned_and_apart),
        cmocka_unit_test(a_large_first_block_is_not_kept),
        cmocka_unit_test(zeroes_copies_and_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
